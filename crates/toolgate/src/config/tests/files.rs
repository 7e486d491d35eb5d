//! Files that are good, and what they amount to.

use std::path::Path;
use std::time::Duration;

use super::load;
use crate::config::{
    Config, Mode, Overrides, Profile, StubTools, Target, Text, Transport, Upstream, read,
};

fn upstream(text: &str) -> Upstream {
    let loaded = load(text).map_err(|error| error.to_string()).unwrap();
    loaded.config.upstreams.values().next().unwrap().clone()
}

/// CW-113: the seed's own file.
const SEED: &str =
    "catalog: my_catalog.json\nmode: gateway\ntransport: sse\nhost: 127.0.0.1\nport: 8080\n";

/// CW-113.
#[test]
fn the_seeds_file_is_read() {
    let config = read(SEED, Path::new("conf/toolgate.yaml"), &|_| None).unwrap().config;
    assert_eq!(config.mode, Mode::Gateway);
    assert_eq!(config.transport, Some(Transport::Sse));
    assert_eq!(config.host.as_str(), "127.0.0.1");
    assert_eq!(config.port(Transport::Sse), 8080);
    let catalog = config.upstreams.values().next().unwrap();
    let Target::Stub { tools: StubTools::File(path) } = &catalog.target else { panic!("no stub") };
    assert_eq!(path.as_path(), Path::new("conf/my_catalog.json"));
    assert_eq!(config.profile(Transport::Sse), Profile::Dev);
}

/// CW-112 and CW-77: flags win over the file, one by one.
#[test]
fn flags_win_over_the_file() {
    let config = load(SEED).unwrap().config;
    assert_eq!(config.clone().with(Overrides::default()), config);
    let flags = Overrides {
        name: Some("example-gateway".to_owned()),
        port: Some(8081),
        transport: Some(Transport::Http),
        data: Some("here".into()),
        ..Overrides::default()
    };
    let config = config.with(flags);
    assert_eq!(config.name, Text::new("example-gateway"));
    assert_eq!(config.port(Transport::Http), 8081);
    assert_eq!(config.transport, Some(Transport::Http));
    assert_eq!(config.host.as_str(), "127.0.0.1");
    assert_eq!(config.data.unwrap().as_path(), Path::new("here"));
}

/// CW-77: the name a client sees.
#[test]
fn the_server_has_a_name() {
    assert_eq!(Config::default().name.as_str(), "toolgate");
    let loaded = load("name: example-gateway\nupstreams: {a: {type: demo}}").unwrap();
    assert_eq!(loaded.config.name.as_str(), "example-gateway");
}

#[test]
fn each_kind_of_upstream_is_read() {
    let check = |entry: &str, kind: &str, shown: &str| {
        let upstream = upstream(&format!("upstreams: {{a: {entry}}}"));
        assert_eq!((upstream.target.kind(), upstream.target.shown().as_str()), (kind, shown));
    };
    check("{command: npx, args: [x]}", "stdio", "npx");
    check("{type: stdio, command: ./x}", "stdio", "./x");
    check("{url: 'https://x.test/mcp'}", "http", "https://x.test/mcp");
    check("{type: sse, url: 'http://x.test'}", "sse", "http://x.test");
    check("{type: stub, tools: [{name: t}]}", "stub", "1 tools");
    check("{type: stub, tools: tools.json}", "stub", "tools.json");
    check("{type: demo}", "demo", "built in");
    check("{type: openapi, spec: api.yaml, base_url: 'http://x'}", "openapi", "api.yaml");
}

#[test]
fn paths_start_at_the_file_and_bare_commands_do_not() {
    let check = |command: &str, expected: &str| {
        let text = format!("upstreams: {{a: {{command: {command}, cwd: sub, manifest: m.json}}}}");
        let loaded = read(&text, Path::new("/conf/toolgate.yaml"), &|_| None).unwrap();
        let upstream = loaded.config.upstreams.into_values().next().unwrap();
        assert_eq!(upstream.manifest.unwrap().as_path(), Path::new("/conf/m.json"));
        let Target::Stdio { command, cwd, .. } = upstream.target else { panic!("not stdio") };
        assert_eq!(command.as_path(), Path::new(expected));
        assert_eq!(cwd.unwrap().as_path(), Path::new("/conf/sub"));
    };
    check("npx", "npx");
    check("./bin/x", "/conf/./bin/x");
    check("/usr/bin/x", "/usr/bin/x");
}

