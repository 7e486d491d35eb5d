//! One configured upstream becomes one connector. Files are read here; nothing is contacted.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use auth::Credentials;
use manifest::AdapterManifest;
use model::{Clock, Code, Fault, Secret, UpstreamName};
use serde_json::Value;
use upstream::cassette::Cassette;
use upstream::demo::Demo;
use upstream::http::{Http, Road};
use upstream::mcp::{Age, Revision};
use upstream::openapi::OpenApi;
use upstream::stdio::{self, Guard, Stdio};
use upstream::stub::Stub;
use upstream::{Connector, Egress, Filter, Member, Split};

use super::schemas::Schemas;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::config::{
    BindingFile, ConfigPath, ManifestFile, Problem, Protocol, Share, StubTools, Target, Text,
    Upstream,
};

/// The demo upstream's state, beside the records.
const DEMO_FILE: &str = "demo.json";

/// The connector of one upstream. Without `data`, a demo upstream forgets what it is told.
/// What all connectors share.
pub(super) struct World<'a> {
    pub(super) data: Option<&'a Path>,
    pub(super) guard: &'a Arc<Guard>,
    pub(super) egress: &'a Egress,
}

pub(super) fn member(
    name: &UpstreamName,
    upstream: &Upstream,
    world: &World<'_>,
) -> Result<Member, CliError> {
    let connector = shared(upstream, world).map_err(|error| CliError {
        message: format!("upstream `{name}`: {}", error.message),
        ..error
    })?;
    Ok(Member {
        timeout: upstream.timeout,
        tool_timeouts: upstream.tool_timeouts.clone(),
        filter: filter(upstream),
        ..Member::new(connector)
    })
}

/// Which of its tools an upstream offers.
pub(crate) fn filter(upstream: &Upstream) -> Filter {
    let own = |texts: &Vec<Text>| texts.iter().map(|text| text.as_str().to_owned()).collect();
    Filter { include: upstream.include.as_ref().map(own), exclude: own(&upstream.exclude) }
}

/// The manifest of one upstream, with its bindings and the schemas it refers to; the demo brings its
/// own.
pub(super) fn manifest(upstream: &Upstream) -> Result<Option<AdapterManifest>, CliError> {
    let (shown, text) = match (&upstream.manifest, &upstream.target) {
        (Some(path), _) => (path.shown(), read(path)?),
        (None, Target::Demo) => ("the demo's manifest", Demo::manifest().to_owned()),
        (None, _) => return Ok(None),
    };
    let refuse = |problem: Problem| wrong(problem.to_string());
    let mut file = ManifestFile::read(shown, &text).map_err(refuse)?;
    for path in &upstream.bindings {
        let binding = BindingFile::read(path.shown(), &read(path)?).map_err(refuse)?;
        let bound = file.bind(&binding);
        let first = bound.err().and_then(|unbound| unbound.into_iter().next());
        first.map_or(Ok(()), |unbound| Err(refuse(unbound.problem)))?;
    }
    if let Some(path) = &upstream.manifest {
        let schemas = Schemas::of(path.as_path(), path.shown(), None);
        file.pin(|reference| schemas.look(reference)).map_err(refuse)?;
    }
    Ok(Some(file.manifest))
}

/// The text of a file the configuration names.
pub(super) fn read(path: &ConfigPath) -> Result<String, CliError> {
    std::fs::read_to_string(path.as_path())
        .map_err(|error| wrong(format!("`{}` cannot be read: {error}", path.shown())))
}

/// One connector for all callers, or one for each.
fn shared(upstream: &Upstream, world: &World<'_>) -> Result<Arc<dyn Connector>, CliError> {
    let first = connector(upstream, world)?;
    if upstream.share == Share::All {
        return Ok(first);
    }
    let (upstream, guard) = (upstream.clone(), Arc::clone(world.guard));
    let egress = world.egress.clone();
    let make = move || {
        let world = World { data: None, guard: &guard, egress: &egress };
        let made = connector(&upstream, &world);
        made.map_err(|error| Fault::new(Code::UpstreamUnavailable, error.message))
    };
    Ok(Arc::new(Split::new(make).map_err(|fault| wrong(fault.message))?))
}

