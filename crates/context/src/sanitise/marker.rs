//! Markers that part the turns of a conversation for some models: shown for what they are.
//!
//! They are found however they are spelled: in any case, by HTML entities, escaped any number of
//! times, or in full width. Phrases that merely sound like instructions are not looked for.

use std::borrow::Cow;

use super::spelling::take_char;
use super::stride::next_place;

/// Each as its opening, its name and its closing.
const SEED: [(&str, &str, &str); 3] =
    [("__", "system", "__"), ("<|", "im_start", "|>"), ("<|", "im_end", "|>")];

/// What else stands between `<|` and `|>` in the templates of widely used models.
const NAMES: [&str; 17] = [
    "im_sep",
    "endoftext",
    "endofprompt",
    "begin_of_text",
    "end_of_text",
    "start_header_id",
    "end_header_id",
    "eot_id",
    "eom_id",
    "python_tag",
    "system",
    "user",
    "assistant",
    "start",
    "end",
    "message",
    "channel",
];

/// The longest marker in characters.
const CHARS_MAX: usize = 19;

/// Which markers are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Markers {
    /// The three of the stargraph profile.
    Seed,
    /// Those and the ones of other models.
    All,
}

/// Writes `[marker:name]` where a marker stood.
///
/// INVARIANT: no marker has a bracket in it, so what stood on both sides can never join to a new
/// one, and one pass is enough.
pub(super) fn mark(text: &str) -> Cow<'_, str> {
    replace(text, Markers::All, |name| format!("[marker:{name}]"))
}

pub(super) fn replace(text: &str, markers: Markers, put: impl Fn(&str) -> String) -> Cow<'_, str> {
    let mut clean: Option<String> = None;
    let (mut kept, mut from) = (0, 0);
    while let Some(at) = candidate(text.as_bytes(), from) {
        from = at + 1;
        let Some(rest) = text.get(at..) else { continue };
        let Some((name, bytes)) = marker(rest, markers) else { continue };
        let clean = clean.get_or_insert_with(|| String::with_capacity(text.len()));
        clean.push_str(text.get(kept..at).unwrap_or_default());
        clean.push_str(&put(name));
        from = at + bytes;
        kept = from;
    }
    let Some(mut clean) = clean else { return Cow::Borrowed(text) };
    clean.push_str(text.get(kept..).unwrap_or_default());
    Cow::Owned(clean)
}

/// The next place where a marker may begin.
fn candidate(bytes: &[u8], from: usize) -> Option<usize> {
    next_place(bytes, from, may_open, |at, byte| {
        matches!(byte, b'<' | b'_' | b'&' | 0xEF) && may_begin(bytes.get(at..).unwrap_or_default())
    })
}

/// Three bytes that a marker may begin with.
#[inline]
#[expect(clippy::needless_bitwise_bool, reason = "without branches the compiler makes it wide")]
const fn may_open(first: u8, second: u8, third: u8) -> bool {
    let spelled = (second == b'&') | (second == 0xEF);
    let named = (second | 0x20 == b'l') | (second | 0x20 == b'a') | (second == b'#');
    (first == b'<') & ((second == b'|') | spelled)
        | (first == b'_') & ((second == b'_') | spelled)
        | (first == b'&') & named
        | (first == 0xEF) & (second == 0xBC) & ((third == 0x9C) | (third == 0xBF))
}

/// The same with more bytes: a closer look at what texts are full of.
fn may_begin(bytes: &[u8]) -> bool {
    let is_spelled = |byte: u8| matches!(byte, b'&' | 0xEF);
    match *bytes {
        [b'<', b'|', third, ..] => is_initial(third) || is_spelled(third),
        [b'_', b'_', third, ..] => third | 0x20 == b's' || is_spelled(third),
        [b'<' | b'_', second, ..] => is_spelled(second),
        [b'&', b'l' | b'L', b't' | b'T', b';', next, ..] => next == b'|' || is_spelled(next),
        // `&amp;lt;`, `&amp;lowbar;`, `&amp;amp;`, `&amp;#60;`.
        [b'&', b'a' | b'A', _, _, b';', next, ..] => {
            matches!(next, b'l' | b'L' | b'a' | b'A' | b'#')
        }
        // `&lowbar;`, `&#60;`, and `<` and `_` in full width.
        [b'&', b'l' | b'L', b'o' | b'O', ..] | [b'&', b'#', ..] | [0xEF, 0xBC, 0x9C | 0xBF, ..] => {
            true
        }
        _ => false,
    }
}

const fn is_initial(byte: u8) -> bool {
    matches!(byte | 0x20, b'i' | b'e' | b'b' | b's' | b'p' | b'u' | b'a' | b'm' | b'c')
}

/// The name of the marker `text` starts with, and how many bytes spell it.
fn marker(text: &str, markers: Markers) -> Option<(&'static str, usize)> {
    if !opens(text) {
        return None;
    }
    let spelled = spelled(text);
    let find = |opening: &str, name: &'static str, closing: &str| {
        let chars = [opening, name, closing].map(str::chars).into_iter().flatten();
        let mut read = spelled.iter();
        let mut bytes = 0;
        for wanted in chars {
            let (c, end) = read.next()?;
            (*c == wanted).then_some(())?;
            bytes = *end;
        }
        Some((name, bytes))
    };
    let seed = SEED.iter().find_map(|(opening, name, closing)| find(opening, name, closing));
    let more = || NAMES.iter().find_map(|name| find("<|", name, "|>"));
    seed.or_else(|| (markers == Markers::All).then(more).flatten())
}

/// Whether the first three characters are those of some marker.
fn opens(text: &str) -> bool {
    let Some((first, rest)) = take_char(text) else { return false };
    let Some((second, rest)) = take_char(rest) else { return false };
    let third = || take_char(rest).and_then(|(c, _)| u8::try_from(c).ok());
    match (first, second) {
        ('<', '|') => third().is_some_and(is_initial),
        ('_', '_') => third().is_some_and(|c| c | 0x20 == b's'),
        _ => false,
    }
}

/// The first characters as they are meant, each with the byte it ends before.
fn spelled(text: &str) -> Vec<(char, usize)> {
    let mut rest = text;
    let mut chars = Vec::new();
    while chars.len() < CHARS_MAX
        && let Some((c, after)) = take_char(rest)
    {
        if !c.is_ascii_alphabetic() && !matches!(c, '_' | '<' | '|' | '>') {
            break;
        }
        rest = after;
        chars.push((c.to_ascii_lowercase(), text.len() - rest.len()));
    }
    chars
}

#[cfg(test)]
pub(super) fn spellings() -> impl Iterator<Item = String> {
    let more = NAMES.iter().map(|name| ("<|", *name, "|>"));
    SEED.into_iter().chain(more).map(|(opening, name, closing)| format!("{opening}{name}{closing}"))
}

#[cfg(test)]
mod tests;
