//! Fakes the world for tests: a whole gate in one line, upstreams that follow a script, and MCP
//! and REST servers that run here.
//!
//! Dev only: what goes wrong in here ends the test, so nothing returns an error.

#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test may fall over")]

pub mod asker;
pub mod collector;
pub mod contract;
pub mod crash;
pub mod embedder;
pub mod everything;
pub mod faulty;
pub mod faulty_http;
pub mod mcp;
pub mod mcp_http;
pub mod misbehaving;
pub mod notes;
pub mod recorder;
pub mod rest;
pub mod test_gateway;
pub mod world;

pub use asker::Asker;
pub use collector::Collector;
pub use contract::{capability, manifest, manifest_with, tool};
pub use embedder::Embedder;
pub use everything::Everything;
pub use faulty_http::FaultyHttp;
pub use mcp_http::{McpHttp, Style};
pub use misbehaving::Misbehaving;
pub use notes::Notes;
pub use recorder::{Recorder, Script, Seen};
pub use rest::Rest;
pub use test_gateway::TestGateway;
pub use world::World;
