//! Files that are wrong, and the one message each mistake gets.

use super::load;

fn check(text: &str, expected: &str) {
    let error = load(text).map(|_| "accepted").unwrap_err().to_string();
    assert_eq!(error, expected, "{text}");
}

#[test]
fn unknown_keys_are_named_with_the_nearest() {
    check(
        "\n\n\n\n\n\nupstreems: {}\n",
        "toolgate.yaml:7: unknown key `upstreems`; did you mean `upstreams`?",
    );
    check(
        "upstreams:\n  a:\n    comand: x\n",
        "toolgate.yaml:3: unknown key `comand`; did you mean `command`?",
    );
    check(
        "mcpServers:\n  a:\n    command: x\n    arg: []\n",
        "toolgate.yaml:4: unknown key `arg`; did you mean `args`?",
    );
    check(
        "catalog: a\nresults:\n  bananas: 1\n",
        "toolgate.yaml:3: unknown key `bananas`; known keys are inline_chars, budget_tokens, output_schema, require_structured, sanitise",
    );
    check(
        "{\"servers\": {\"a\": {\"url\": \"http://x\"}},\n \"inputs\": [{\"id\": \"key\"}]}",
        "toolgate.yaml:2: `inputs` asks a person for values, and here is none to ask; replace each `${input:NAME}` by `${NAME}` and set the variable",
    );
}

#[test]
fn a_prefix_of_names_has_no_separator() {
    check(
        "catalog: a\nnaming_prefix: a__b\n",
        "toolgate.yaml:2: `naming_prefix` may have letters and digits only",
    );
}

#[test]
fn search_has_one_source_of_meanings_and_a_real_address() {
    check(
        "catalog: a\nsearch:\n  model: m\n  endpoint: {url: https://x, model: m}\n",
        "toolgate.yaml:4: `search` has both `model` and `endpoint`; keep one",
    );
    check(
        "catalog: a\nsearch:\n  endpoint: {url: ftp://x, model: m}\n",
        "toolgate.yaml:3: `search.endpoint` has a `url` that does not begin with `http://` or `https://`",
    );
    check(
        "catalog: a\nsearch:\n  endpoint: {url: http://x}\n",
        "toolgate.yaml:3: `search.endpoint.model` is missing",
    );
}

#[test]
fn all_mistakes_are_told_at_once() {
    check(
        "mode: fast\nport: high\nupstreems: {}\nlimits: {shutdown_ms: -1}\nhost: ${NOPE}\n",
        "toolgate.yaml:1: `mode` must be `auto`, `gateway`, `transparent` or `native`, not `fast`\n\
         toolgate.yaml:2: `port` must be a whole number, not text\n\
         toolgate.yaml:3: unknown key `upstreems`; did you mean `upstreams`?\n\
         toolgate.yaml:4: `limits.shutdown_ms` must be from 0 to 600000\n\
         toolgate.yaml:5: variable `NOPE` is not set; set it, or write `env: {unset: empty}` to read unset variables as empty",
    );
}

#[test]
fn values_of_the_wrong_kind_are_refused() {
    check("[]", "toolgate.yaml:1: the file must be a mapping, not a list");
    check("just words", "toolgate.yaml:1: the file must be a mapping, not text");
    check("catalog: 5", "toolgate.yaml:1: `catalog` must be text, not a whole number");
    check("catalog: a\nport: 70000", "toolgate.yaml:2: `port` must be from 0 to 65535");
    check(
        "catalog: a\nport: 1.5",
        "toolgate.yaml:2: `port` must be a whole number, not a fraction",
    );
    check("catalog: a\nname: ''", "toolgate.yaml:2: `name` must be from 1 to 128 characters long");
    check("catalog: ''", "toolgate.yaml:1: `catalog` must not be empty");
    check("catalog: a\nlimits:", "toolgate.yaml:2: `limits` must be a mapping, not empty");
    check(
        "catalog: a\nauth:\n  tokens:\n  - name: x\n",
        "toolgate.yaml:4: `auth.tokens[0].token` is missing",
    );
    check(
        "catalog: a\nport: ${TOKEN}",
        "toolgate.yaml:2: `port` must be a whole number, not what its variable holds",
    );
    check(
        "catalog: a\nmode: ${TOKEN}",
        "toolgate.yaml:2: `mode` must be `auto`, `gateway`, `transparent` or `native`, not `${TOKEN}`",
    );
}

