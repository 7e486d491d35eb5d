//! What no single key shows: whether names are names, entries make upstreams, and there is anything
//! to serve at all. Also gives relative paths their folder.

use std::collections::BTreeMap;
use std::path::Path;

use model::UpstreamName;

use super::fit::{fit, url_trouble};
use super::mcp_json::{self, McpServer};
use super::node::{Data, Node};
use super::problem::Problems;
use super::text::{ConfigPath, Text};
use super::tree::{CATALOG_UPSTREAM, Config};
use super::upstream::{Entry, Kind, StubTools, Target, Upstream};

/// The name of an upstream.
pub(super) const NAME_CHARS_MAX: usize = 64;
/// A bearer token shorter than this is worth a note.
const TOKEN_CHARS_GOOD: usize = 16;

/// Finishes a configuration whose shape is right.
pub(super) fn check(config: &mut Config, root: &Node, problems: &mut Problems) -> Vec<String> {
    let mut notes = Vec::new();
    let entries = std::mem::take(&mut config.entries);
    for (name, entry) in entries {
        if !is_name(&name) {
            let message = format!(
                "`{name}` cannot name an upstream; use at most {NAME_CHARS_MAX} letters, digits, `_`, `.` or `-`, a letter or digit first"
            );
            problems.add(Some(root.place(&["upstreams", &name])), message);
            continue;
        }
        add(config, &["upstreams", &name], &name, entry, root, problems);
    }
    for (section, servers) in [
        ("mcpServers", std::mem::take(&mut config.mcp_servers)),
        ("servers", std::mem::take(&mut config.servers)),
    ] {
        notes.extend(add_servers(config, section, servers, root, problems));
    }
    if let Some(path) = config.catalog.clone() {
        let entry = Entry {
            kind: Some(Kind::Stub),
            tools: Some(StubTools::File(path)),
            ..Entry::default()
        };
        add(config, &["catalog", ""], CATALOG_UPSTREAM, entry, root, problems);
    }
    if ["upstreams", "mcpServers", "servers", "catalog"].iter().all(|key| is_bare(root, key)) {
        nothing_to_serve(problems);
    }
    check_hosts(config, root, problems);
    check_prefix(config, root, problems);
    check_search(config, root, problems);
    check_telemetry(config, root, problems);
    notes.extend(check_tokens(config, root, problems));
    notes
}

/// Gives every relative path the folder of the file.
pub(super) fn resolve_paths(config: &mut Config, folder: &Path) {
    let Config { data, catalog, policy, upstreams, search, records, .. } = config;
    [data, catalog, policy, &mut search.model, &mut records.archive]
        .into_iter()
        .flatten()
        .for_each(|path| path.resolve(folder));
    for upstream in upstreams.values_mut() {
        let declared = upstream.manifest.iter_mut().chain(&mut upstream.bindings);
        declared.for_each(|path| path.resolve(folder));
        match &mut upstream.target {
            Target::Stdio { command, cwd, env_file, .. } => {
                cwd.iter_mut().chain(env_file).for_each(|path| path.resolve(folder));
                // A bare word is looked up on PATH, as a shell would.
                if command.value().contains(['/', '\\']) {
                    command.resolve(folder);
                }
            }
            Target::Stub { tools: StubTools::File(path) }
            | Target::OpenApi { spec: path, .. }
            | Target::Cassette { file: path } => {
                path.resolve(folder);
            }
            _ => {}
        }
    }
}

/// The files a configuration refers to, each with the key that does.
pub(crate) fn files(config: &Config) -> Vec<(String, &ConfigPath)> {
    let top = [("catalog", &config.catalog), ("policy", &config.policy)];
    let top = top.into_iter().filter_map(|(key, path)| Some((key.to_owned(), path.as_ref()?)));
    let below = config
        .upstreams
        .iter()
        .filter(|(name, _)| config.catalog.is_none() || name.as_str() != CATALOG_UPSTREAM);
    let below = below.flat_map(|(name, upstream)| {
        let Upstream { target, manifest, bindings, .. } = upstream;
        let target = match target {
            Target::Stub { tools: StubTools::File(path) } => Some(("tools", path)),
            Target::OpenApi { spec, .. } => Some(("spec", spec)),
            Target::Cassette { file } => Some(("file", file)),
            _ => None,
        };
        let manifest = manifest.as_ref().map(|path| ("manifest", path));
        let bindings = bindings.iter().map(|path| ("bindings", path));
        let pairs = target.into_iter().chain(manifest).chain(bindings);
        pairs.map(move |(key, path)| (format!("upstreams.{name}.{key}"), path))
    });
    top.chain(below).collect()
}

pub(super) fn nothing_to_serve(problems: &mut Problems) {
    problems.add(
        None,
        "nothing to serve; add `upstreams: {NAME: {command: ...}}`, `mcpServers` or `catalog`",
    );
}

fn is_bare(root: &Node, key: &str) -> bool {
    match root.get(key).map(|node| &node.data) {
        None | Some(Data::Null) => true,
        Some(Data::Map(pairs)) => pairs.is_empty(),
        Some(_) => false,
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|char: char| char.is_ascii_alphanumeric())
        && name.len() <= NAME_CHARS_MAX
        && name.chars().all(|char| char.is_ascii_alphanumeric() || "_.-".contains(char))
}

