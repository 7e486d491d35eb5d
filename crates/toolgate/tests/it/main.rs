//! The binary as its users see it: arguments in, output and exit code back.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that cannot go on stops"
)]

mod cli;
mod compile_fail;
mod config;
mod consent;
mod declared;
mod doors;
mod drift;
mod gate;
mod governance;
mod handshakes;
mod history;
mod init;
mod manifests;
mod manners;
mod manual;
mod modes;
mod names;
mod peer;
mod rmcp_peer;
mod shown;
mod stopping;
mod supervision;
mod tidy;
mod transports;
mod web;

use std::path::Path;
use std::process::{Command, Stdio};

/// What one run of the binary left behind.
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

/// The binary in this folder, with none of our own environment but what finds programs.
fn toolgate(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolgate"));
    command.current_dir(folder).stdin(Stdio::null()).env_clear().env("HOME", folder);
    command
}

fn run(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
