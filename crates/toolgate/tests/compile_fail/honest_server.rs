//! Compiles: the server as the binary uses it.

use toolgate_server::{Guard, Mcp, ServerInfo};

pub fn parts(_: Mcp, _: Guard, _: ServerInfo) {}
