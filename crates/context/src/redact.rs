//! Takes secrets out of every text on its way out: known ones exactly, others by their shape.
//!
//! Shapes are described by how issuers build their tokens (a fixed prefix and a run of random
//! characters) or by the name a value is assigned to. Everything is found in one linear pass.

mod assign;
mod known;
mod phrase;
mod random;
mod scan;
mod shape;
mod table;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use model::{Fault, Secret};
use scan::Scanner;
use table::Anchor;

use crate::limits::KNOWN_SECRET_BYTES_MIN;
use crate::sanitise::{Cleaner, Profile};

/// Stands where a secret was.
pub(crate) const REDACTED: &str = "[redacted]";

/// Knows the secrets of this gate, and the shapes of everybody's.
#[derive(Clone)]
pub struct Redactor {
    scanner: Arc<Scanner>,
    knows_some: bool,
}

impl Default for Redactor {
    fn default() -> Self {
        Self { scanner: Arc::clone(&shape::COMMON), knows_some: false }
    }
}

impl Redactor {
    /// Knows these secrets, also inside base64 and percent-encoded. Very short ones are left out.
    pub fn knowing<'s>(secrets: impl IntoIterator<Item = &'s Secret>) -> Self {
        let spellings = known::spellings(secrets);
        let knows_some = !spellings.is_empty();
        let known = |spelling: String| (spelling.into_bytes(), Anchor::Known);
        let scanner = shape::COMMON.with(spellings.into_iter().map(known));
        Self { scanner: Arc::new(scanner), knows_some }
    }

    /// The text without its secrets; copied only where there are some.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if text.len() < KNOWN_SECRET_BYTES_MIN {
            return Cow::Borrowed(text);
        }
        let found = shape::secrets(&self.scanner, text);
        if found.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(cover(text, found)) }
    }

    /// Whether the field `key` says that its `value` is a secret, and the value looks like one.
    pub(crate) fn is_assigned(&self, key: &str, value: &str) -> bool {
        let likely = assign::may_be_secret(value);
        (likely || self.knows_some)
            && assign::is_about_secrets(key)
            && (likely && assign::names_secret(key, value) || self.knows(value))
    }

    fn knows(&self, text: &str) -> bool {
        let mut known = false;
        if self.knows_some {
            self.scanner.each(text, |hit| known |= matches!(hit.anchor, Anchor::Known));
        }
        known
    }

    /// The fault without its secrets, in what the client reads and in what the log keeps.
    pub fn fault(&self, mut fault: Fault) -> Fault {
        let clean = |text: &mut String| *text = self.redact(text).into_owned();
        clean(&mut fault.message);
        clean(&mut fault.path);
        fault.log.iter_mut().for_each(clean);
        fault.violations.iter_mut().for_each(|violation| clean(&mut violation.message));
        let cleaner = Cleaner { profile: Profile::Verbatim, redactor: self };
        for (key, value) in &mut fault.details {
            cleaner.field(key, value);
        }
        fault
    }
}

/// Tells nothing of what it knows.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("knows_some", &self.knows_some).finish_non_exhaustive()
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
