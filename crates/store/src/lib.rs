//! Speaks SQL and keeps artifacts.
//!
//! What must not be lost is durable before a method returns. Which calls need which writes is the
//! gateway's knowledge; nothing here decides about a call, except that a key or an approval is
//! used once.

pub mod approvals;
pub mod artifacts;
mod chain;
pub mod checkpoints;
pub mod claims;
mod database;
mod entry;
pub mod export;
pub mod failpoint;
mod folder;
mod forms;
pub mod history;
mod journal;
mod limits;
pub mod lineage;
mod lock;
mod objects;
pub mod pins;
mod prefix;
pub mod records;
pub mod retention;
pub mod rounds;
pub mod runs;
mod seal;
pub mod sessions;
mod sql;
mod store;
pub mod tasks;
#[doc(hidden)]
pub mod testing;
mod text;
mod uses;
pub mod verify;
mod word;
mod writer;

pub use approvals::Verdict;
pub use artifacts::{NewArtifact, Quotas, Reader};
pub use checkpoints::Checkpoint;
pub use claims::{Claim, ClaimEnd, ClaimLine, ClaimOutcome, ClaimState};
pub use export::Exported;
pub use folder::FolderError;
pub use history::{RecordFilter, RecordLine};
pub use lineage::Ancestor;
pub use lock::{InstanceLock, LockError};
pub use objects::{Bucket, Place};
pub use records::{Closing, Opened, Opening};
pub use retention::Purgeable;
pub use rounds::RoundRow;
pub use runs::Turn;
pub use seal::PublicKey;
pub use sessions::SessionRow;
pub use store::{Config, OpenError, Store};
pub use tasks::TaskRow;
pub use verify::{ChainReport, Damage, Witnesses};