#[test]
fn entries_that_make_no_upstream_are_refused() {
    let check = |entry: &str, expected: &str| {
        check(
            &format!("upstreams:\n a: {entry}\n"),
            &format!("toolgate.yaml:2: upstream `a` {expected}"),
        );
    };
    check("{}", "needs `command`, `url` or `type`");
    check("{type: stdio}", "of type `stdio` needs `command`");
    check("{type: http}", "of type `http` needs `url`");
    check("{type: sse}", "of type `sse` needs `url`");
    check("{type: stub}", "of type `stub` needs `tools`");
    check("{type: openapi}", "of type `openapi` needs `spec`");
    check("{command: x, url: 'http://x'}", "has both `command` and `url`; keep one");
    check("{command: x, headers: {A: b}}", "has `headers`, which does not go with type `stdio`");
    check("{url: 'ftp://x'}", "has a `url` that does not begin with `http://` or `https://`");
    check("{url: 'x/y'}", "has a `url` that is not a URL");
    check("{url: 'http://a b'}", "has a `url` that is not a URL");
    check(
        "{url: 'http://u:${TOKEN}@x'}",
        "has a `url` that holds a user name or password; send an `Authorization` header instead",
    );
    check("{url: 'http://x', headers: {'a b': c}}", "has a header `a b` that is not a header name");
    check(
        "{url: 'http://x', headers: {A: \"b\\nc\"}}",
        "has a header `A` that has a value no header can carry",
    );
}

#[test]
fn names_that_clash_or_are_none_are_refused() {
    check(
        "upstreams: {'a b': {type: demo}}",
        "toolgate.yaml:1: `a b` cannot name an upstream; use at most 64 letters, digits, `_`, `.` or `-`, a letter or digit first",
    );
    check(
        "upstreams: {a: {type: demo}}\nmcpServers: {a: {command: x}}",
        "toolgate.yaml:2: a second upstream is called `a`; rename one",
    );
    check(
        "mcpServers: {'??': {command: x}}",
        "toolgate.yaml:1: `??` has no letter or digit to make a name of",
    );
    check(
        "catalog: a.json\nupstreams: {catalog: {type: demo}}",
        "toolgate.yaml:1: a second upstream is called `catalog`; rename one",
    );
}

#[test]
fn hosts_origins_and_tokens_are_checked() {
    check(
        "catalog: a\negress: {allow: ['http://x']}",
        "toolgate.yaml:2: `egress.allow`: `http://x` is not a host or `*.suffix`",
    );
    check(
        "catalog: a\negress: {allow: ['a.*.b']}",
        "toolgate.yaml:2: `egress.allow`: `a.*.b` is not a host or `*.suffix`",
    );
    check(
        "catalog: a\nhttp: {allow_hosts: ['a/b']}",
        "toolgate.yaml:2: `http.allow_hosts`: `a/b` is not a host",
    );
    check(
        "catalog: a\nhttp: {allow_origins: ['app.test']}",
        "toolgate.yaml:2: `http.allow_origins`: `app.test` is not an origin such as `https://app.example.com`",
    );
    check(
        "catalog: a\nhttp: {cors: {allow_origins: ['*']}}",
        "toolgate.yaml:2: `http.cors.allow_origins`: `*` is not an origin such as `https://app.example.com`",
    );
    check("catalog: a\nhost: 'a b'", "toolgate.yaml:2: `host` must be an address or a host name");
    check(
        "catalog: a\nauth: {tokens: [{name: x, token: ''}]}",
        "toolgate.yaml:2: the token of `x` is empty",
    );
    check(
        "catalog: a\nauth: {tokens: [{name: x, token: 0123456789abcdef0}, {name: x, token: 0123456789abcdef1}]}",
        "toolgate.yaml:2: a second token is called `x`; rename one",
    );
}

#[test]
fn a_file_that_serves_nothing_says_what_to_add() {
    let nothing = "toolgate.yaml: nothing to serve; add `upstreams: {NAME: {command: ...}}`, `mcpServers` or `catalog`";
    check("", nothing);
    check("# only a comment\n", nothing);
    check("{}", nothing);
    check("mode: native\n", nothing);
    check("upstreams: {}\n", nothing);
}
