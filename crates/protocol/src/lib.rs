//! JSON-RPC and every MCP revision, sans I/O.
