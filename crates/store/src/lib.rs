//! Speaks SQL and keeps artifacts.
//!
//! What must not be lost is durable before a method returns. Which calls need which writes is the
//! gateway's knowledge; nothing here decides about a call, except that a key or an approval is
//! used once.

pub mod approvals;
pub mod artifacts;
mod chain;
pub mod claims;
mod database;
mod entry;
mod folder;
pub mod history;
mod limits;
mod lock;
mod objects;
mod prefix;
pub mod records;
mod sql;
mod store;
mod uses;
pub mod verify;
mod word;
mod writer;

pub use approvals::Verdict;
pub use artifacts::{NewArtifact, Quotas, Reader};
pub use claims::{Claim, ClaimEnd, ClaimOutcome};
pub use folder::FolderError;
pub use history::{RecordFilter, RecordLine};
pub use lock::{InstanceLock, LockError};
pub use objects::{Bucket, Place};
pub use records::{Closing, Opened, Opening};
pub use store::{Config, OpenError, Store};
pub use verify::{ChainReport, Damage};