fn connector(upstream: &Upstream, world: &World<'_>) -> Result<Arc<dyn Connector>, CliError> {
    let World { data, guard, egress } = *world;
    let age = pinned(upstream.protocol, manifest(upstream)?.as_ref());
    Ok(match &upstream.target {
        Target::Demo => {
            let file = data.map(|data| data.join(DEMO_FILE));
            Arc::new(Demo::new(Clock::System, file).map_err(|error| wrong(error.to_string()))?)
        }
        Target::Stub { tools } => Arc::new(Stub::new(stub_tools(tools)?)),
        Target::Stdio { command, args, env, cwd, .. } => Arc::new(Stdio::new(stdio::Config {
            command: command.as_path().to_string_lossy().into_owned(),
            args: args.iter().map(|arg| arg.as_str().to_owned()).collect(),
            env: env.clone(),
            cwd: cwd.as_ref().map(|cwd| cwd.as_path().to_owned()),
            age,
            idle: upstream.idle_stop,
            guard: Arc::clone(guard),
        })),
        Target::Http { url, headers } => {
            let headers = credentials(headers)?;
            let connector = Http::through(egress, Road::Any, url.as_str(), &headers, age);
            Arc::new(connector.map_err(|_fault| wrong(format!("`{url}` is no usable address")))?)
        }
        Target::Sse { url, headers } => {
            let headers = credentials(headers)?;
            let connector = Http::through(egress, Road::Old, url.as_str(), &headers, age);
            Arc::new(connector.map_err(|_fault| wrong(format!("`{url}` is no usable address")))?)
        }
        Target::Cassette { file } => {
            let cassette = Cassette::read(&read(file)?);
            Arc::new(cassette.map_err(|error| wrong(format!("{}: {error}", file.shown())))?)
        }
        Target::OpenApi { spec, base_url, headers } => {
            let document: Value = serde_json::from_str(&read(spec)?)
                .map_err(|error| wrong(format!("{}: not JSON: {error}", spec.shown())))?;
            let document = openapi::Document::read(&document)
                .map_err(|error| wrong(format!("{}: {error}", spec.shown())))?;
            let base = base_url.as_ref().map(Text::as_str);
            let connector = OpenApi::new(document, base, credentials(headers)?)
                .and_then(|connector| connector.through(egress));
            Arc::new(connector.map_err(|fault| wrong(fault.message))?)
        }
    })
}

/// As configured; else as its manifest pins it (CO-61); else as it answers. Whether a server keeps to
/// the pin is seen when it lists its tools.
fn pinned(protocol: Protocol, manifest: Option<&AdapterManifest>) -> Age {
    let age = age(protocol);
    let pin = manifest.and_then(|manifest| manifest.protocol_version.as_deref()?.parse().ok());
    pin.filter(|_| age == Age::Auto).map_or(age, Age::Pinned)
}

fn age(protocol: Protocol) -> Age {
    match protocol {
        Protocol::Auto => Age::Auto,
        Protocol::V2024_11_05 => Age::Pinned(Revision::V2024_11_05),
        Protocol::V2025_03_26 => Age::Pinned(Revision::V2025_03_26),
        Protocol::V2025_06_18 => Age::Pinned(Revision::V2025_06_18),
        Protocol::V2025_11_25 => Age::Pinned(Revision::V2025_11_25),
        Protocol::V2026_07_28 => Age::Pinned(Revision::V2026_07_28),
    }
}

fn stub_tools(tools: &StubTools) -> Result<Vec<Value>, CliError> {
    let path = match tools {
        StubTools::Inline(tools) => return Ok(tools.clone()),
        StubTools::File(path) => path,
    };
    let bad = |why: String| wrong(format!("{}: {why}", path.shown()));
    let value: Value =
        serde_json::from_str(&read(path)?).map_err(|error| bad(format!("not JSON: {error}")))?;
    let list = match value {
        Value::Array(list) => list,
        Value::Object(mut object) => match object.remove("tools") {
            Some(Value::Array(list)) => list,
            _ => return Err(bad("needs a list of tool definitions under `tools`".to_owned())),
        },
        _ => return Err(bad("must be a list of tool definitions".to_owned())),
    };
    Ok(list)
}

fn credentials(headers: &BTreeMap<String, Secret>) -> Result<Credentials, CliError> {
    let headers = headers.iter().map(|(name, value)| (name.clone(), value.clone()));
    Credentials::from_headers(headers).map_err(|error| wrong(error.to_string()))
}

fn wrong(message: String) -> CliError {
    CliError::new(Exit::Config, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// CO-19, CO-61: a deployment that pins a revision is spoken to in that one.
    #[test]
    fn a_manifest_pins_a_revision() {
        let check = |configured: Protocol, version: Option<&str>, wanted: Age| {
            let manifest = json!({
                "adapter_id": "a", "name": "a", "owner_role": "ops", "protocol": "mcp",
                "capabilities": [], "protocol_version": version,
            });
            let manifest = manifest::from_value(manifest).unwrap();
            assert_eq!(pinned(configured, Some(&manifest)), wanted, "{configured:?} {version:?}");
        };
        check(Protocol::Auto, None, Age::Auto);
        check(Protocol::Auto, Some("2025-11-25"), Age::Pinned(Revision::V2025_11_25));
        check(Protocol::Auto, Some("2026-07-28"), Age::Pinned(Revision::V2026_07_28));
        check(Protocol::Auto, Some("2099-01-01"), Age::Auto);
        check(Protocol::Auto, Some("2024-11-05"), Age::Pinned(Revision::V2024_11_05));
        let newest = Age::Pinned(Revision::V2026_07_28);
        check(Protocol::V2026_07_28, Some("2024-11-05"), newest);
        assert_eq!(pinned(Protocol::Auto, None), Age::Auto);
    }
}
