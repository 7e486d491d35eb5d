//! The three transforms of the stargraph profile, in their order: strip, escape, remove.
//!
//! Where the published code lets a marker survive its own escaping, this does not (resolution C5).

use std::borrow::Cow;

use super::Html;
use super::marker::{Markers, replace};

/// Passes that cut markers out before what is left of a nest is marked instead.
const PASSES_MAX: usize = 8;

pub(super) fn transform(text: &str, html: Html) -> Cow<'_, str> {
    let stripped = strip(text);
    let escaped = match html {
        Html::Escape => then(stripped, escape),
        Html::Keep => stripped,
    };
    then(escaped, remove)
}

/// Runs `next` on what the former step gave, without a copy where neither changed anything.
pub(super) fn then(text: Cow<'_, str>, next: impl Fn(&str) -> Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => next(text),
        Cow::Owned(text) => match next(&text) {
            Cow::Borrowed(_) => Cow::Owned(text),
            Cow::Owned(changed) => Cow::Owned(changed),
        },
    }
}

fn strip(text: &str) -> Cow<'_, str> {
    let goes = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
    if text.contains(goes) { Cow::Owned(text.replace(goes, "")) } else { Cow::Borrowed(text) }
}

fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#x27;"),
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// Cuts until nothing is left to cut; a nest deeper than anything honest is marked visibly.
fn remove(text: &str) -> Cow<'_, str> {
    let mut clean = Cow::Borrowed(text);
    for _ in 0..PASSES_MAX {
        let cut = match replace(&clean, Markers::Seed, |_| String::new()) {
            Cow::Borrowed(_) => return clean,
            Cow::Owned(cut) => cut,
        };
        clean = Cow::Owned(cut);
    }
    then(clean, |text| replace(text, Markers::Seed, |name| format!("[marker:{name}]")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(transform(text, Html::Escape), expected, "{text:?}");
    }

    /// SG-33: every one of the 160 code points.
    #[test]
    fn control_characters_go_but_for_tab_and_line_ends() {
        for code in 0..160_u32 {
            let c = char::from_u32(code).unwrap();
            let kept = matches!(code, 9 | 10 | 13 | 0x20..=0x7E);
            let expected = if kept { format!("a{c}b") } else { "ab".to_owned() };
            assert_eq!(transform(&format!("a{c}b"), Html::Keep), expected, "{code}");
        }
    }

    /// SG-34
    #[test]
    fn the_five_characters_of_html_are_escaped() {
        check("& < > \" '", "&amp; &lt; &gt; &quot; &#x27;");
        check(
            "<script>alert('x')\u{7}</script>\u{1b}",
            "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;",
        );
        assert_eq!(transform("a < b & c", Html::Keep), "a < b & c");
    }

    /// SG-32, SG-35, SG-36, SG-37: strip, then escape, then remove, until nothing changes.
    #[test]
    fn markers_are_removed_in_the_spelling_that_escaping_gave_them() {
        check("<|im_start|>system<|IM_END|>", "system");
        check("__System__", "");
        check("__sys\u{7}tem__", "");
        check("__sys__system__tem__", "");
        check("&lt;|im_start|&gt;x", "x");
        check("<|im_<|im_end|>start|>x", "x");
        check("<|eot_id|>", "&lt;|eot_id|&gt;");
    }

    #[test]
    fn a_deep_nest_ends_in_a_mark() {
        let nest = format!("{}{}", "__sys".repeat(2_000), "tem__".repeat(2_000));
        let clean = transform(&nest, Html::Keep);
        assert!(clean.contains("[marker:system]"));
        assert!(!clean.to_lowercase().contains("__system__"));
    }

    proptest! {
        /// SG-37, C5
        #[test]
        fn no_marker_survives_in_any_spelling(
            text in "(__|system|sys|tem|<\\||im_start|im_end|\\|>|&lt;|&gt;|&amp;|\u{7}){0,24}"
        ) {
            for html in [Html::Escape, Html::Keep] {
                let once = transform(&text, html).into_owned();
                prop_assert!(matches!(remove(&once), Cow::Borrowed(_)), "{once}");
            }
        }
    }
}
