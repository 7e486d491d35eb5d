//! Makes upstreams of entries: which keys go with which kind, and what each kind cannot do without.

use std::collections::BTreeMap;
use std::time::Duration;

use model::Secret;

use super::text::{Hidden, Text};
use super::upstream::{Entry, Kind, OutputRules, Target, Upstream};

/// A key of the entry, or nothing for the entry as a whole, and what is wrong there.
pub(super) type Complaint = (Option<&'static str>, String);

/// The upstream an entry describes, or all that is wrong with it.
pub(super) fn fit(entry: Entry) -> Result<Upstream, Vec<Complaint>> {
    let kind = kind_of(&entry).map_err(|complaint| vec![complaint])?;
    let mut complaints = strangers(&entry, kind);
    complaints.extend(addresses(&entry));
    complaints.extend(headers(&entry));
    complaints.extend(unbound(&entry, kind));
    let rest = Upstream {
        namespace: entry.namespace.clone(),
        manifest: entry.manifest.clone(),
        bindings: entry.bindings.clone().unwrap_or_default(),
        timeout: entry.timeout_ms.map(Duration::from_millis),
        tool_timeouts: entry.tool_timeouts_ms.clone().map(durations).unwrap_or_default(),
        protocol: entry.protocol.unwrap_or_default(),
        enabled: entry.enabled.unwrap_or(true),
        required: entry.required.unwrap_or_default(),
        share: entry.share.unwrap_or_default(),
        idle_stop: entry.idle_stop_ms.map(Duration::from_millis),
        include: entry.include.clone(),
        exclude: entry.exclude.clone().unwrap_or_default(),
        output: OutputRules {
            require_structured: entry.require_structured,
            on_violation: entry.on_violation,
            sanitise: entry.sanitise,
        },
        drift: entry.drift,
        ..Upstream::new(Target::Demo)
    };
    match target(entry, kind) {
        Ok(target) if complaints.is_empty() => Ok(Upstream { target, ..rest }),
        Ok(_) => Err(complaints),
        Err(complaint) => {
            complaints.push(complaint);
            Err(complaints)
        }
    }
}

/// A binding adds to a manifest; the demo brings its own.
fn unbound(entry: &Entry, kind: Kind) -> Option<Complaint> {
    let bare = entry.manifest.is_none() && kind != Kind::Demo;
    let message = "has `bindings` and no `manifest` that they add to; name that, too";
    (entry.bindings.is_some() && bare).then(|| (Some("bindings"), message.to_owned()))
}

fn durations(ms: BTreeMap<String, u64>) -> BTreeMap<String, Duration> {
    ms.into_iter().map(|(tool, ms)| (tool, Duration::from_millis(ms))).collect()
}

fn kind_of(entry: &Entry) -> Result<Kind, Complaint> {
    match (entry.kind, &entry.command, &entry.url) {
        (_, Some(_), Some(_)) => {
            Err((Some("url"), "has both `command` and `url`; keep one".to_owned()))
        }
        (Some(kind), _, _) => Ok(kind),
        (None, Some(_), None) => Ok(Kind::Stdio),
        (None, None, Some(_)) => Ok(Kind::Http),
        (None, None, None) => Err((None, "needs `command`, `url` or `type`".to_owned())),
    }
}

fn strangers(entry: &Entry, kind: Kind) -> Vec<Complaint> {
    use Kind::{Cassette, Http, OpenApi, Sse, Stdio, Stub};
    let table: [(&'static str, bool, &[Kind]); 13] = [
        ("command", entry.command.is_some(), &[Stdio]),
        ("args", entry.args.is_some(), &[Stdio]),
        ("env", entry.env.is_some(), &[Stdio]),
        ("env_file", entry.env_file.is_some(), &[Stdio]),
        ("cwd", entry.cwd.is_some(), &[Stdio]),
        ("idle_stop_ms", entry.idle_stop_ms.is_some(), &[Stdio]),
        ("share", entry.share.is_some(), &[Stdio, Http, Sse]),
        ("url", entry.url.is_some(), &[Http, Sse]),
        ("headers", entry.headers.is_some(), &[Http, Sse, OpenApi]),
        ("tools", entry.tools.is_some(), &[Stub]),
        ("spec", entry.spec.is_some(), &[OpenApi]),
        ("base_url", entry.base_url.is_some(), &[OpenApi]),
        ("file", entry.file.is_some(), &[Cassette]),
    ];
    let stranger = |(key, present, kinds): &(&'static str, bool, &[Kind])| {
        let message = format!("has `{key}`, which does not go with type `{}`", word(kind));
        (*present && !kinds.contains(&kind)).then_some((Some(*key), message))
    };
    table.iter().filter_map(stranger).collect()
}

const fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Stdio => "stdio",
        Kind::Http => "http",
        Kind::Sse => "sse",
        Kind::Stub => "stub",
        Kind::Demo => "demo",
        Kind::OpenApi => "openapi",
        Kind::Cassette => "cassette",
    }
}