fn add_servers(
    config: &mut Config,
    section: &str,
    servers: BTreeMap<String, McpServer>,
    root: &Node,
    problems: &mut Problems,
) -> Vec<String> {
    let mut notes = Vec::new();
    let section_node = root.get(section);
    for (name, server) in servers {
        let path = [section, name.as_str()];
        let usable = mcp_json::usable_name(&name);
        if !is_name(&usable) {
            let message = format!("`{name}` has no letter or digit to make a name of");
            problems.add(Some(root.place(&path)), message);
            continue;
        }
        if usable != name {
            let line = root.place(&path).line;
            notes.push(format!("line {line}: `{name}` is called `{usable}` here"));
        }
        if let Some(node) = section_node.and_then(|node| node.get(&name)) {
            notes.extend(mcp_json::notes(&name, node));
        }
        add(config, &path, &usable, server.into_entry(), root, problems);
    }
    notes
}

fn add(
    config: &mut Config,
    path: &[&str; 2],
    name: &str,
    entry: Entry,
    root: &Node,
    problems: &mut Problems,
) {
    let [section, key] = path;
    match fit(entry) {
        Ok(upstream) => {
            let known = config.upstreams.insert(UpstreamName::from_string(name), upstream);
            if known.is_some() {
                let message = format!("a second upstream is called `{name}`; rename one");
                problems.add(Some(root.place(path)), message);
            }
        }
        Err(complaints) => {
            for (field, message) in complaints {
                let path = [Some(*section), Some(*key), field];
                let path = path.into_iter().flatten().collect::<Vec<_>>();
                problems.add(Some(root.place(&path)), format!("upstream `{name}` {message}"));
            }
        }
    }
}

fn check_search(config: &Config, root: &Node, problems: &mut Problems) {
    let Some(endpoint) = &config.search.endpoint else { return };
    if config.search.model.is_some() {
        let message = "`search` has both `model` and `endpoint`; keep one";
        problems.add(Some(root.place(&["search", "endpoint"])), message);
    }
    if let Some(why) = url_trouble(&endpoint.url) {
        let place = root.place(&["search", "endpoint", "url"]);
        problems.add(Some(place), format!("`search.endpoint` has a `url` that {why}"));
    }
}

/// A separator within the prefix would make names that come apart elsewhere.
fn check_prefix(config: &Config, root: &Node, problems: &mut Problems) {
    let prefix = config.naming_prefix.as_str();
    if !prefix.chars().all(|char| char.is_ascii_alphanumeric()) {
        let message = "`naming_prefix` may have letters and digits only";
        problems.add(Some(root.place(&["naming_prefix"])), message);
    }
}

fn check_telemetry(config: &Config, root: &Node, problems: &mut Problems) {
    let Some(collector) = &config.telemetry.otlp else { return };
    if let Some(why) = url_trouble(&collector.url) {
        let place = root.place(&["telemetry", "otlp", "url"]);
        problems.add(Some(place), format!("`telemetry.otlp` has a `url` that {why}"));
    }
}

fn check_hosts(config: &Config, root: &Node, problems: &mut Problems) {
    let is_host = |text: &str| {
        !text.is_empty()
            && text.chars().all(|char| char.is_alphanumeric() || "-._:[]".contains(char))
    };
    let is_origin = |text: &str| {
        let uri = text.parse::<http::Uri>().ok();
        uri.is_some_and(|uri| uri.scheme().is_some() && uri.path() == "/")
            && !text.ends_with('/')
            && !text.contains(['@', '?'])
    };
    let mut each = |path: &[&str], texts: &[Text], good: &dyn Fn(&str) -> bool, want: &str| {
        for (index, text) in texts.iter().enumerate().filter(|(_, text)| !good(text.as_str())) {
            let place = root.place(&[path, &[&index.to_string()]].concat());
            problems.add(Some(place), format!("`{}`: `{text}` is not {want}", path.join(".")));
        }
    };
    let allow = config.egress.allow.as_deref().unwrap_or_default();
    let is_pattern = |text: &str| is_host(text.strip_prefix("*.").unwrap_or(text));
    each(&["egress", "allow"], allow, &is_pattern, "a host or `*.suffix`");
    each(&["http", "allow_hosts"], &config.http.allow_hosts, &is_host, "a host");
    let want = "an origin such as `https://app.example.com`";
    each(&["http", "allow_origins"], &config.http.allow_origins, &is_origin, want);
    each(&["http", "cors", "allow_origins"], &config.http.cors.allow_origins, &is_origin, want);
    if !is_host(config.host.as_str()) {
        problems.add(Some(root.place(&["host"])), "`host` must be an address or a host name");
    }
}

fn check_tokens(config: &Config, root: &Node, problems: &mut Problems) -> Vec<String> {
    let mut notes = Vec::new();
    let mut names = BTreeMap::new();
    for (index, token) in config.auth.tokens.iter().enumerate() {
        let place = root.place(&["auth", "tokens", &index.to_string()]);
        let (name, chars) = (&token.name, token.token.0.reveal().chars().count());
        if names.insert(name.as_str(), index).is_some() {
            problems.add(Some(place), format!("a second token is called `{name}`; rename one"));
        }
        if chars == 0 {
            problems.add(Some(place), format!("the token of `{name}` is empty"));
        } else if chars < TOKEN_CHARS_GOOD {
            notes.push(format!(
                "line {}: the token of `{name}` is shorter than {TOKEN_CHARS_GOOD} characters and could be guessed",
                place.line
            ));
        }
    }
    notes
}
