//! The gate without a wire: what is shown, what is refused, and what is held back.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod drift;
mod exposure;
mod fuzz;
mod pinned;
mod tending;
mod world;
