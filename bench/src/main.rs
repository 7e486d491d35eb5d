//! Benchmarks: of the real binary against what an HTTP intermediary could cost at least (`call`), a
//! file server (`list`) and nothing at all (`idle`), of ranking against plainer rankers
//! (`search`), and of a large catalogue (`catalogue`).
//!
//! The same program is the load and, started again as a child, the servers it loads. Nothing here
//! asserts a time: figures are printed, people judge.

mod args;
mod call;
mod catalogue;
mod child;
mod clean;
mod client;
mod cpu;
mod fleet;
mod idle;
mod list;
mod load;
mod machine;
mod memory;
mod records;
mod report;
mod roles;
mod search;
mod signals;
mod stats;
mod streams;
mod toolgate;

use std::error::Error;
use std::io::{self, Write as _};
use std::process::ExitCode;

use tokio::runtime::{Builder, Runtime};

use crate::args::Mode;

/// As in the binary that is measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Nobody handles a benchmark's error in code, so its words are all there is.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> ExitCode {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    match args::parse(&arguments).map_err(Into::into).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let told = writeln!(io::stderr(), "bench: {error}");
            ExitCode::from(if told.is_ok() { 1 } else { 2 })
        }
    }
}

fn run(mode: Mode) -> Outcome<()> {
    match mode {
        Mode::Help => Ok(io::stdout().write_all(args::HELP.as_bytes())?),
        Mode::Search(args) => search::run(&args),
        Mode::Clean => clean::run(),
        Mode::Catalogue => catalogue::run(),
        Mode::Call(args) => load_runtime()?.block_on(call::run(args)),
        Mode::List(args) => load_runtime()?.block_on(list::run(args)),
        Mode::Idle { gate, over } => load_runtime()?.block_on(idle::run(gate, over)),
        Mode::Pages { folder } => server_runtime()?.block_on(roles::pages::serve(&folder)),
        Mode::Streams(args) => load_runtime()?.block_on(streams::hold(args)),
        Mode::Records(size) => server_runtime()?.block_on(records::run(size)),
        Mode::Echo => server_runtime()?.block_on(roles::echo::serve()),
        Mode::Proxy { to } => server_runtime()?.block_on(roles::proxy::serve(to)),
    }
}

/// One thread, so that the load takes as little as it can from what it measures.
fn load_runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// The runtime Toolgate has, so that the servers differ in what they do and not in how they run.
fn server_runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().enable_all().build()
}
