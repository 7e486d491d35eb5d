//! The entry: reads arguments and configuration once, checks them, and builds the rest from them.
//!
//! No stage of a call lives here; `gateway` has those.

pub mod assemble;
pub mod cli;
pub mod config;
pub mod tools;

pub use {catalog, context, gateway, manifest, model, policy, store, upstream};
