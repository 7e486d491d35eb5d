//! The rules of tool design (CO-99..107, CO-228..234), as far as files can show a breach.

use std::collections::BTreeSet;

use model::Severity::{Error, Info, Warning};
use serde_json::Value;

use super::{Bound, Remark, command};
use crate::adapter::AdapterManifest;
use crate::capability::TaskSupport;

/// Names that say nothing about a business operation.
const GENERIC: &[&str] = &[
    "action",
    "admin",
    "admin_action",
    "api",
    "call",
    "command",
    "do",
    "do_it",
    "exec",
    "execute",
    "handle",
    "invoke",
    "perform",
    "process",
    "query",
    "request",
    "run",
    "run_command",
    "run_query",
    "run_sql",
    "shell",
    "tool",
];
/// Names of tools that pass anything on.
const PASSING: &[&str] =
    &["api_call", "api_request", "call_api", "fetch_url", "graphql", "http_request", "rest_call"];
/// Words by which a description tries to be policy.
const POLICY_WORDS: &[&str] = &[
    "ask the user before",
    "do not call",
    "do not use unless",
    "must be approved",
    "must not be",
    "never call",
    "only admins",
    "only call",
    "only for administrators",
    "requires approval",
    "with permission",
];
/// Words of work that takes long.
const LONG_WORDS: &[&str] =
    &["backup", "batch", "bulk", "crawl", "export", "migrate", "reindex", "scan", "train"];
const LONG_MS: u64 = 60_000;
/// Rounds of a model with tools within one call; more is an agent.
const ROUNDS_MAX: u32 = 10;
/// Scopes nobody should hold from the start.
const BROAD: &[&str] = &["admin", "all", "full", "full_access", "root", "write"];

/// What the manifest as a whole shows.
pub(super) fn whole(manifest: &AdapterManifest, tools: &[Value]) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = broad_scopes(manifest).collect();
    remarks.extend(command::of(manifest));
    remarks.extend(hidden_agent(manifest));
    let declared: BTreeSet<&str> =
        manifest.capabilities.iter().map(|capability| capability.tool.as_str()).collect();
    let listed: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let undeclared = listed.iter().filter(|name| !declared.contains(*name)).count();
    if undeclared > 0 {
        let message = format!(
            "{undeclared} of {} tools are not declared; production does not show them",
            listed.len()
        );
        remarks.push(Remark::new(Info, "undeclared", "capabilities", message));
    }
    remarks
}

/// What one capability and its tool show.
pub(super) fn of(bound: &Bound<'_>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    remarks.extend(generic(bound));
    remarks.extend(blocking(bound));
    remarks.extend(policy_in_words(bound));
    remarks.extend(mixed(bound));
    remarks.extend(dialect(bound));
    remarks.extend(free_form(bound));
    remarks.extend(looser(bound));
    remarks.extend(evidence_unlisted(bound));
    remarks
}

/// A capability that is bound to nothing its upstream lists.
pub(super) fn unbound(bound: &Bound<'_>) -> Option<Remark> {
    let tool = &bound.capability.tool;
    let message = format!("`{}` is bound to `{tool}`, which is not listed", bound.id());
    let missing = bound.definition.is_none();
    missing.then(|| Remark::new(Error, "tool-missing", &bound.below("tool"), message))
}

fn generic(bound: &Bound<'_>) -> Option<Remark> {
    let (tool, at) = (bound.capability.tool.as_str(), bound.below("tool"));
    let name = tool.to_ascii_lowercase().replace(['-', '.', ' '], "_");
    if PASSING.contains(&name.as_str()) || passes_on(bound) {
        let message = format!("`{tool}` passes anything on: offer narrow operations in its place");
        return Some(Remark::new(Error, "generic-tool", &at, message));
    }
    let message = format!("`{tool}` names no business operation: call it by what it does");
    GENERIC.contains(&name.as_str()).then(|| Remark::new(Error, "generic-name", &at, message))
}

/// Whether its parameters are those of any request: an address, or a method with a path or body.
fn passes_on(bound: &Bound<'_>) -> bool {
    let has = |name: &str| {
        let schema = bound.input_schema();
        schema.is_some_and(|schema| schema["properties"].get(name).is_some())
    };
    let address = ["url", "path", "endpoint"].into_iter().any(has);
    address && (has("method") || has("http_method") || has("body"))
}

fn blocking(bound: &Bound<'_>) -> Option<Remark> {
    let capability = bound.capability;
    let waits =
        !matches!(capability.task_support, Some(TaskSupport::Optional | TaskSupport::Required));
    let words = capability.tool.to_ascii_lowercase();
    let is_long = capability.limits.timeout_ms.is_some_and(|ms| ms > LONG_MS)
        || LONG_WORDS.iter().any(|word| words.split(['_', '-', '.']).any(|part| part == *word));
    let message = format!("`{}` can take long and blocks: set `task_support`", bound.id());
    (waits && is_long).then(|| Remark::new(Warning, "blocking-job", &bound.at, message))
}

fn policy_in_words(bound: &Bound<'_>) -> Option<Remark> {
    let text = bound.definition?.get("description")?.as_str()?.to_lowercase();
    let word = POLICY_WORDS.iter().find(|word| text.contains(**word))?;
    let message = format!(
        "the description of `{}` says `{word}`, which binds nobody: write it as policy",
        bound.capability.tool
    );
    Some(Remark::new(Warning, "policy-in-description", &bound.at, message))
}

