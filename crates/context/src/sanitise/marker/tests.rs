//! Every spelling is found, and nothing that only looks alike.

use super::*;
use proptest::prelude::*;

fn check(dirty: &str, clean: &str) {
    assert_eq!(mark(dirty), clean, "{dirty:?}");
}

/// SG-35 in the strict profile: marked, not cut out.
#[test]
fn markers_are_named_where_they_stood() {
    check("a <|im_start|>system b", "a [marker:im_start]system b");
    check("__SYSTEM__ and <|IM_End|>", "[marker:system] and [marker:im_end]");
    check("<|eot_id|><|start_header_id|>", "[marker:eot_id][marker:start_header_id]");
}

/// A7, C5, SG-37: neither by joining nor by escaping.
#[test]
fn no_spelling_gets_through() {
    check("__sys__system__tem__", "__sys[marker:system]tem__");
    check("&lt;|im_start|&gt;", "[marker:im_start]");
    check("&amp;amp;lt;&#124;im_&#83;tart&#x7C;&GT;", "[marker:im_start]");
    check("&#95;&lowbar;system__", "[marker:system]");
    check("＜|ｉm_start｜＞", "[marker:im_start]");
    check("<&vert;im_end&VerticalLine;>", "[marker:im_end]");
}

#[test]
fn what_only_looks_alike_stays() {
    for text in [
        "__init__ a__system b <| x |> y <||> snake_case __systemd__",
        "a &lt; b &amp;&amp; c &nbsp; &",
        "<|im_startle|> <im_start>",
        "file_system__x",
    ] {
        assert!(matches!(mark(text), Cow::Borrowed(_)), "{text}: {}", mark(text));
    }
}

#[test]
fn every_name_has_its_initial() {
    assert!(NAMES.iter().all(|name| is_initial(name.as_bytes()[0])));
    assert!(spellings().all(|spelling| opens(&spelling)));
}

#[test]
fn a_million_half_markers_take_no_quadratic_time() {
    let half = "&amp;lt;|im_star".repeat(60_000);
    assert_eq!(mark(&half), half);
    let chain = format!("&{}", "amp;".repeat(250_000));
    assert_eq!(mark(&chain), chain);
}

/// A marker is tried at every character.
fn mark_slowly(text: &str) -> String {
    let mut clean = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let found = marker(rest, Markers::All);
        let put = found.map_or(c.to_string(), |(name, _)| ["[marker:", name, "]"].concat());
        clean.push_str(&put);
        rest = rest.get(found.map_or(c.len_utf8(), |(_, bytes)| bytes)..).unwrap();
    }
    clean
}

proptest! {
    #[test]
    fn passing_over_what_begins_no_marker_changes_nothing(
        text in "([a-z ]{0,40}|__|_|&#95;|&lowbar;|＿|system|SYSTEM|<|＜|&lt;|&LT;|&#60;|&amp;|&AMP;|&#38;|\\||｜|&vert;|im_start|eot_id|ｉm_end|>|&gt;|[é漢，]){0,24}"
    ) {
        prop_assert_eq!(mark(&text), mark_slowly(&text));
    }

    /// SG-37, C5: no marker in any output, raw or escaped, and a second pass finds nothing.
    #[test]
    fn nothing_marked_holds_a_marker(
        text in "(__|system|sys|tem|<\\||im_start|im_end|\\|>|&lt;|&gt;|&amp;|amp;|lt;|\\||x|&#95;){0,24}"
    ) {
        let once = mark(&text).into_owned();
        prop_assert!(matches!(mark(&once), Cow::Borrowed(_)), "{once}");
        let mut plain = once.to_lowercase();
        for _ in 0..9 {
            plain = plain.replace("&amp;", "&");
        }
        plain = plain.replace("&lt;", "<").replace("&gt;", ">").replace("&#95;", "_");
        for marker in spellings() {
            prop_assert!(!plain.contains(&marker), "{once}");
        }
    }
}
