//! The few lines a model reads before it chooses: bounded, byte-stable, without schema or address.

mod description;
mod shape;
mod signature;

use std::sync::Arc;

use model::card::Safety;
use model::fault::one_line;
use model::{Card, Generation, Hints};
use serde_json::{Value, json};

use crate::entry::Entry;
use crate::{limits, tokens};

pub(crate) use shape::{Shape, params};

use description::Words;
use signature::Params;

/// How much of its tool a card shows. An answer has room for so many tokens, and the best hits get
/// them first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// Parameters and words as far as they are cheap.
    Bare,
    /// Every required parameter.
    Short,
    /// Every required parameter, others too, and more words.
    Full,
}

/// Best score first, then by id; entries without a score come last. Together with `beside` tokens
/// of other text they keep to what an answer of so many cards may cost.
pub fn make_cards(
    scored: &[(Arc<Entry>, Option<f64>)],
    max_cards: usize,
    beside: usize,
    generation: Generation,
) -> Vec<Card> {
    let mut best: Vec<&(Arc<Entry>, Option<f64>)> = scored.iter().collect();
    let rank = |score: Option<f64>| rounded(score).unwrap_or(f64::NEG_INFINITY);
    best.sort_by(|(a, a_score), (b, b_score)| {
        let by_score = rank(*b_score).total_cmp(&rank(*a_score));
        by_score.then_with(|| a.shown_name.cmp(&b.shown_name))
    });
    best.truncate(max_cards);
    let forms = forms(&best, beside);
    let dealt = best.into_iter().zip(forms);
    dealt.map(|((entry, score), form)| dealt_card(entry, *score, form, generation)).collect()
}

/// The cards as lines of text, one a card. A line does not say its place.
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

/// A card's words in each form, and what a line of them costs.
#[derive(Clone, Debug)]
pub(crate) struct Drawn([Face; 3]);

#[derive(Clone, Debug)]
struct Face {
    signature: String,
    description: String,
    tokens: usize,
}

impl Drawn {
    fn face(&self, form: Form) -> &Face {
        let Self([bare, short, full]) = self;
        match form {
            Form::Bare => bare,
            Form::Short => short,
            Form::Full => full,
        }
    }
}

/// Draws what an entry's cards say, once a generation.
pub(crate) fn draw(entry: &Entry) -> Drawn {
    let params = Params::new(&entry.shown_name, entry.shape());
    let words = Words::new(&entry.item.description);
    let mark = tokens::of_word(mark(safety(&entry.item.hints)));
    let faces = [Form::Bare, Form::Short, Form::Full].map(|form| {
        let (signature, cost) = match form {
            Form::Bare => params.within(limits::SIGNATURE_TOKENS_MAX),
            Form::Short => params.with_all_required(limits::SIGNATURE_TOKENS_MAX),
            Form::Full => params.with_all_required(limits::FULL_SIGNATURE_TOKENS_MAX),
        };
        let used = cost + mark;
        let (least, words_min) = match form {
            Form::Bare => (limits::BARE_CARD_TOKENS_TARGET, 0),
            Form::Short => (limits::BARE_CARD_TOKENS_TARGET, limits::CARD_WORDS_TOKENS_MIN),
            Form::Full => (limits::CARD_TOKENS_TARGET, limits::CARD_WORDS_TOKENS_MIN),
        };
        let target = least.max(used + words_min).min(limits::CARD_TOKENS_MAX);
        let (description, cost) = words.within(target.saturating_sub(used));
        Face { signature, description, tokens: used + cost }
    });
    Drawn(faces)
}

/// An entry's card without a score, the same bytes as long as the generation lives.
pub(crate) fn card(entry: &Entry, form: Form) -> Card {
    let (item, face) = (&entry.item, entry.drawn().face(form));
    Card {
        id: entry.shown_name.clone(),
        name: one_line(&item.name, limits::CARD_NAME_CHARS_MAX),
        description: face.description.clone(),
        tags: tags(&item.tags),
        kind: item.kind,
        namespace: item.namespace.clone(),
        signature: face.signature.clone(),
        has_schema: Shape::is_telling(item.input_schema.as_str()),
        score: None,
        cost_hint: item.hints.cost.unwrap_or_default(),
        side_effects: item.hints.read_only != Some(true),
        safety: safety(&item.hints),
        generation: Generation::default(),
    }
}

/// Which form each card can have: none less than bare, and from the first on as much more as the
/// answer has room for.
fn forms(best: &[&(Arc<Entry>, Option<f64>)], beside: usize) -> Vec<Form> {
    let room = limits::ANSWER_TOKENS_MAX.max(best.len() * limits::ANSWER_TOKENS_PER_CARD);
    let mut forms = vec![Form::Bare; best.len()];
    // One token for the line break after each.
    let cost = |(entry, _): &(Arc<Entry>, _), form: Form| entry.drawn().face(form).tokens + 1;
    let mut total = beside + best.iter().map(|one| cost(one, Form::Bare)).sum::<usize>();
    for better in [Form::Short, Form::Full] {
        for (one, form) in best.iter().zip(&mut forms) {
            let more = (total + cost(one, better)).saturating_sub(cost(one, *form));
            if more <= room {
                (total, *form) = (more, better);
            }
        }
    }
    forms
}

fn dealt_card(entry: &Entry, score: Option<f64>, form: Form, generation: Generation) -> Card {
    Card { score: rounded(score), generation, ..card(entry, form) }
}

/// Rounded, so that the bytes do not hang on the last bits of a logarithm.
fn rounded(score: Option<f64>) -> Option<f64> {
    score.map(|score| (score * 10_000.0).round() / 10_000.0)
}

fn compose(signature: &str, description: &str, safety: Safety) -> String {
    let dash = if description.is_empty() { "" } else { description::DASH };
    let gap = if description.is_empty() { "" } else { " " };
    format!("{signature}{dash}{gap}{description}{}", mark(safety))
}

const fn mark(safety: Safety) -> &'static str {
    match safety {
        Safety::Unknown => "",
        Safety::ReadOnly => " [read-only]",
        Safety::Destructive => " [destructive]",
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

#[cfg(test)]
mod tests;
