//! `toolgate tools diff` and `accept`: what upstreams list now against what was accepted.
//!
//! Everything shown here came from an upstream that may mean harm: each character that a terminal
//! could act on, or that an eye cannot see, is written out.

use std::collections::BTreeMap;

use catalog::drift::{Change, Drift, Name, items, pins_of, review};
use model::fault::one_line;
use model::{ItemKind, Pin, UpstreamName};
use serde_json::{Value, json};
use store::Store;

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use crate::assemble::{self, Listed};
use crate::config::Config;

/// One value in a line of the diff.
const VALUE_CHARS: usize = 300;

/// What each upstream lists now, with its drifts.
type Drifts = BTreeMap<UpstreamName, (Listed, BTreeMap<Name, Drift>)>;

pub(super) async fn diff(context: &Context, config: &Config) -> Result<(), CliError> {
    let store = context.existing_store(config).await?;
    let drifts = drifts(config, &store).await?;
    store.close().await;
    if context.out.is_json() {
        return context.out.json(&as_json(&drifts));
    }
    let lines: Vec<String> = drifts.iter().flat_map(lines).collect();
    if lines.is_empty() {
        return context.out.line("everything is as it was accepted");
    }
    lines.iter().try_for_each(|line| context.out.line(line))
}

/// Takes what is listed now as accepted, for these names or for all.
pub(super) async fn accept(
    context: &Context,
    config: &Config,
    tools: &[String],
    all: bool,
) -> Result<(), CliError> {
    if all != tools.is_empty() {
        return Err(CliError::usage("name the tools to accept, or pass --all")
            .hint("`toolgate tools diff` shows what differs"));
    }
    let store = context.existing_store(config).await?;
    let drifts = drifts(config, &store).await?;
    let chosen = |upstream: &UpstreamName, (_, name): &Name| {
        all || tools.iter().any(|tool| tool == name || *tool == format!("{upstream}/{name}"))
    };
    let mut accepted = Vec::new();
    for (upstream, ((definitions, extras), drifts)) in &drifts {
        let mut listed = pins_of(upstream, &items(definitions, extras));
        let names: Vec<&Name> = drifts.keys().filter(|name| chosen(upstream, name)).collect();
        let keep: Vec<Pin> = names.iter().filter_map(|name| listed.remove(*name)).collect();
        let gone = names.iter().filter(|name| drifts.get(**name) == Some(&Drift::Removed));
        let gone: Vec<Name> = gone.map(|name| (*name).clone()).collect();
        accepted.extend(names.iter().map(|name| label(upstream, name)));
        store.keep_pins(keep).await?;
        store.drop_pins(upstream, gone).await?;
    }
    store.close().await;
    if accepted.is_empty() && !all {
        let message = "none of these differs from what was accepted";
        return Err(
            CliError::new(Exit::Failure, message).hint("`toolgate tools diff` shows what differs")
        );
    }
    if context.out.is_json() {
        return context.out.json(&json!({"accepted": accepted}));
    }
    accepted
        .iter()
        .try_for_each(|tool| context.out.line(&format!("accepted {}", escaped(tool))))?;
    context.out.note("a running gate takes this up within seconds");
    Ok(())
}

async fn drifts(config: &Config, store: &Store) -> Result<Drifts, CliError> {
    let pins = store.pins().await.map_err(CliError::from)?;
    let mut drifts = BTreeMap::new();
    for (upstream, listed) in assemble::listed(config).await? {
        let own: Vec<Pin> = pins.iter().filter(|pin| pin.upstream == upstream).cloned().collect();
        let review = review(&upstream, &own, &items(&listed.0, &listed.1));
        drifts.insert(upstream, (listed, review.drifts));
    }
    Ok(drifts)
}

fn lines(
    (upstream, (_, drifts)): (&UpstreamName, &(Listed, BTreeMap<Name, Drift>)),
) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, drift) in drifts {
        let name = escaped(&one_line(&label(upstream, name), 200));
        lines.push(format!("{name}: {} ({})", drift.as_str(), drift.grade()));
        lines.extend(drift.changes().iter().map(change_line));
    }
    lines
}

/// A tool by its name alone, anything else with its kind.
fn label(upstream: &UpstreamName, (kind, name): &Name) -> String {
    match kind {
        ItemKind::Tool => format!("{upstream}/{name}"),
        kind => format!("{} {upstream}/{name}", kind.as_str()),
    }
}

fn change_line(change: &Change) -> String {
    let shown = |value: &Option<Value>| match value {
        None => "nothing".to_owned(),
        Some(value) => escaped(&cut(&value.to_string())),
    };
    let (place, before, after) =
        (escaped(&cut(&change.pointer)), shown(&change.before), shown(&change.after));
    format!("  {place}: {before} -> {after} ({})", change.grade)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(VALUE_CHARS) {
        None => text.to_owned(),
        Some(_) => text.chars().take(VALUE_CHARS).chain(['…']).collect(),
    }
}

/// Text in which nothing is hidden: control, direction and invisible characters are spelled out.
fn escaped(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c,
                '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}'
                | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
                | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
    };
    let mut escaped = String::new();
    for c in text.chars() {
        if hidden(c) {
            escaped.extend(c.escape_unicode());
        } else {
            escaped.push(c);
        }
    }
    escaped
}

fn as_json(drifts: &Drifts) -> Value {
    let rows = drifts.iter().flat_map(|(upstream, (_, drifts))| {
        drifts.iter().map(move |((kind, name), drift)| {
            json!({
                "upstream": upstream,
                "kind": kind,
                "name": name,
                "drift": drift.as_str(),
                "grade": drift.grade(),
                "changes": drift.changes(),
            })
        })
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::drift::diff;

    /// A1, A2: what could deceive a reader is spelled out.
    #[test]
    fn hidden_characters_are_spelled_out() {
        let check = |text: &str, expected: &str| assert_eq!(escaped(text), expected);
        check("plain – ä 日", "plain – ä 日");
        check("\u{1b}[2J", "\\u{1b}[2J");
        check("a\u{202e}b\u{200b}\u{e0041}", "a\\u{202e}b\\u{200b}\\u{e0041}");
        check("\r\n", "\\u{d}\\u{a}");
    }

    #[test]
    fn a_change_is_one_line() {
        let before = json!({"name": "t", "inputSchema": {"properties": {"q": {"type": "string"}}}});
        let mut after = before.clone();
        after["inputSchema"]["properties"]["q"]["type"] = json!("number");
        let changes = diff(&before, &after);
        assert_eq!(
            change_line(&changes[0]),
            "  /inputSchema/properties/q/type: \"string\" -> \"number\" (contract change)"
        );
    }
}
