//! Handles tokens and keys: who a caller is, and what an upstream is shown.
//!
//! Static bearer tokens for now. A token that comes in never goes out again: inbound and outbound
//! share no type.

pub mod doorkeeper;
pub mod outbound;
pub mod signature;

pub use doorkeeper::{Doorkeeper, Key};
pub use outbound::{Credentials, CredentialsError};
pub use signature::sign;
