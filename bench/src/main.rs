//! Benchmarks that print figures for people to judge; nothing here asserts a time.
//!
//! `search` measures ranking. The load benchmarks (`call`) join it from the main line.

mod search;

use std::error::Error;
use std::io::{self, Write as _};
use std::process::ExitCode;

/// Nobody handles a benchmark's error in code, so its words are all there is.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> ExitCode {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let outcome = match arguments.split_first() {
        Some((first, rest)) if first == "search" => search::run(rest),
        _ => Err("say which benchmark: `search`".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let told = writeln!(io::stderr(), "bench: {error}");
            ExitCode::from(if told.is_ok() { 1 } else { 2 })
        }
    }
}
