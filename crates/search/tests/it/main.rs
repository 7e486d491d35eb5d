//! Search from outside: how much it finds, and what it promises.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a test may fall over, and must say what it leaves out"
)]

mod attack;
mod gold;
mod guarantees;
mod world;
