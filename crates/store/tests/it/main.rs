//! The store as the gateway and the command line see it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod approvals;
mod artifacts;
mod bucket;
mod checkpoints;
mod claims;
mod forms;
mod home;
mod journal;
mod lock;
mod log;
mod migrations;
mod open;
mod pins;
mod quotas;
mod records;
mod rounds;
mod runs;
mod sessions;
mod silence;
mod torn;
mod wire;
