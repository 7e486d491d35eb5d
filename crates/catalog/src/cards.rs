//! The few lines a model reads before it chooses: bounded, byte-stable, without schema or address.

use std::sync::Arc;

use model::card::Safety;
use model::fault::one_line;
use model::{Card, Generation, Hints};
use serde_json::{Value, json};

use crate::entry::Entry;
use crate::{limits, tokens};

/// Best score first, then by id; entries without a score come last.
pub fn make_cards(
    scored: &[(Arc<Entry>, Option<f64>)],
    max_cards: usize,
    generation: Generation,
) -> Vec<Card> {
    let mut cards: Vec<Card> =
        scored.iter().map(|(entry, score)| dealt(entry, *score, generation)).collect();
    let rank = |card: &Card| card.score.unwrap_or(f64::NEG_INFINITY);
    cards.sort_by(|a, b| rank(b).total_cmp(&rank(a)).then_with(|| a.id.cmp(&b.id)));
    cards.truncate(max_cards);
    cards
}

/// The cards as lines of text, one a card. A line does not say its place: the same card is the
/// same bytes wherever it stands.
pub fn render_text(cards: &[Card]) -> String {
    cards.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What a model reads of one card: at most [`limits::CARD_TOKENS_MAX`] tokens.
pub fn line(card: &Card) -> String {
    compose(&card.signature, &card.description, card.safety)
}

/// The card as JSON for programs: what says nothing (zero, empty, the id once more) is left out.
pub fn structured(card: &Card) -> Value {
    let mut fields = json!({
        "id": card.id,
        "signature": card.signature,
        "description": card.description,
        "namespace": card.namespace,
        "tags": card.tags,
        "side_effects": card.side_effects,
        "cost_hint": card.cost_hint,
        "safety": card.safety,
        "score": card.score,
    });
    if let Some(fields) = fields.as_object_mut() {
        let silent = |value: &Value| match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(list) => list.is_empty(),
            Value::Number(number) => number.as_f64() == Some(0.0),
            _ => false,
        };
        fields.retain(|_, value| !silent(value));
    }
    fields
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

/// Draws an entry's card, once a generation. Everything but score and generation is final here.
pub(crate) fn draw(entry: &Entry) -> Card {
    let item = &entry.item;
    let schema = item.input_schema.value();
    let (signature, safety) = (signature(&entry.shown_name, &schema), safety(&item.hints));
    Card {
        id: entry.shown_name.clone(),
        name: one_line(&item.name, limits::CARD_NAME_CHARS_MAX),
        description: description(&signature, &item.description, safety),
        tags: tags(&item.tags),
        kind: item.kind,
        namespace: item.namespace.clone(),
        signature,
        has_schema: schema.as_object().is_some_and(|schema| !schema.is_empty()),
        score: None,
        cost_hint: item.hints.cost.unwrap_or_default(),
        side_effects: item.hints.read_only != Some(true),
        safety,
        generation: Generation::default(),
    }
}

fn dealt(entry: &Entry, score: Option<f64>, generation: Generation) -> Card {
    // Rounded, so that the bytes do not hang on the last bits of a logarithm.
    let score = score.map(|score| (score * 10_000.0).round() / 10_000.0);
    Card { score, generation, ..entry.card().clone() }
}

fn compose(signature: &str, description: &str, safety: Safety) -> String {
    let mark = match safety {
        Safety::Unknown => "",
        Safety::ReadOnly => " [read-only]",
        Safety::Destructive => " [destructive]",
    };
    let dash = if description.is_empty() { "" } else { " — " };
    format!("{signature}{dash}{description}{mark}")
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

/// As many parameters as fit, an ellipsis for the others.
fn signature(name: &str, schema: &Value) -> String {
    let params = params(schema).map(|(name, required)| {
        let name = one_line(name, limits::SIGNATURE_PARAM_CHARS_MAX);
        if required { name } else { format!("{name}?") }
    });
    let all: Vec<String> = params.take(limits::SIGNATURE_PARAMS_MAX + 1).collect();
    let costs = all.iter().map(|param| tokens::count(param) + 1);
    let room = limits::SIGNATURE_TOKENS_MAX.saturating_sub(tokens::count(name) + 2);
    let mut kept = within(room, costs).min(limits::SIGNATURE_PARAMS_MAX);
    loop {
        let rest = match (kept == 0, kept < all.len()) {
            (_, false) => "",
            (true, true) => "…",
            (false, true) => ", …",
        };
        let list = all.iter().take(kept).map(String::as_str).collect::<Vec<_>>().join(", ");
        let signature = format!("{name}({list}{rest})");
        if kept == 0 || tokens::fits(&signature, limits::SIGNATURE_TOKENS_MAX) {
            return signature;
        }
        kept -= 1;
    }
}

/// How many of the first costs there is room for.
fn within(room: usize, costs: impl Iterator<Item = usize>) -> usize {
    let mut total = 0;
    let fitting = costs.take_while(|cost| {
        total += cost;
        total <= room
    });
    fitting.count()
}

/// The longest run of whole sentences with which the line keeps to its target, else a cut within
/// the first.
fn description(signature: &str, text: &str, safety: Safety) -> String {
    let fits = |description: &str| {
        let line = compose(signature, description, safety);
        tokens::fits(&line, limits::CARD_TOKENS_TARGET)
    };
    let line = one_line(text, usize::MAX);
    if line.len() <= limits::CARD_DESCRIPTION_CHARS_MAX && fits(&line) {
        return line;
    }
    let short: String = line.chars().take(limits::CARD_DESCRIPTION_CHARS_MAX).collect();
    let whole = sentence_ends(&line, short.len()).into_iter().rev();
    let whole = whole.filter_map(|end| line.get(..end)).find(|sentences| fits(sentences));
    whole.map_or_else(
        || {
            let used = tokens::count(&compose(signature, "…", safety));
            cut(&short, limits::CARD_TOKENS_TARGET.saturating_sub(used), fits)
        },
        str::to_owned,
    )
}

/// Where sentences end within the first bytes, each as the number of bytes up to there.
fn sentence_ends(line: &str, bytes_max: usize) -> Vec<usize> {
    let stops = line.match_indices(['.', '!', '?']).map(|(at, stop)| at + stop.len());
    let ends =
        |end: &usize| line.get(*end..).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    stops.take_while(|end| *end <= bytes_max).filter(ends).collect()
}

/// As many words as there is room for with an ellipsis behind them; of a first word that is too
/// long, as many letters.
fn cut(text: &str, room: usize, fits: impl Fn(&str) -> bool) -> String {
    let ends: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).chain([text.len()]).collect();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let costs =
        starts.zip(&ends).map(|(start, end)| text.get(start..*end).map_or(0, tokens::count));
    let words = ends.iter().take(within(room, costs)).rev();
    let mut begun = words.filter_map(|end| text.get(..*end)).map(|words| format!("{words}…"));
    begun.find(|begun| fits(begun)).unwrap_or_else(|| cut_letters(text, fits))
}

fn cut_letters(text: &str, fits: impl Fn(&str) -> bool) -> String {
    let begun = |chars: usize| -> String {
        let kept: String = text.chars().take(chars).collect();
        let kept = kept.trim_end();
        if kept.is_empty() { String::new() } else { format!("{kept}…") }
    };
    let (mut fitting, mut beyond) = (0, text.chars().count());
    while beyond - fitting > 1 {
        let middle = usize::midpoint(fitting, beyond);
        if fits(&begun(middle)) { fitting = middle } else { beyond = middle }
    }
    begun(fitting)
}

#[cfg(test)]
mod tests;
