//! The crate held against material from outside: real catalogues, and rules of a secret scanner.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, helpers included"
)]

mod catalogues;
mod generate;
mod recall;
mod shared;
