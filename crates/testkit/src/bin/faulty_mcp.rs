//! A server over stdio that commits one fault for as long as a file is there.
//!
//!     faulty_mcp FAULT FILE [modern]
//!
//! Beside the file it leaves another, which says that the fault was committed.

#![expect(
    clippy::exit,
    clippy::infinite_loop,
    clippy::disallowed_methods,
    reason = "it misbehaves on purpose"
)]

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio, exit};
use std::time::Duration;

use serde_json::Value;
use toolgate_testkit::faulty::{self, Wrong};
use toolgate_testkit::mcp::{self, Reaction};

fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1);
    let fault = args.next().unwrap_or_default();
    let flag = PathBuf::from(args.next().unwrap_or_default());
    let modern = args.next().is_some();
    let faulty = || flag.exists();
    let committed = || std::fs::write(flag.with_extension("committed"), "");
    if fault == "crash at start" && faulty() {
        committed()?;
        exit(3);
    }
    let mut late = Vec::new();
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        if message.get("method").is_some_and(|method| method == "notifications/cancelled") {
            io::stdout().write_all(&std::mem::take(&mut late))?;
        }
        if faulty() {
            let wrong = faulty::wrong(&fault, &message);
            if wrong.is_some() || falls(&fault, &message) {
                committed()?;
            }
            fall(&fault, &message)?;
            match wrong {
                Some(Wrong::Late(bytes)) => {
                    late = bytes;
                    continue;
                }
                Some(wrong) => {
                    commit(wrong, &faulty)?;
                    continue;
                }
                None => {}
            }
        }
        let mut out = io::stdout().lock();
        if let Some(greeting) = mcp::discovered(&message).filter(|_| modern) {
            writeln!(out, "{greeting}")?;
            out.flush()?;
            continue;
        }
        for reaction in mcp::react(&message) {
            if let Reaction::Send(answer) = reaction {
                writeln!(out, "{answer}")?;
            }
        }
        out.flush()?;
    }
    Ok(())
}

/// Whether the fault is one of the process, and committed at this message.
fn falls(fault: &str, message: &Value) -> bool {
    let method = message["method"].as_str().unwrap_or_default();
    let here = method == "tools/call" || fault == "stdout noise";
    faulty::crashes(fault, method) || (faulty::ON_A_PIPE.contains(&fault) && here)
}

/// Faults of a process rather than of its words.
fn fall(fault: &str, message: &Value) -> io::Result<()> {
    let method = message["method"].as_str().unwrap_or_default();
    match (fault, method) {
        (fault, method) if faulty::crashes(fault, method) => exit(3),
        (fault, "tools/call") if faulty::AT_MEETING.contains(&fault) => exit(3),
        ("exit 0", "tools/call") => exit(0),
        ("exit 1", "tools/call") => exit(1),
        ("segfault", "tools/call") => {
            let me = std::process::id().to_string();
            // The first is caught by Rust's own handler, which then steps aside.
            let twice = "kill -SEGV \"$0\"; kill -SEGV \"$0\"";
            Command::new("sh").args(["-c", twice, &me]).status()?;
            stuck();
        }
        ("hang for ever", "tools/call") => {
            stuck();
        }
        ("grandchild", "tools/call") => {
            Command::new("setsid")
                .args(["sleep", "3600"])
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
            exit(1);
        }
        ("stdout noise", _) => {
            let mut out = io::stdout().lock();
            for number in 0..10_000 {
                writeln!(out, "[info] starting worker {number} \u{1b}[32mok\u{1b}[0m")?;
            }
        }
        ("stderr flood", "tools/call") => {
            let line = vec![b'e'; 1 << 16];
            for _ in 0..400 {
                io::stderr().write_all(&line)?;
            }
            io::stderr().write_all(b"\n")?;
        }
        _ => {}
    }
    Ok(())
}

/// Does not even look whether its fault is over.
fn stuck() {
    loop {
        std::thread::park();
    }
}

fn commit(wrong: Wrong, faulty: &dyn Fn() -> bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match wrong {
        Wrong::Nothing | Wrong::Late(_) => {}
        Wrong::Storm(times, last) => {
            for _ in 0..times {
                writeln!(out, "{}", faulty::changed())?;
            }
            out.write_all(&last)?;
        }
        Wrong::Questions(rounds, last) => {
            let questions = format!("{}\n", faulty::questions().join("\n"));
            for _ in 0..rounds {
                out.write_all(questions.as_bytes())?;
            }
            out.flush()?;
            while faulty() {
                std::thread::sleep(Duration::from_millis(10));
            }
            out.write_all(&last)?;
        }
        Wrong::Bytes(bytes) => out.write_all(&bytes)?,
        Wrong::Flood(byte, count) => {
            let chunk = vec![byte; count.min(1 << 16)];
            for _ in 0..count.div_ceil(chunk.len()) {
                out.write_all(&chunk)?;
            }
            out.write_all(b"\n")?;
        }
        Wrong::Trickle(bytes) => {
            for byte in bytes {
                out.write_all(&[byte])?;
                out.flush()?;
                if faulty() {
                    std::thread::sleep(Duration::from_secs(1));
                }
            }
        }
    }
    out.flush()
}