#[test]
fn the_servers_of_other_clients_are_upstreams() {
    let check = |text: &str, kind: &str, shown: &str| {
        let target = upstream(text).target;
        assert_eq!((target.kind(), target.shown().as_str()), (kind, shown), "{text}");
    };
    check(r#"{"mcpServers": {"fs": {"command": "npx", "args": ["-y", "x"]}}}"#, "stdio", "npx");
    check(
        r#"{"mcpServers": {"a": {"url": "http://x/mcp", "headers": {}}}}"#,
        "http",
        "http://x/mcp",
    );
    check(r#"{"mcpServers": {"a": {"serverUrl": "http://x/mcp"}}}"#, "http", "http://x/mcp");
    check(
        r#"{"mcpServers": {"a": {"type": "sse", "url": "http://x/sse", "env": {}, "args": []}}}"#,
        "sse",
        "http://x/sse",
    );
    check(
        r#"{"servers": {"a": {"type": "http", "url": "http://x", "gallery": true}}}"#,
        "http",
        "http://x",
    );
    check(
        r#"{"mcpServers": {"a": {"transport": "streamable_http", "url": "http://x"}}}"#,
        "http",
        "http://x",
    );
    check(
        r#"{"mcpServers": {"a": {"type": "streamable-http", "url": "http://x"}}}"#,
        "http",
        "http://x",
    );
}

#[test]
fn what_other_clients_say_about_a_server_is_kept() {
    let server = upstream(
        r#"{"mcpServers": {"a": {"command": "x", "timeout": 1.5, "disabled": true,
            "disabledTools": ["rm"], "env": {"N": 1.10, "ON": true}}}}"#,
    );
    assert_eq!(server.timeout, Some(Duration::from_millis(1500)));
    assert!(!server.enabled);
    assert_eq!(server.exclude, [Text::new("rm")]);
    let Target::Stdio { env, .. } = server.target else { panic!("not stdio") };
    let env = env.iter().map(|(name, value)| (name.as_str(), value.reveal())).collect::<Vec<_>>();
    assert_eq!(env, [("N", "1.10"), ("ON", "true")]);
}

#[test]
fn what_has_no_use_here_is_noted() {
    let loaded = load(
        "mcpServers:\n  My Server:\n    command: x\n    autoApprove: [a]\n    description: y\n",
    )
    .unwrap();
    let notes = [
        "line 2: `My Server` is called `My-Server` here",
        "line 4: `autoApprove` of `My Server` is not used: policy decides what runs without asking",
        "line 5: `description` of `My Server` is not used: it is for people",
    ];
    assert_eq!(loaded.notes, notes);
}

#[test]
fn comments_and_escapes_of_json_files_are_read() {
    let text = "{\n  // a note\n  \"servers\": {\"a\": {\"url\": \"http://x/\", /* old */ \"bad\": 1},}\n}";
    let error = read(text, Path::new(".vscode/mcp.json"), &|_| None).unwrap_err().to_string();
    assert!(error.starts_with(".vscode/mcp.json:3: unknown key `bad`"), "{error}");
    let text = r#"{"name": "\ud83d\ude00", "catalog": "a"}"#;
    let loaded = read(text, Path::new("toolgate.json"), &|_| None).unwrap();
    assert_eq!(loaded.config.name.as_str(), "😀");
}

#[test]
fn numbers_and_booleans_may_come_from_variables() {
    let loaded = load("port: ${PORT}\nupstreams: {a: {type: demo}}").unwrap();
    assert_eq!(loaded.config.port, Some(9000));
    let loaded = load("upstreams: {a: {type: demo, enabled: '${OFF:-false}'}}");
    assert!(loaded.is_err(), "a fallback is not a variable, so it is written as it should be read");
}

