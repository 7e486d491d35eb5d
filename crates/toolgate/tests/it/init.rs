//! Clients that are taught to use the gate: what is written into their files, and what is left alone.

use std::path::Path;

use serde_json::{Value, json};

use crate::{Ran, run, toolgate};

fn init(folder: &Path, arguments: &[&str]) -> Ran {
    run(toolgate(folder).arg("init").args(arguments))
}

fn written(file: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// Writes for a client into a file that may hold this already; what it holds then.
fn taught(client: &str, file: &str, before: Option<&Value>) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(file);
    if let Some(before) = before {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, before.to_string()).unwrap();
    }
    let ran = init(folder.path(), &["--client", client, "--write"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    written(&path)
}

/// CW-95, CW-96, CW-97: the file each client reads, with what it held before.
#[test]
fn each_client_finds_the_gate_in_its_own_file() {
    let check = |client: &str, file: &str, key: &str, entry: Value| {
        assert_eq!(taught(client, file, None), json!({key: {"toolgate": entry}}));
        let before =
            json!({"inputs": [1], key: {"a": {"command": "x"}, "toolgate": {"command": "old"}}});
        let after = json!({"inputs": [1], key: {"a": {"command": "x"}, "toolgate": entry}});
        assert_eq!(taught(client, file, Some(&before)), after);
    };
    let plain = json!({"command": "toolgate", "args": ["serve"]});
    check("claude-code", ".mcp.json", "mcpServers", plain.clone());
    let typed = json!({"type": "stdio", "command": "toolgate", "args": ["serve"]});
    check("vscode", ".vscode/mcp.json", "servers", typed);
    if cfg!(target_os = "linux") {
        let desktop = ".config/Claude/claude_desktop_config.json";
        check("claude-desktop", desktop, "mcpServers", plain);
    }
}

/// CW-95: Claude Desktop starts programs in a folder of its own.
#[test]
fn the_file_of_this_folder_is_named_to_a_client_that_starts_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("toolgate.yaml"), "upstreams: {demo: {type: demo}}\n")
        .unwrap();
    let args = |client: &str| {
        let ran = init(folder.path(), &["--client", client]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let printed: Value = serde_json::from_str(&ran.stdout).unwrap();
        printed["mcpServers"]["toolgate"]["args"].clone()
    };
    let file = folder.path().canonicalize().unwrap().join("toolgate.yaml");
    assert_eq!(args("claude-desktop"), json!(["serve", "--config", file]));
    assert_eq!(args("claude-code"), json!(["serve"]));
}

#[test]
fn a_file_of_another_shape_is_left_alone() {
    let check = |text: &str, why: &str| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".mcp.json");
        std::fs::write(&file, text).unwrap();
        let ran = init(folder.path(), &["--client", "claude-code", "--write"]);
        assert_eq!(ran.code, 3, "{}", ran.stderr);
        assert!(ran.stderr.contains(why) && ran.stderr.contains("by hand"), "{}", ran.stderr);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    };
    check("[1]", "it is no JSON object");
    check("{", "EOF");
    check(r#"{"mcpServers": ["a"]}"#, "its `mcpServers` is no JSON object");
}
