//! Finds token shapes: one scan for all their fixed parts, then a look at what is around.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use super::assign;
use super::phrase;
use super::random::is_random;
use super::scan::Scanner;
use super::table::{Alphabet, Anchor, SHAPES, Shape, Side};

/// Enough of a token to tell whether it is random.
const SAMPLE_BYTES: usize = 256;

/// Where the secrets are, in no order; they may overlap.
pub(super) fn secrets(scanner: &Scanner, text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut latest = 0..0;
    let mut runs = Runs::default();
    scanner.each(text, |hit| {
        let at = hit.start..hit.end;
        // A find covers everything inside it, so a long key is not looked at again and again.
        if latest.start <= at.start && at.end <= latest.end {
            return;
        }
        let secret = match hit.anchor {
            Anchor::Known => Some(at),
            Anchor::Shape(shape) => shaped(text, at, shape, &mut runs),
            Anchor::Name(name) => assign::assigned(text, at, *name),
            Anchor::Phrase(phrase) => phrase::find(text, at, *phrase),
        };
        if let Some(secret) = secret {
            latest = secret.clone();
            found.push(secret);
        }
    });
    found
}

/// Everything that does not depend on whose gate this is.
pub(super) static COMMON: LazyLock<Arc<Scanner>> = LazyLock::new(|| {
    let shapes = SHAPES.iter().map(|shape| (shape.literal, Anchor::Shape(shape)));
    let names = assign::NAMES.iter().map(|(literal, name)| (*literal, Anchor::Name(*name)));
    let phrases = phrase::PHRASES.iter().map(|(literal, find)| (*literal, Anchor::Phrase(*find)));
    let all = shapes.chain(names).chain(phrases);
    Arc::new(Scanner::new(all.map(|(literal, anchor)| (literal.as_bytes().to_vec(), anchor))))
});

fn shaped(text: &str, at: Range<usize>, shape: &Shape, runs: &mut Runs) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let literal = bytes.get(at.clone())?;
    if shape.exact_case && literal != shape.literal.as_bytes() {
        return None;
    }
    let start = match shape.before {
        Side::Boundary if !is_boundary(bytes, at.start) => return None,
        Side::Boundary | Side::Any => at.start,
        Side::Run(least) => {
            let run = run_before(bytes, at.start, shape.alphabet);
            (run >= least).then(|| at.start - run)?
        }
    };
    let end = runs.end(bytes, at.end, shape.alphabet);
    let long = end - at.end >= shape.least;
    let sample = text.get(at.end..end.min(at.end + SAMPLE_BYTES))?;
    (long && (!shape.random || is_random(sample))).then_some(start..end)
}

/// No letter or digit stands right before.
pub(super) fn is_boundary(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    before.is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
}

/// Where the latest run of each alphabet ended, so that no run is walked twice.
#[derive(Default)]
struct Runs([Range<usize>; Alphabet::COUNT]);

impl Runs {
    fn end(&mut self, bytes: &[u8], from: usize, alphabet: Alphabet) -> usize {
        let Some(latest) = self.0.get_mut(alphabet as usize) else { return from };
        if !(latest.start <= from && from < latest.end) {
            let rest = bytes.get(from..).unwrap_or_default();
            let run = rest.iter().take_while(|byte| alphabet.has(**byte)).count();
            *latest = from..from + run;
        }
        latest.end
    }
}

fn run_before(bytes: &[u8], until: usize, alphabet: Alphabet) -> usize {
    const LOOK_BACK: usize = 64;
    let rest = bytes.get(until.saturating_sub(LOOK_BACK)..until).unwrap_or_default();
    rest.iter().rev().take_while(|byte| alphabet.has(**byte)).count()
}
