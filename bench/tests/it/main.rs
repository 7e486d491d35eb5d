//! The benchmark as a user starts it, small, on the targets that need no other package built.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::process::{Command, Output};

use serde_json::Value;

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bench")).args(arguments).output().unwrap()
}

#[test]
fn the_same_load_goes_to_the_echo_and_through_the_proxy() {
    let output = bench(&["call", "--quick", "--json", "--only", "echo,proxy"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["rows"].as_array().unwrap().iter().map(|row| {
        (
            row["target"].as_str().unwrap(),
            row["concurrency"].as_u64(),
            row["total"]["calls"].as_u64(),
        )
    });
    let expected = [
        ("echo", Some(1), Some(500)),
        ("proxy", Some(1), Some(500)),
        ("echo", Some(32), Some(500)),
        ("proxy", Some(32), Some(500)),
    ];
    assert_eq!(rows.collect::<Vec<_>>(), expected);
}

#[test]
fn a_binary_that_never_listens_is_named() {
    let output = bench(&["call", "--quick", "--only", "toolgate-read", "--toolgate", "/bin/false"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(error.contains("`toolgate-read` never said where it listens"), "{error}");
}

#[test]
fn an_unknown_benchmark_is_refused() {
    let output = bench(&["lists"]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("`lists` is no benchmark"));
}
