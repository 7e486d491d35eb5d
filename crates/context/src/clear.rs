//! What an upstream gave becomes what a model may read.
//!
//! The order is the safeguard: hash and digest see the raw answer, size control moves raw bytes to
//! the evidence lane, and the sanitiser comes last, so that nothing it has not seen goes out.

use model::result::{Cleaning, Provenance};
use model::{Answer, Finding, Handle, View, canonical};
use serde_json::Value;

use crate::blob::Blob;
use crate::cleared::Cleared;
use crate::digest::digest;
use crate::normalise::survey;
use crate::redact::Redactor;
use crate::sanitise::{Cleaner, Profile};
use crate::shape::{Labels, Shaped, shape};

#[derive(Clone, Debug)]
pub struct Rules<'a> {
    /// Where the answer comes from, for labels and words to the model.
    pub source: &'a Provenance,
    pub profile: Profile,
    pub size: Size,
    pub redactor: &'a Redactor,
}

/// How much of an answer reaches the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Size {
    /// Everything.
    Whole,
    /// What is longer than `inline_chars` goes under `handle`, with an excerpt in its place that
    /// is meant to cost at most `budget_tokens`.
    ///
    /// Replaces structured content that is too long, so it is not for callers who hold the
    /// answer against an output schema.
    Firewall { inline_chars: usize, budget_tokens: usize, handle: Handle },
}

/// An answer ready to go out, and what is to be kept of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Clearing {
    pub cleared: Cleared,
    /// To be stored under their handles before `cleared` goes out.
    pub blobs: Vec<Blob>,
    /// At most 500 characters.
    pub summary: String,
    /// The summary leaves something out.
    pub lossy: bool,
    pub facts: Vec<String>,
    /// Ways to look at the first blob.
    pub views: Vec<View>,
    /// The structured content is ours, and stands in the place of the tool's.
    pub replaced: bool,
    /// What is odd about the parts of the answer.
    pub findings: Vec<Finding>,
    /// The annotations of each part that has some, with its `part_index`.
    pub content_annotations: Vec<Value>,
    pub cleaning: Cleaning,
    /// SHA-256 of the raw answer.
    pub result_hash: String,
}

pub fn clear(answer: Answer, rules: &Rules<'_>) -> Clearing {
    let (result_hash, written) = hash(&answer, &rules.size);
    let strict = Cleaner::strict(rules.redactor);
    let digest = digest(&answer.content, answer.structured.as_ref(), &strict);
    let (findings, mut content_annotations) = survey(&answer.content);
    for annotations in &mut content_annotations {
        strict.value(annotations);
    }
    let tool = &*rules.source.tool;
    let Shaped { mut answer, blobs, views, replaced } =
        shape(answer, written, &rules.size, &Labels { tool, summary: &digest.summary });
    let cleaner = Cleaner { profile: rules.profile, redactor: rules.redactor };
    let opaque = OPAQUE.map(|key| (key, answer.rest.shift_remove(key)));
    let cleaning = cleaner.answer(&mut answer);
    if cleaning.changed_leaves > 0 {
        answer.written = None;
    }
    for (key, value) in opaque {
        answer.rest.extend(value.map(|value| (key.to_owned(), value)));
    }
    Clearing {
        cleared: Cleared::vouch(answer),
        blobs,
        summary: digest.summary,
        lossy: digest.lossy,
        facts: digest.facts,
        views,
        replaced,
        findings,
        content_annotations,
        cleaning,
        result_hash,
    }
}

/// The hash of an answer, and the canonical bytes of its structured content where they may be kept.
fn hash(answer: &Answer, size: &Size) -> (String, Option<Vec<u8>>) {
    match (size, &answer.structured) {
        (Size::Firewall { .. }, Some(structured)) => {
            let written = canonical::bytes(structured);
            (answer.hash_with_written(&written), Some(written))
        }
        _ => (answer.hash(), None),
    }
}

/// Words a client hands back unread; changed, they would mean nothing to their maker.
const OPAQUE: [&str; 2] = ["requestState", "taskId"];

/// SHA-256 over the answer as its upstream gave it.
pub fn raw_hash(answer: &Answer) -> String {
    answer.hash()
}

#[cfg(test)]
mod tests;
