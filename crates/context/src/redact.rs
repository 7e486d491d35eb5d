//! Takes secrets out of every text on its way out: known ones exactly, others by their shape.
//!
//! Shapes are described by how issuers build their tokens (a fixed prefix and a run of random
//! characters) or by the name a value is assigned to. Everything is found in one linear pass.

mod assign;
mod known;
mod phrase;
mod random;
mod shape;
mod table;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use model::{Fault, Secret};

/// Stands where a secret was.
pub(crate) const REDACTED: &str = "[redacted]";

/// Knows the secrets of this gate, and the shapes of everybody's.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Option<AhoCorasick>,
}

impl Redactor {
    /// Knows these secrets, also inside base64 and percent-encoded. Very short ones are left out.
    pub fn knowing<'s>(secrets: impl IntoIterator<Item = &'s Secret>) -> Self {
        Self { known: known::automaton(secrets) }
    }

    /// The text without its secrets; copied only where there are some.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut found: Vec<Range<usize>> = shape::secrets(text);
        if let Some(known) = &self.known {
            found.extend(known.find_iter(text).map(|hit| hit.range()));
        }
        if found.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(cover(text, found)) }
    }

    /// Whether the field `key` says that its `value` is a secret, and the value looks like one.
    pub(crate) fn is_assigned(&self, key: &str, value: &str) -> bool {
        let known = || self.known.as_ref().is_some_and(|known| known.is_match(value));
        assign::names_secret(key, value) || assign::is_about_secrets(key) && known()
    }

    /// The fault without its secrets, in what the client reads and in what the log keeps.
    pub fn fault(&self, mut fault: Fault) -> Fault {
        let clean = |text: &mut String| *text = self.redact(text).into_owned();
        clean(&mut fault.message);
        fault.log.iter_mut().for_each(clean);
        fault
    }
}

/// Tells nothing of what it knows.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("knows_some", &self.known.is_some()).finish()
    }
}

/// Writes one mark over each stretch that overlapping or touching finds cover together.
fn cover(text: &str, mut found: Vec<Range<usize>>) -> String {
    found.sort_by_key(|range| range.start);
    let mut clean = String::with_capacity(text.len());
    let mut shown = 0;
    for Range { start, end } in found {
        if start > shown || shown == 0 {
            clean.push_str(text.get(shown..start).unwrap_or_default());
            clean.push_str(REDACTED);
        }
        shown = shown.max(end);
    }
    clean.push_str(text.get(shown..).unwrap_or_default());
    clean
}

#[cfg(test)]
mod tests;