fn target(entry: Entry, kind: Kind) -> Result<Target, Complaint> {
    let headers = secrets(entry.headers);
    let needs = |key| (None, format!("of type `{}` needs `{key}`", word(kind)));
    match kind {
        Kind::Stdio => Ok(Target::Stdio {
            command: entry.command.ok_or_else(|| needs("command"))?,
            args: entry.args.unwrap_or_default(),
            env: secrets(entry.env),
            env_file: entry.env_file,
            cwd: entry.cwd,
        }),
        Kind::Http => Ok(Target::Http { url: entry.url.ok_or_else(|| needs("url"))?, headers }),
        Kind::Sse => Ok(Target::Sse { url: entry.url.ok_or_else(|| needs("url"))?, headers }),
        Kind::Stub => Ok(Target::Stub { tools: entry.tools.ok_or_else(|| needs("tools"))? }),
        Kind::Demo => Ok(Target::Demo),
        Kind::OpenApi => Ok(Target::OpenApi {
            spec: entry.spec.ok_or_else(|| needs("spec"))?,
            base_url: entry.base_url,
            headers,
        }),
        Kind::Cassette => Ok(Target::Cassette { file: entry.file.ok_or_else(|| needs("file"))? }),
    }
}

fn secrets(hidden: Option<BTreeMap<String, Hidden>>) -> BTreeMap<String, Secret> {
    hidden.unwrap_or_default().into_iter().map(|(name, value)| (name, value.0)).collect()
}

fn addresses(entry: &Entry) -> impl Iterator<Item = Complaint> {
    let pairs = [("url", entry.url.as_ref()), ("base_url", entry.base_url.as_ref())];
    pairs.into_iter().filter_map(|(key, url)| {
        let why = url_trouble(url?)?;
        Some((Some(key), format!("has a `{key}` that {why}")))
    })
}

/// What is wrong with an address; never shows it.
pub(super) fn url_trouble(url: &Text) -> Option<&'static str> {
    let Ok(uri) = url.as_str().parse::<http::Uri>() else {
        return Some("is not a URL");
    };
    let Some(authority) = uri.authority() else {
        return Some("does not begin with `http://` or `https://`");
    };
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Some("does not begin with `http://` or `https://`");
    }
    if authority.as_str().contains('@') {
        return Some("holds a user name or password; send an `Authorization` header instead");
    }
    authority.host().is_empty().then_some("names no host")
}

fn headers(entry: &Entry) -> Vec<Complaint> {
    let headers = entry.headers.iter().flatten();
    let trouble = |(name, value): (&String, &Hidden)| {
        let why = if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
            "is not a header name"
        } else if http::HeaderValue::from_str(value.0.reveal()).is_err() {
            "has a value no header can carry"
        } else {
            return None;
        };
        Some((Some("headers"), format!("has a header `{name}` that {why}")))
    };
    headers.filter_map(trouble).collect()
}
