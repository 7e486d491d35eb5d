//! Which characters nobody can see go, and which a script or an emoji needs and so stay.
//!
//! A character that may stay does so only between visible ones that call for it, so that no run of
//! invisible characters survives to carry a message.

use std::borrow::Cow;

use super::script::{is_cjk, is_emoji, is_indic_or_arabic, is_right_to_left, takes_variation};
use super::stride::next_place;

/// Takes out bidirectional controls, tags, zero-width and other invisible characters.
pub(super) fn reveal(text: &str) -> Cow<'_, str> {
    let mut kept = 0;
    let mut clean: Option<String> = None;
    let mut from = 0;
    while let Some(at) = suspect(text, from) {
        let Some((before, rest)) = text.split_at_checked(at) else { break };
        let Some(found) = rest.chars().next() else { break };
        from = at + found.len_utf8();
        if !is_invisible(found) {
            continue;
        }
        let unkept = before.get(kept..).unwrap_or_default();
        let seen = clean.as_deref().filter(|_| unkept.is_empty()).unwrap_or(before);
        if let Some(bytes) = needed(found, seen.chars().next_back(), rest) {
            from = at + bytes;
            continue;
        }
        clean.get_or_insert_with(|| String::with_capacity(text.len())).push_str(unkept);
        kept = from;
    }
    let Some(mut clean) = clean else { return Cow::Borrowed(text) };
    clean.push_str(text.get(kept..).unwrap_or_default());
    Cow::Owned(clean)
}

/// The next invisible character, told by its bytes alone.
fn suspect(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    next_place(bytes, from, may_hide, |at, byte| byte >= 0xC2 && spells_invisible(bytes, at))
}

/// Three bytes that begin an invisible character, or one of a few neighbours.
#[inline]
#[expect(clippy::needless_bitwise_bool, reason = "without branches the compiler makes it wide")]
const fn may_hide(first: u8, second: u8, third: u8) -> bool {
    let in_e2 = (second == 0x80)
        & ((third >= 0x8B) & (third <= 0x8F) | (third >= 0xAA) & (third <= 0xAE))
        | (second == 0x81) & (third >= 0xA0);
    let in_ef = (second == 0xB8) & (third <= 0x8F)
        | (second == 0xBB) & (third == 0xBF)
        | (second == 0xBE) & (third == 0xA0)
        | (second == 0xBF) & (third >= 0xB0);
    (first == 0xE2) & in_e2
        | (first == 0xEF) & in_ef
        | (first == 0xC2) & (second == 0xAD)
        | (first == 0xCD) & (second == 0x8F)
        | (first == 0xD8) & (second == 0x9C)
        | (first == 0xE1) & ((second == 0x85) | (second == 0x9E) | (second == 0xA0))
        | (first == 0xE3) & (second == 0x85) & (third == 0xA4)
        | (first == 0xF0) & ((second == 0x9B) | (second == 0x9D))
        | (first == 0xF3) & (second == 0xA0)
}

/// Whether the bytes at `at` may begin an invisible character; no such character is missed.
fn spells_invisible(bytes: &[u8], at: usize) -> bool {
    let byte = |offset: usize| bytes.get(at + offset).copied().unwrap_or_default();
    match byte(0) {
        0xC2 => byte(1) == 0xAD,
        0xCD => byte(1) == 0x8F,
        0xD8 => byte(1) == 0x9C,
        0xE1 => matches!(byte(1), 0x85 | 0x9E | 0xA0),
        0xE2 => matches!(
            (byte(1), byte(2)),
            (0x80, 0x8B..=0x8F | 0xAA..=0xAE) | (0x81, 0xA0..=0xAF)
        ),
        0xE3 => (byte(1), byte(2)) == (0x85, 0xA4),
        0xEF => matches!(
            (byte(1), byte(2)),
            (0xB8, 0x80..=0x8F) | (0xBB, 0xBF) | (0xBE, 0xA0) | (0xBF, 0xB0..=0xBB)
        ),
        0xF0 => matches!((byte(1), byte(2)), (0x9B, 0xB2) | (0x9D, 0x85)),
        0xF3 => byte(1) == 0xA0,
        _ => false,
    }
}

/// Every character that draws nothing, or turns the order of what is drawn.
pub(super) const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
        | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// The bytes to keep from `rest`, which starts with `found`, when its neighbours call for it.
///
/// INVARIANT: what counts as neighbour behind is visible and so never taken out; a second pass
/// then finds the same neighbours and changes nothing.
fn needed(found: char, before: Option<char>, rest: &str) -> Option<usize> {
    let before = before?;
    let after = rest.chars().nth(1);
    let between = |script: fn(char) -> bool| script(before) && after.is_some_and(script);
    let keep = match found {
        '\u{200C}' => between(is_indic_or_arabic),
        '\u{200D}' => joins(before, after),
        '\u{200B}' => between(parts_words_unseen),
        '\u{200E}' | '\u{200F}' | '\u{61C}' => {
            is_right_to_left(before) || after.is_some_and(is_right_to_left)
        }
        '\u{FE0E}' | '\u{FE0F}' => takes_variation(before),
        '\u{FE00}'..='\u{FE0D}' | '\u{E0100}'..='\u{E011F}' => is_cjk(before),
        '\u{180B}'..='\u{180F}' => matches!(before, '\u{1820}'..='\u{18AA}'),
        '\u{E0000}'..='\u{E007F}' => return flag(before, rest),
        _ => false,
    };
    keep.then(|| found.len_utf8())
}

fn joins(before: char, after: Option<char>) -> bool {
    let emoji = is_emoji(before) || before == '\u{FE0F}';
    after.is_some_and(|after| {
        emoji && is_emoji(after) || is_indic_or_arabic(before) && is_indic_or_arabic(after)
    }) || after.is_none() && is_indic_or_arabic(before)
}

/// Thai, Lao, Myanmar and Khmer mark the end of a word by a space of no width.
const fn parts_words_unseen(c: char) -> bool {
    matches!(c, '\u{E00}'..='\u{EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}')
}

/// The three flags that Unicode spells with tags: no other text can hide behind them.
fn flag(before: char, rest: &str) -> Option<usize> {
    const FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];
    let tags = |name: &str| {
        let tag = |c: char| char::from_u32(0xE0000 + u32::from(c));
        name.chars().filter_map(tag).chain(['\u{E007F}']).collect::<String>()
    };
    let found = FLAGS.iter().map(|name| tags(name)).find(|tags| rest.starts_with(tags.as_str()));
    found.filter(|_| before == '\u{1F3F4}').map(|tags| tags.len())
}

#[cfg(test)]
mod tests;
