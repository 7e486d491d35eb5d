//! Patterns that are certain to compile: the plain ones most schemas have.
//!
//! Everything is left out that `ECMAScript` and our matcher read differently, or that could grow.

use regex_syntax::ast::parse::Parser;

/// A pattern as written, and with its counted repeats unfolded.
const CHARS_MAX: usize = 200;
const UNFOLDED_MAX: usize = 400;

pub(super) fn is_sure(pattern: &str) -> bool {
    pattern.len() <= CHARS_MAX
        && unfolded(pattern).is_some_and(|size| size <= UNFOLDED_MAX)
        && Parser::new().parse(pattern).is_ok()
}

/// How many pieces the pattern comes to, if it is made of plain ones alone.
fn unfolded(pattern: &str) -> Option<usize> {
    let mut rest = pattern.char_indices().peekable();
    let (mut size, mut before, mut in_class) = (0_usize, ' ', false);
    while let Some((at, mark)) = rest.next() {
        size += 1;
        match mark {
            '\\' => {
                let (_, escaped) = rest.next()?;
                plain_escape(escaped).then_some(())?;
            }
            // A repeat of a repeat grows by multiplication.
            '{' if in_class || matches!(before, ')' | '{' | '*' | '+' | '?') => return None,
            '{' => {
                let counts = pattern.get(at + 1..)?.split_once('}')?.0;
                size = size.saturating_add(most(counts)?);
                let end = at + 1 + counts.len();
                while rest.next_if(|(next, _)| *next <= end).is_some() {}
            }
            '[' if in_class => return None,
            '[' => in_class = true,
            ']' => in_class = false,
            '?' if before == '(' => {
                rest.next_if(|(_, next)| *next == ':')?;
            }
            '&' | '~' => return None,
            '-' if before == '-' => return None,
            mark if !mark.is_ascii() || mark.is_ascii_control() => return None,
            _ => {}
        }
        before = mark;
    }
    Some(size)
}

fn plain_escape(escaped: char) -> bool {
    "dws".contains(escaped) || (escaped.is_ascii_punctuation() && !"<>".contains(escaped))
}

/// The larger bound of `n`, `n,` or `n,m`.
fn most(counts: &str) -> Option<usize> {
    let (least, most) = counts.split_once(',').unwrap_or((counts, counts));
    let least: usize = least.parse().ok()?;
    if most.is_empty() { Some(least) } else { most.parse().ok().filter(|most| *most >= least) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn plain_patterns_can_wait_and_odd_ones_cannot() {
        let check = |pattern: &str, expected: bool| {
            assert_eq!(is_sure(pattern), expected, "{pattern}");
        };
        check(r"^[A-Z][A-Z0-9_]+-\d+(?:-\d+)*$", true);
        check("^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}$", true);
        check(r"^[a-zA-Z0-9_.-]+\.(png|svg|gif)$", true);
        check("^ik_[a-z]{16,64}$", true);
        check("a{1,1000}", false);
        check("(a{9}){9}", false);
        check("a{9}{9}", false);
        check(r"\d**{1,64}{1,64}", false);
        check("(?=a)", false);
        check(r"\p{L}", false);
        check("[[a]", false);
        check("[a&&b]", false);
        check("(", false);
        check("ä", false);
        check("a{2,1}", false);
        check(r"a\", false);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]
        #[test]
        fn what_is_sure_compiles(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "a", "Z", "0", "9", "_", "-", "^", "$", ".", "[", "]", "(", ")", "(?:", "|",
                    "+", "*", "?", "{2}", "{1,64}", "{3,}", r"\d", r"\w", r"\s", r"\.", r"\]",
                    r"\-", r"\/", "{", "}", ",", " ", ":", "é", r"\b",
                ]),
                0..12,
            ),
        ) {
            let pattern = pieces.concat();
            if is_sure(&pattern) {
                let compiled = Schema::compile(&json!({"pattern": pattern}));
                prop_assert!(compiled.is_ok(), "{}: {:?}", pattern, compiled.err());
            }
        }
    }
}