#[test]
fn the_tools_of_a_stub_are_left_as_they_are() {
    let text = r#"{"upstreams": {"a": {"type": "stub", "tools": [{"name": "t", "description": "${X}"}]}}}"#;
    let Target::Stub { tools: StubTools::Inline(tools) } = upstream(text).target else {
        panic!("no stub")
    };
    assert_eq!(tools, [serde_json::json!({"name": "t", "description": "${X}"})]);
}

#[test]
fn without_a_file_there_is_the_demo() {
    let config = Config::demo();
    let names =
        config.upstreams.iter().map(|(name, upstream)| (name.as_str(), upstream.target.kind()));
    assert_eq!(names.collect::<Vec<_>>(), [("demo", "demo")]);
}

#[test]
fn unset_variables_can_be_empty() {
    let loaded = load("env: {unset: empty}\nupstreams: {a: {command: x, env: {A: '${NONE}'}}}");
    let upstream = loaded.unwrap().config.upstreams.into_values().next().unwrap();
    let Target::Stdio { env, .. } = upstream.target else { panic!("not stdio") };
    assert_eq!(env.values().map(model::Secret::reveal).collect::<Vec<_>>(), [""]);
}

/// The schema is what editors see; a change of it is a change of the product.
#[test]
fn the_schema_is_as_agreed() {
    insta::assert_json_snapshot!("schema", Config::json_schema());
}

