//! What a tool is called, where its name puts it, and which upstreams would offer it.

use catalog::{Catalogue, infer_namespace};
use model::fault::one_line;
use serde_json::json;

use super::super::context::Context;
use super::super::error::CliError;
use crate::assemble;
use crate::config::{LogLevel, Overrides};

/// Every name of every tool: all of them are taken for the tool, wherever one is named (C1).
pub(super) fn ids(context: &Context, catalogue: &Catalogue) -> Result<(), CliError> {
    let entries = catalogue.entries();
    if context.out.is_json() {
        let named =
            entries.iter().map(|tool| json!({"shown_name": tool.shown_name, "ids": tool.item.ids}));
        return context.out.json(&named.collect::<Vec<_>>());
    }
    let rows = entries.iter().map(|tool| {
        let ids = &tool.item.ids;
        let capability = ids.capability.as_ref().map(ToString::to_string).unwrap_or_default();
        vec![
            tool.shown_name.clone(),
            ids.legacy.clone(),
            ids.canonical.clone(),
            ids.wire.clone(),
            capability,
        ]
    });
    let columns = ["tool", "legacy", "canonical", "wire", "capability"];
    context.out.table(&columns, &rows.collect::<Vec<_>>())
}

/// Where a name puts a tool for which nobody configured a namespace (CW-13).
pub(super) fn namespace(context: &Context, name: &str) -> Result<(), CliError> {
    let namespace = infer_namespace(name);
    if context.out.is_json() {
        return context.out.json(&json!({"name": name, "namespace": namespace}));
    }
    context.out.line(&namespace)
}

/// What `include` and `exclude` of each upstream make of a name. Nothing is started.
pub(super) fn explain(context: &Context, name: &str) -> Result<(), CliError> {
    let loaded = context.start(LogLevel::Warn, Overrides::default())?;
    let judged: Vec<(String, bool, &str)> = loaded
        .config
        .upstreams
        .iter()
        .map(|(upstream, settings)| {
            let filter = assemble::filter(settings);
            let accepted = settings.enabled && filter.accepts(name);
            let why = match (settings.enabled, accepted, settings.include.is_some()) {
                (false, ..) => "the upstream is not enabled",
                (true, true, true) => "`include` names it",
                (true, true, false) => "nothing leaves it out",
                (true, false, _) if filter.excludes(name) => "`exclude` names it",
                (true, false, _) => "`include` does not name it",
            };
            (upstream.to_string(), accepted, why)
        })
        .collect();
    if context.out.is_json() {
        let row = |(upstream, accepts, why): &(String, bool, &str)| json!({"upstream": upstream, "accepts": accepts, "why": why});
        let rows: Vec<_> = judged.iter().map(row).collect();
        return context.out.json(&json!({"name": name, "upstreams": rows}));
    }
    if judged.is_empty() {
        context
            .out
            .note(&format!("no upstream is configured; `{}` is nobody's", one_line(name, 100)));
    }
    let word = |accepts: bool| if accepts { "offered" } else { "left out" };
    let rows: Vec<Vec<String>> = judged
        .into_iter()
        .map(|(upstream, accepts, why)| vec![upstream, word(accepts).to_owned(), why.to_owned()])
        .collect();
    context.out.table(&["upstream", "if listed", "why"], &rows)
}