fn mixed(bound: &Bound<'_>) -> Option<Remark> {
    let claims = bound.definition?.get("annotations")?.get("readOnlyHint")?.as_bool()?;
    let message = format!(
        "`{}` is declared to {}, and its server claims otherwise: find out which, or split it",
        bound.id(),
        if claims { "write" } else { "read" }
    );
    let differs = claims == bound.capability.is_write();
    differs.then(|| Remark::new(Warning, "read-write-mixed", &bound.below("class"), message))
}

fn dialect(bound: &Bound<'_>) -> Option<Remark> {
    let dialect = bound.input_schema()?.get("$schema")?.as_str()?;
    let message = format!("`{}` uses `{dialect}`; 2020-12 is the default", bound.capability.tool);
    (!dialect.contains("2020-12")).then(|| Remark::new(Info, "old-dialect", &bound.at, message))
}

/// Arguments of a write that nothing bounds.
fn free_form(bound: &Bound<'_>) -> Vec<Remark> {
    let schema = bound.input_schema().filter(|_| bound.capability.is_write());
    let properties = schema.and_then(|schema| schema["properties"].as_object());
    let free = properties.into_iter().flatten().filter_map(|(name, schema)| {
        let is_bound = bound.capability.arg_constraints.contains_key(name);
        let severity = freedom(schema).filter(|_| !is_bound)?;
        let message = format!(
            "`{}` takes any `{name}`: bound it in the schema or in `arg_constraints`",
            bound.id()
        );
        Some(Remark::new(severity, "free-form", &bound.below("arg_constraints"), message))
    });
    let mut remarks: Vec<Remark> = free.collect();
    if schema.is_some() && properties.is_none_or(serde_json::Map::is_empty) {
        let message = format!("`{}` takes any arguments at all: name them", bound.id());
        remarks.push(Remark::new(Error, "free-form", &bound.at, message));
    }
    remarks
}

fn freedom(schema: &Value) -> Option<model::Severity> {
    const BOUNDS: &[&str] =
        &["enum", "const", "pattern", "maxLength", "format", "$ref", "oneOf", "anyOf", "allOf"];
    if BOUNDS.iter().any(|key| schema.get(key).is_some()) {
        return None;
    }
    match schema["type"].as_str() {
        Some("object") if schema.get("properties").is_none() => Some(Error),
        Some("string") => Some(Warning),
        None => Some(Error),
        _ => None,
    }
}

/// Bounds that allow what the schema forbids were meant for another schema (C38).
fn looser(bound: &Bound<'_>) -> Vec<Remark> {
    let schema = bound.input_schema();
    let bounds = bound.capability.arg_constraints.iter();
    let loose = bounds.filter_map(|(name, limits)| {
        let own = schema?["properties"].get(name)?;
        let most = limits.max.zip(own["maximum"].as_f64()).filter(|(ours, theirs)| ours > theirs);
        let least = limits.min.zip(own["minimum"].as_f64()).filter(|(ours, theirs)| ours < theirs);
        let (ours, theirs) = most.or(least)?;
        let at = bound.below(&format!("arg_constraints.{name}"));
        let message =
            format!("`{name}` may be {ours} here, and {theirs} by the schema: tighten it");
        Some(Remark::new(Error, "looser-than-schema", &at, message))
    });
    loose.collect()
}

fn evidence_unlisted(bound: &Bound<'_>) -> Vec<Remark> {
    let Some(schema) = bound.output_schema() else { return Vec::new() };
    let known = |key: &&String| schema["properties"].get(key.as_str()).is_some();
    let unknown = bound.capability.evidence_keys.iter().filter(|key| !known(key));
    let remark = |key: &String| {
        let message = format!("the answer of `{}` has no `{key}` to be evidence", bound.id());
        Remark::new(Error, "evidence-unknown", &bound.below("evidence_keys"), message)
    };
    unknown.map(remark).collect()
}

fn broad_scopes(manifest: &AdapterManifest) -> impl Iterator<Item = Remark> {
    let scopes = manifest.auth.iter().flat_map(|auth| &auth.initial_scopes);
    let broad = scopes.filter(|scope| {
        let last = scope.rsplit([':', '.', '/']).next().unwrap_or_default();
        scope.contains('*') || BROAD.contains(&last)
    });
    broad.map(|scope| {
        let message =
            format!("`{scope}` is more than a beginning needs: move it to step_up_scopes");
        Remark::new(Error, "broad-scope", "auth.initial_scopes", message)
    })
}

/// Models that go on by themselves with tools are an agent, and an agent is no adapter's secret.
fn hidden_agent(manifest: &AdapterManifest) -> Option<Remark> {
    let sampling = manifest.sampling.as_ref().filter(|sampling| sampling.declared)?;
    let loops = sampling.max_iterations.is_none_or(|most| most > ROUNDS_MAX);
    let message = format!(
        "it lets a model go on by itself with tools: bound `max_iterations` to {ROUNDS_MAX}, or make it a skill"
    );
    let hidden = loops && !sampling.tools.is_empty();
    hidden.then(|| Remark::new(Error, "sampling-loop", "sampling", message))
}
