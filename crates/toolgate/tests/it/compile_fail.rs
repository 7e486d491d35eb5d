//! What must not compile does not: permits cannot be forged, and there is no way around the gate.
//!
//! The fixtures in `tests/compile_fail` are given to rustc with the libraries this very test was
//! linked with. One of them compiles, so a broken set-up cannot look like a success.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use serde_json::Value;

#[test]
fn the_honest_way_compiles() {
    let (library, _) = library("toolgate");
    assert!(library.exists());
}

#[test]
fn a_permit_cannot_be_forged() {
    refused("permit_from_another.rs", "toolgate", "E0451");
    refused("permit_made_by_hand.rs", "toolgate", "E0624");
}

#[test]
fn nothing_is_cleared_but_by_the_one_who_cleans() {
    refused("cleared_made_by_hand.rs", "toolgate", "E0451");
    refused("cleared_vouched.rs", "toolgate", "E0624");
}

#[test]
fn the_upstreams_behind_a_gate_cannot_be_reached() {
    refused("around_the_gateway.rs", "toolgate", "E0616");
}

/// The crate that talks to clients has neither a name for `upstream` nor an edge to it.
#[test]
fn the_server_cannot_name_an_upstream() {
    refused("server_names_upstream.rs", "toolgate_server", "E0432");
    let direct = dependencies_of("toolgate-server");
    assert!(direct.contains("toolgate-gateway"), "{direct:?}");
    assert!(!direct.contains("toolgate-upstream"), "{direct:?}");
}

fn refused(fixture: &str, krate: &str, code: &str) {
    let (_, stderr) = compile(fixture, krate, &library(krate).0);
    assert!(stderr.contains(&format!("error[{code}]")), "{fixture}: {stderr}");
    let errors = stderr.lines().filter(|line| line.starts_with("error[")).count();
    assert_eq!(errors, 1, "{fixture} fails for one reason: {stderr}");
}

/// The newest build of a crate whose own dependencies are still in place. A shared target folder
/// holds older ones too.
fn library(krate: &str) -> (PathBuf, String) {
    let prefix = format!("lib{krate}-");
    let mut built: Vec<(SystemTime, PathBuf)> = std::fs::read_dir(deps())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .filter(|entry| entry.path().extension().is_some_and(|kind| kind == "rlib"))
        .map(|entry| (entry.metadata().unwrap().modified().unwrap(), entry.path()))
        .collect();
    built.sort();
    let honest = if krate == "toolgate" { "honest.rs" } else { "honest_server.rs" };
    let mut last = String::new();
    for (_, path) in built.into_iter().rev() {
        let (compiled, stderr) = compile(honest, krate, &path);
        if compiled {
            return (path, stderr);
        }
        last = stderr;
    }
    panic!("no build of {krate} lets {honest} compile: {last}");
}

/// Type-checks one fixture against one build of a crate.
fn compile(fixture: &str, krate: &str, library: &Path) -> (bool, String) {
    let out = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile_fail").join(fixture);
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--edition", "2024", "--crate-type", "lib", "--emit", "metadata"])
        .arg("--out-dir")
        .arg(out.path())
        .arg("-L")
        .arg(format!("dependency={}", deps().display()))
        .arg("--extern")
        .arg(format!("{krate}={}", library.display()))
        .arg(source)
        .output()
        .unwrap();
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

/// Where cargo put this test, and with it all it was linked with.
fn deps() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

fn dependencies_of(package: &str) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path"])
        .arg(manifest)
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|known| known["name"] == package).unwrap();
    let dependencies = package["dependencies"].as_array().unwrap();
    dependencies.iter().map(|dependency| dependency["name"].as_str().unwrap().to_owned()).collect()
}
