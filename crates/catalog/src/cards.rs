//! The few lines a model reads before it chooses: bounded, byte-stable, without schema or address.

use std::sync::Arc;

use model::card::Safety;
use model::fault::one_line;
use model::{Card, Generation, Hints};
use serde_json::Value;

use crate::entry::Entry;
use crate::limits;

/// Best score first, then by id; entries without a score come last.
pub fn make_cards(
    scored: &[(Arc<Entry>, Option<f64>)],
    max_cards: usize,
    generation: Generation,
) -> Vec<Card> {
    let mut cards: Vec<Card> =
        scored.iter().map(|(entry, score)| card(entry, *score, generation)).collect();
    let rank = |card: &Card| card.score.unwrap_or(f64::NEG_INFINITY);
    cards.sort_by(|a, b| rank(b).total_cmp(&rank(a)).then_with(|| a.id.cmp(&b.id)));
    cards.truncate(max_cards);
    cards
}

/// The cards as lines of text, one a card.
pub fn render_text(cards: &[Card]) -> String {
    let lines = cards.iter().enumerate().map(|(number, card)| {
        let safety = match card.safety {
            Safety::Unknown => "",
            Safety::ReadOnly => " [read-only]",
            Safety::Destructive => " [destructive]",
        };
        format!("{}. {} — {}{safety}", number + 1, card.signature, card.description)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Parameter names and whether each is required: required ones first, otherwise as written.
pub(crate) fn params(schema: &Value) -> impl Iterator<Item = (&str, bool)> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let names =
        schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let (first, last): (Vec<&str>, Vec<&str>) = names.partition(|name| required.contains(name));
    first.into_iter().map(|name| (name, true)).chain(last.into_iter().map(|name| (name, false)))
}

fn card(entry: &Entry, score: Option<f64>, generation: Generation) -> Card {
    let item = &entry.item;
    Card {
        id: entry.shown_name.clone(),
        name: one_line(&item.name, limits::CARD_NAME_CHARS_MAX),
        description: shorten(&item.description, limits::CARD_DESCRIPTION_CHARS_MAX),
        tags: tags(&item.tags),
        kind: item.kind,
        namespace: item.namespace.clone(),
        signature: signature(&entry.shown_name, &item.input_schema),
        has_schema: item.input_schema.as_object().is_some_and(|schema| !schema.is_empty()),
        // Rounded, so that the bytes do not hang on the last bits of a logarithm.
        score: score.map(|score| (score * 10_000.0).round() / 10_000.0),
        cost_hint: item.hints.cost.unwrap_or_default(),
        side_effects: item.hints.read_only != Some(true),
        safety: safety(&item.hints),
        generation,
    }
}

fn safety(hints: &Hints) -> Safety {
    match (hints.destructive, hints.read_only) {
        (Some(true), _) => Safety::Destructive,
        (_, Some(true)) => Safety::ReadOnly,
        _ => Safety::Unknown,
    }
}

fn tags(tags: &[String]) -> Vec<String> {
    let is_safety = |tag: &&String| ["read-only", "destructive"].contains(&tag.as_str());
    let others = tags.iter().filter(|tag| !is_safety(tag)).take(limits::CARD_TAGS_MAX);
    let mut kept: Vec<String> = others
        .chain(tags.iter().filter(is_safety))
        .map(|tag| one_line(tag, limits::CARD_TAG_CHARS_MAX))
        .collect();
    kept.sort();
    kept
}

fn signature(name: &str, schema: &Value) -> String {
    let written = params(schema).map(|(name, required)| {
        let name = one_line(name, limits::SIGNATURE_PARAM_CHARS_MAX);
        if required { name } else { format!("{name}?") }
    });
    let mut list: Vec<String> = written.take(limits::SIGNATURE_PARAMS_MAX + 1).collect();
    if list.len() > limits::SIGNATURE_PARAMS_MAX {
        list.truncate(limits::SIGNATURE_PARAMS_MAX);
        list.push("…".to_owned());
    }
    format!("{name}({})", list.join(", "))
}

/// The longest run of whole sentences that fits, else a cut within the first.
fn shorten(text: &str, chars_max: usize) -> String {
    let line = one_line(text, usize::MAX);
    if line.chars().nth(chars_max).is_none() {
        return line;
    }
    let chars: Vec<char> = line.chars().collect();
    let ends = |at: &usize| {
        let stop = chars.get(*at).is_some_and(|c| ".!?".contains(*c));
        stop && chars.get(at + 1) == Some(&' ')
    };
    match (0..chars_max).rev().find(ends) {
        Some(end) => chars.iter().take(end + 1).collect(),
        None => one_line(&line, chars_max),
    }
}

#[cfg(test)]
mod tests;
