//! `toolgate config`: good and bad files, and what is said about them.

use serde_json::Value;

use crate::{Ran, run, toolgate};

const CANARY: &str = "c4nary-value";

/// Runs `config check` on a file with these bytes.
fn check(name: &str, bytes: &[u8], flags: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), bytes).unwrap();
    std::fs::write(folder.path().join("my_catalog.json"), "[]").unwrap();
    run(toolgate(folder.path()).args(["config", "check", name]).args(flags).env("TOKEN", CANARY))
}

fn refused(name: &str, bytes: &[u8], expected: &str) {
    let Ran { code, stdout, stderr } = check(name, bytes, &[]);
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (3, "", expected));
}

/// CW-113: the seed's file.
#[test]
fn a_good_file_is_summed_up() {
    let seed =
        "catalog: my_catalog.json\nmode: gateway\ntransport: sse\nhost: 127.0.0.1\nport: 8080\n";
    let Ran { code, stdout, stderr } = check("toolgate.yaml", seed.as_bytes(), &[]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    let expected = "toolgate.yaml: good; gateway mode, dev profile, 1 upstream\n\
                    catalog\tstub\ton\tmy_catalog.json\n";
    assert_eq!(stdout, expected);
}

#[test]
fn an_mcp_json_is_a_configuration() {
    let text = br#"{"mcpServers": {"fs": {"command": "npx", "alwaysAllow": []}}}"#;
    let Ran { code, stdout, stderr } = check("mcp.json", text, &[]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.ends_with("fs\tstdio\ton\tnpx\n"), "{stdout}");
    let note = "note: line 1: `alwaysAllow` of `fs` is not used: policy decides what runs without asking\n";
    assert_eq!(stderr, note);
    assert_eq!(check("mcp.json", text, &["-q"]).stderr, "");
}

#[test]
fn each_bad_file_gets_one_clear_message() {
    refused(
        "toolgate.yaml",
        b"name: x\n\n\n\n\n\nupstreems: {}\n",
        "error: toolgate.yaml:7: unknown key `upstreems`; did you mean `upstreams`?\n",
    );
    refused(
        "toolgate.yaml",
        b"upstreams:\n  a:\n    url: http://x\n    headers: {A: '${NOPE}'}\n",
        "error: toolgate.yaml:4: variable `NOPE` is not set; set it, or write `env: {unset: empty}` to read unset variables as empty\n",
    );
    refused(
        "empty.yaml",
        b"",
        "error: empty.yaml: nothing to serve; add `upstreams: {NAME: {command: ...}}`, `mcpServers` or `catalog`\n",
    );
    refused(
        "garbage.yaml",
        b"\x7fELF\x02\x01\x01\x00\xff\xfe\x00",
        "error: garbage.yaml: not a text file: byte 8 is not UTF-8\n",
    );
    refused(
        "toolgate.yaml",
        b"catalog: other.json\n",
        "error: toolgate.yaml: `catalog`: there is no file `other.json`\n",
    );
    let long = "#".repeat(1024 * 1024 + 1);
    refused("long.yaml", long.as_bytes(), "error: long.yaml: longer than 1048576 bytes\n");
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let Ran { code, stdout, stderr } =
        run(toolgate(folder.path()).args(["--config", "none.yaml", "config", "check"]));
    assert_eq!((code, stdout.as_str()), (3, ""));
    assert!(stderr.starts_with("error: none.yaml: cannot be read: "), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn the_file_of_the_folder_is_taken_and_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(toolgate(folder.path()).args(["config", "check"]));
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("no `toolgate.yaml` in the current folder"), "{}", ran.stderr);
    assert!(ran.stdout.contains("demo\tdemo\ton\tbuilt in\n"), "{}", ran.stdout);
    std::fs::write(folder.path().join("toolgate.yaml"), "upstreams: {a: {command: x}}").unwrap();
    let ran = run(toolgate(folder.path()).args(["config", "check"]));
    assert_eq!(ran.stderr, "note: using `toolgate.yaml` of the current folder\n");
    assert!(ran.stdout.contains("a\tstdio\ton\tx\n"), "{}", ran.stdout);
}

#[test]
fn programs_get_json() {
    let ran = check("toolgate.yaml", b"upstreams: {a: {type: demo}}", &["--json"]);
    let value = serde_json::from_str::<Value>(&ran.stdout).unwrap();
    assert_eq!(value["ok"], true);
    assert_eq!(value["upstreams"][0]["type"], "demo");
    assert_eq!(value["host"], "127.0.0.1");
    let ran = check("toolgate.yaml", b"port: x\nmodee: y\n", &["--json"]);
    let value = serde_json::from_str::<Value>(&ran.stderr).unwrap();
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    assert_eq!(value["error"]["code"], "config");
    assert_eq!(value["error"]["exit"], 3);
    assert_eq!(value["error"]["problems"][1]["line"], 2);
}

#[test]
fn no_output_shows_a_value_of_the_environment() {
    let good = "host: 'h${TOKEN}'\nname: '${TOKEN}'\nupstreams:\n  a: {url: 'https://x/${TOKEN}', headers: {A: '${TOKEN}'}}\n  b: {command: '${TOKEN}', args: ['${TOKEN}'], env: {A: '${TOKEN}'}}\nauth: {tokens: [{name: '${TOKEN}', token: '${TOKEN}'}]}\n";
    let bad =
        "mode: ${TOKEN}\nport: ${TOKEN}\nupstreams: {a: {url: '${TOKEN}'}}\ncatalog: '${TOKEN}'\n";
    let missing = "catalog: '${TOKEN}'\npolicy: '${TOKEN}'\n";
    for (text, code) in [(good, 0), (bad, 3), (missing, 3)] {
        for flags in [&[][..], &["--json"], &["--log", "trace"]] {
            let ran = check("toolgate.yaml", text.as_bytes(), flags);
            assert_eq!(ran.code, code, "{}", ran.stderr);
            assert!(!ran.stdout.contains(CANARY), "{}", ran.stdout);
            assert!(!ran.stderr.contains(CANARY), "{}", ran.stderr);
        }
    }
}

#[test]
fn the_schema_is_json_schema_and_fits_the_seed() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(toolgate(folder.path()).args(["config", "schema"]));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let schema = serde_json::from_str::<Value>(&ran.stdout).unwrap();
    assert!(jsonschema::meta::is_valid(&schema));
    let seed = serde_json::json!({"catalog": "my_catalog.json", "mode": "gateway",
        "transport": "sse", "host": "127.0.0.1", "port": 8080});
    assert!(jsonschema::is_valid(&schema, &seed));
}
