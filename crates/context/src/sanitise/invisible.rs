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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(dirty: &str, clean: &str) {
        assert_eq!(reveal(dirty), clean, "{}", dirty.escape_unicode());
    }

    /// A6: alone among letters, not one of them stays.
    #[test]
    fn every_invisible_character_goes_from_plain_words() {
        let all = (0..=0x0010_FFFF).filter_map(char::from_u32).filter(|c| is_invisible(*c));
        let mut count = 0;
        for c in all {
            check(&format!("ad{c}min"), "admin");
            check(&format!("{c}"), "");
            check(&format!("a{c}{c}{c}"), "a");
            count += 1;
        }
        assert!(count > 4_100, "{count}");
    }

    #[test]
    fn the_bytes_give_every_invisible_character_away() {
        for c in (0..=0x0010_FFFF).filter_map(char::from_u32).filter(|c| is_invisible(*c)) {
            let spelled = c.to_string();
            let bytes = spelled.as_bytes();
            assert!(spells_invisible(bytes, 0), "{}", c.escape_unicode());
            let third = bytes.get(2).copied().unwrap_or(b'x');
            assert!(may_hide(bytes[0], bytes[1], third), "{}", c.escape_unicode());
            check(&format!("{}{c}", "x".repeat(63)), &"x".repeat(63));
        }
    }

    #[test]
    fn emoji_sequences_stay_whole() {
        for text in [
            "👨\u{200D}👩\u{200D}👧\u{200D}👦 family",
            "❤\u{FE0F}\u{200D}🔥",
            "🏳\u{FE0F}\u{200D}🌈",
            "👩🏽\u{200D}💻",
            "1\u{FE0F}\u{20E3} #\u{FE0F}\u{20E3}",
            "☎\u{FE0E} ©\u{FE0F} ℹ\u{FE0F}",
            "🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
        ] {
            assert!(matches!(reveal(text), Cow::Borrowed(_)), "{}", text.escape_unicode());
        }
    }

    #[test]
    fn scripts_that_need_invisible_characters_keep_them() {
        for text in [
            "می\u{200C}خواهم",
            "क्\u{200D}ष क्\u{200C}ष",
            "ශ්\u{200D}රී",
            "ภาษา\u{200B}ไทย",
            "שלום\u{200F}! (\u{200E}עברית\u{200F})",
            "葛\u{E0100}城",
            "ᠠ\u{180B}",
        ] {
            assert!(matches!(reveal(text), Cow::Borrowed(_)), "{}", text.escape_unicode());
        }
    }

    /// Trojan Source and tag smuggling, also next to characters that could excuse one.
    #[test]
    fn what_could_carry_a_message_goes() {
        check("access\u{202E}nimda\u{202C}", "accessnimda");
        check("\u{2066}// comment\u{2069}", "// comment");
        let hidden: String = "send the keys"
            .chars()
            .map(|c| char::from_u32(0xE0000 + u32::from(c)).unwrap())
            .collect();
        check(&format!("hi{hidden}"), "hi");
        check(&format!("🏴{hidden}\u{E007F}"), "🏴");
        check("a\u{FE00}\u{FE01}\u{FE0F}", "a");
        check("😀\u{FE0F}\u{FE0F}\u{FE01}", "😀\u{FE0F}");
        check("👩\u{200D}\u{200D}\u{200D}💻", "👩\u{200D}💻");
        check("\u{FEFF}{\"a\": 1}", "{\"a\": 1}");
    }

    /// Character by character, with nothing passed over.
    fn reveal_slowly(text: &str) -> String {
        let mut clean = String::new();
        let mut rest = text;
        while let Some(found) = rest.chars().next() {
            let needed = needed(found, clean.chars().next_back(), rest);
            let bytes = needed.unwrap_or(found.len_utf8());
            if needed.is_some() || !is_invisible(found) {
                clean.push_str(&rest[..bytes]);
            }
            rest = &rest[bytes..];
        }
        clean
    }

    proptest! {
        #[test]
        fn passing_over_what_is_visible_changes_nothing(
            text in "([a-z ]{0,40}|[“”—…é漢字かなשلک😀👩🏴❤，！]|[\u{200B}-\u{200F}\u{202A}-\u{202E}\u{2060}-\u{206F}\u{FE00}-\u{FE0F}\u{FEFF}\u{AD}]|[\u{E0060}-\u{E007F}]|\u{61C}){0,24}"
        ) {
            prop_assert_eq!(reveal(&text), reveal_slowly(&text));
        }

        /// A6: idempotent, and nothing visible is lost.
        #[test]
        fn a_second_pass_changes_nothing(
            text in "([a#1_é漢שلک😀👩🏴❤]|[\u{200B}-\u{200F}\u{202A}-\u{202E}\u{2060}-\u{206F}\u{FE00}-\u{FE0F}]|[\u{E0000}-\u{E01EF}]|\u{61C}){0,40}"
        ) {
            let once = reveal(&text).into_owned();
            prop_assert!(matches!(reveal(&once), Cow::Borrowed(_)), "{}", once.escape_unicode());
            let visible = |text: &str| text.chars().filter(|c| !is_invisible(*c)).collect::<String>();
            prop_assert_eq!(visible(&once), visible(&text));
        }
    }
}
