//! Which characters go, which stay, and that nothing is passed over.

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
    let hidden: String =
        "send the keys".chars().map(|c| char::from_u32(0xE0000 + u32::from(c)).unwrap()).collect();
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
            clean.push_str(rest.get(..bytes).unwrap());
        }
        rest = rest.get(bytes..).unwrap();
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
