//! JSON-RPC and the MCP revisions, as plain functions over bytes.
//!
//! Sockets, pipes and timers live in `server` and `upstream`; wire shapes never leave this crate:
//! [`decode`] turns bytes into requests, [`encode`] turns answers into bytes, [`peer`] does both
//! for the side that asks.

pub mod decode;
pub mod encode;
pub mod frame;
pub mod headers;
pub mod jsonrpc;
pub mod peer;
pub mod pieces;
pub mod revision;
pub mod sse;
pub mod strict;
pub mod tasks;

pub use decode::{Ask, Incoming, Request};
pub use jsonrpc::{Id, Message, Refusal, RpcError};
pub use revision::Revision;
