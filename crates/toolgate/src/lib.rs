//! The gate between AI agents and their tools.
