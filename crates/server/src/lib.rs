//! Talks to clients: MCP over stdio, Streamable HTTP and legacy SSE.
//!
//! This crate decides nothing about a call and cannot reach an upstream: it does not even know the
//! crate that could. What it sends is what `gateway` returned as cleared, or a protocol error.

pub mod admin;
pub mod authenticate;
pub mod guard;
pub mod mcp;
pub mod memory;
pub mod parked;
pub mod reply;
pub mod running;
pub mod sessions;
pub mod streams;

pub use guard::Guard;
pub use mcp::Mcp;
pub use mcp::http::{Transport, serve};
pub use mcp::stdio;
pub use model::limits;
pub use protocol::encode::ServerInfo;