/// What we accept, an independent validator accepts by our schema, and the other way round.
#[test]
fn the_schema_agrees_with_the_reader() {
    let validator = jsonschema::validator_for(&Config::json_schema()).unwrap();
    let check = |text: &str, good: bool| {
        let value = serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(validator.is_valid(&value), good, "schema: {text}");
        assert_eq!(load(text).is_ok(), good, "reader: {text}");
    };
    check(r#"{"catalog": "a.json", "mode": "gateway", "port": 8080}"#, true);
    check(r#"{"catalog": "a.json", "port": null, "limits": {"call_timeout_ms": 5}}"#, true);
    check(r#"{"mcpServers": {"a": {"command": "x", "env": {"A": 1}, "version": {}}}}"#, true);
    check(r#"{"upstreams": {"a": {"type": "stub", "tools": [{"name": "t"}]}}}"#, true);
    check(r#"{"catalog": "a.json", "port": 70000}"#, false);
    check(r#"{"catalog": "a.json", "mode": "other"}"#, false);
    check(r#"{"catalog": "a.json", "limits": {"call_timeout_ms": 0}}"#, false);
    check(r#"{"catalog": "a.json", "auth": {"tokens": [{"name": "a"}]}}"#, false);
    check(r#"{"catalog": "a.json", "name": ""}"#, false);
    check(r#"{"mcpServers": {"a": {"command": "x", "timeout": 0}}}"#, false);
    check(r#"{"upstreams": {"a": {"type": "stub", "tools": [1]}}}"#, false);
    check(r#"{"upstreams": {"a b": {"type": "demo"}}}"#, false);
    check(r#"{"what": 1}"#, false);
}

/// OR-34 (the file): what each client writes loads as it is.
#[test]
fn the_files_of_clients_load_unchanged() {
    let check = |file: &str, text: &str, wanted: &[(&str, &str)]| {
        let env = |name: &str| match name {
            "HOME" => Some("/home/ann".to_owned()),
            "API_KEY" => Some("k".to_owned()),
            _ => None,
        };
        let loaded = read(text, Path::new(file), &env).unwrap_or_else(|e| panic!("{file}: {e}"));
        let found = loaded.config.upstreams.iter().map(|(name, upstream)| {
            let args = match &upstream.target {
                Target::Stdio { args, .. } => args.iter().map(Text::as_str).collect::<Vec<_>>(),
                _ => Vec::new(),
            };
            (name.to_string(), format!("{} {}", upstream.target.shown(), args.join(" ")))
        });
        let wanted: Vec<_> =
            wanted.iter().map(|(name, to)| ((*name).to_owned(), (*to).to_owned())).collect();
        assert_eq!(found.collect::<Vec<_>>(), wanted, "{file}");
    };
    check(
        "/home/ann/.config/Claude/claude_desktop_config.json",
        r#"{"globalShortcut": "Ctrl+Space", "preferences": {"menuBarEnabled": false},
            "mcpServers": {"filesystem": {"command": "npx",
                "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/ann/Desktop"]}}}"#,
        &[("filesystem", "npx -y @modelcontextprotocol/server-filesystem /home/ann/Desktop")],
    );
    check(
        "/srv/.mcp.json",
        r#"{"mcpServers": {
            "api": {"type": "http", "url": "${API_BASE_URL:-https://api.example.com}/mcp",
                "headers": {"Authorization": "Bearer ${API_KEY}"}},
            "old": {"type": "sse", "url": "https://sse.example.com/sse"},
            "db": {"type": "stdio", "command": "npx", "args": ["-y", "db"], "env": {}}}}"#,
        &[
            ("api", "https://api.example.com/mcp "),
            ("db", "npx -y db"),
            ("old", "https://sse.example.com/sse "),
        ],
    );
    check(
        "/srv/app/.cursor/mcp.json",
        r#"{"mcpServers": {
            "local": {"type": "stdio", "command": "python", "envFile": ".env",
                "args": ["${workspaceFolder}${/}tools${pathSeparator}server.py", "${userHome}"],
                "env": {"API_KEY": "${env:API_KEY}"}},
            "remote": {"url": "https://api.example.com/mcp", "auth": {"CLIENT_ID": "x"}}}}"#,
        &[
            ("local", "python /srv/app/tools/server.py /home/ann"),
            ("remote", "https://api.example.com/mcp "),
        ],
    );
    check(
        "/srv/app/.vscode/mcp.json",
        r#"{
            // of the workspace
            "inputs": [],
            "servers": {
                "fetch": {"type": "stdio", "command": "uvx", "args": ["mcp-server-fetch"],
                    "envFile": "${workspaceFolder}/.env", "dev": {"watch": "src/**"}},
                "github": {"type": "http", "url": "https://api.githubcopilot.com/mcp/",
                    "gallery": "https://example.com", "version": "1.0.0"},
            }
        }"#,
        &[("fetch", "uvx mcp-server-fetch"), ("github", "https://api.githubcopilot.com/mcp/ ")],
    );
    check(
        "/home/ann/.codeium/windsurf/mcp_config.json",
        r#"{"mcpServers": {
            "remote": {"serverUrl": "https://mcp.example.com/sse", "headers": {"K": "${env:API_KEY}"},
                "disabledTools": ["delete"]},
            "local": {"command": "node", "args": ["s.js"], "disabled": false, "alwaysAllow": []}}}"#,
        &[("local", "node s.js"), ("remote", "https://mcp.example.com/sse ")],
    );
    check(
        "/srv/mcp.json",
        r#"{"mcpServers": {
            "search": {"transport": "stdio", "command": "search-server", "args": ["--key", "${API_KEY}"],
                "timeout": 30, "cache_tools": true},
            "web": {"transport": "streamable_http", "url": "http://localhost:9000/mcp",
                "headers": {}, "timeout": 60}}}"#,
        &[("search", "search-server --key k"), ("web", "http://localhost:9000/mcp ")],
    );
}

#[test]
fn a_misspelled_key_beside_a_clients_servers_is_still_one() {
    let text = r#"{"mcpServers": {"a": {"command": "x"}}, "startpu": {}}"#;
    let error = read(text, Path::new("mcp.json"), &|_| None).unwrap_err().to_string();
    assert!(error.contains("did you mean `startup`"), "{error}");
    let noted = read(
        r#"{"mcpServers": {"a": {"command": "x"}}, "globalShortcut": ""}"#,
        Path::new("mcp.json"),
        &|_| None,
    );
    assert_eq!(
        noted.unwrap().notes,
        ["line 1: `globalShortcut` is not used: it is the client's own"]
    );
}
