//! A value from the environment shows nowhere, whichever key it was put in.

use super::{env, load};

const CANARY: &str = "c4nary-value";

/// Every text of a configuration, with the variable in it.
const EVERYWHERE: &str = r"
name: 'x ${TOKEN}'
data: 'x/${TOKEN}'
catalog: '${TOKEN}.json'
policy: '${TOKEN}.cedar'
host: 'h-${TOKEN}'
egress: {allow: ['${TOKEN}.test']}
http: {allow_hosts: ['${TOKEN}'], allow_origins: ['https://${TOKEN}']}
auth: {tokens: [{name: 'n-${TOKEN}', token: '${TOKEN}'}]}
upstreams:
  a:
    command: 'bin/${TOKEN}'
    args: ['--key', '${TOKEN}']
    env: {KEY: '${TOKEN}', LITERAL: l1teral-value}
    cwd: '${TOKEN}'
    namespace: '${TOKEN}'
    manifest: '${TOKEN}'
    include: ['${TOKEN}']
    exclude: ['${TOKEN}']
  b: {url: 'https://x.test/?key=${TOKEN}', headers: {Authorization: 'Bearer ${TOKEN}'}}
  c: {type: openapi, spec: '${TOKEN}', base_url: 'https://${TOKEN}.test'}
  d: {type: stub, tools: '${TOKEN}'}
mcpServers:
  e: {command: '${TOKEN}', env: {KEY: '${TOKEN}'}}
  f: {serverUrl: 'http://${TOKEN}.test', headers: {X: '${TOKEN}'}}
";

#[test]
fn printing_a_configuration_shows_what_was_written() {
    assert_eq!(env("TOKEN").as_deref(), Some(CANARY));
    let loaded = load(EVERYWHERE).map_err(|error| error.to_string()).unwrap();
    let shown =
        format!("{loaded:?}\n{loaded:#?}\n{}", serde_json::to_string(&loaded.config).unwrap());
    assert!(!shown.contains(CANARY), "{shown}");
    assert!(!shown.contains("l1teral-value"), "{shown}");
    assert!(shown.contains("${TOKEN}") && shown.contains("***"));
    let revealed = loaded.config.upstreams.values().map(|upstream| match &upstream.target {
        crate::config::Target::Http { url, .. } => url.as_str().to_owned(),
        _ => String::new(),
    });
    assert!(revealed.collect::<String>().contains(CANARY), "the value is still there to be used");
}

#[test]
fn no_error_shows_the_value() {
    let wrong = [
        "port",
        "mode",
        "transport",
        "profile",
        "log",
        "limits",
        "naming",
        "upstreams",
        "auth",
        "egress",
        "http",
        "mcpServers",
        "approvals",
        "nonsense",
    ];
    for key in wrong {
        let error = load(&format!("{key}: ${{TOKEN}}\n")).unwrap_err();
        assert!(!format!("{error} {error:?}").contains(CANARY), "{error}");
    }
    let wrong = [
        "{url: '${TOKEN}'}",
        "{url: 'http://a b${TOKEN}'}",
        "{type: '${TOKEN}'}",
        "{url: 'http://u:${TOKEN}@x'}",
        "{timeout_ms: '${TOKEN}'}",
        "{env: '${TOKEN}'}",
        "{url: 'http://x', headers: {A: \"${TOKEN}\\n\"}}",
        "{args: '${TOKEN}'}",
        "{type: stub, tools: {a: '${TOKEN}'}}",
        "{enabled: '${TOKEN}'}",
        "'${TOKEN}'",
    ];
    for entry in wrong {
        let error = load(&format!("upstreams: {{a: {entry}}}\n")).unwrap_err();
        assert!(!format!("{error} {error:?}").contains(CANARY), "{error}");
    }
    let error = load("catalog: a\negress: {allow: ['/${TOKEN}']}\nhost: '/${TOKEN}'").unwrap_err();
    assert!(!error.to_string().contains(CANARY), "{error}");
}
