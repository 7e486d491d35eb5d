//! Patterns for names and scopes: `*` for any run of characters, `?` for one.

/// Whether `pattern` covers all of `text`. Runs in time proportional to both, never worse.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t, mut retry) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p + 1, t));
                p += 1;
            }
            Some(c) if *c == '?' || text.get(t) == Some(c) => {
                p += 1;
                t += 1;
            }
            _ => match retry {
                // Let the last star swallow one character more.
                Some((after_star, from)) => {
                    retry = Some((after_star, from + 1));
                    p = after_star;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_stand_for_what_they_should() {
        let check = |pattern: &str, text: &str, wanted: bool| {
            assert_eq!(matches(pattern, text), wanted, "{pattern} {text}");
        };
        check("", "", true);
        check("", "a", false);
        check("*", "", true);
        check("a", "a", true);
        check("a", "ab", false);
        check("a*", "abc", true);
        check("*c", "abc", true);
        check("a?c", "abc", true);
        check("a?c", "ac", false);
        check("*a*b", "xaxxbab", true);
        check("*a*b", "xaxxbaa", false);
        check("ü?", "üß", true);
    }

    #[test]
    fn many_stars_do_not_run_away() {
        assert!(!matches(&"*a".repeat(50), &"b".repeat(5_000)));
    }
}
