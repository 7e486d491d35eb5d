//! Patterns for names and scopes: `*` for any run of characters, `?` for one, and for names of tools
//! and scopes `[a-z]` for one of a set and `[!a-z]` for one outside it.

/// Whether `pattern` covers all of `text`. Runs in time proportional to both, never worse.
pub fn matches(pattern: &str, text: &str) -> bool {
    let pieces: Vec<Piece> = pattern.chars().map(Piece::plain).collect();
    covers(&pieces, text)
}

/// The same with sets of characters. A bracket that is not closed stands for itself.
pub fn matches_sets(pattern: &str, text: &str) -> bool {
    covers(&pieces(pattern, &['!', '^']), text)
}

/// The same for scopes of grants, where only `!` turns a set around, as the seed's `fnmatchcase` has
/// it.
pub fn matches_scope(pattern: &str, text: &str) -> bool {
    covers(&pieces(pattern, &['!']), text)
}

#[derive(Debug)]
enum Piece {
    AnyRun,
    AnyOne,
    Char(char),
    Set { outside: bool, ranges: Vec<(char, char)> },
}

impl Piece {
    const fn plain(c: char) -> Self {
        match c {
            '*' => Self::AnyRun,
            '?' => Self::AnyOne,
            c => Self::Char(c),
        }
    }

    fn takes(&self, c: char) -> bool {
        match self {
            Self::AnyRun => false,
            Self::AnyOne => true,
            Self::Char(own) => *own == c,
            Self::Set { outside, ranges } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&c)) != *outside
            }
        }
    }
}

fn covers(pattern: &[Piece], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t, mut retry) = (0, 0, None);
    while let Some(c) = text.get(t) {
        match pattern.get(p) {
            Some(Piece::AnyRun) => {
                retry = Some((p + 1, t));
                p += 1;
            }
            Some(piece) if piece.takes(*c) => {
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
    pattern.iter().skip(p).all(|piece| matches!(piece, Piece::AnyRun))
}

fn pieces(pattern: &str, turns: &[char]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        let set = if c == '[' { set(rest.as_str(), turns) } else { None };
        match set {
            Some((set, after)) => {
                pieces.push(set);
                rest = after.chars();
            }
            None => pieces.push(Piece::plain(c)),
        }
    }
    pieces
}

/// The set that begins after a bracket, and what follows it. A closing bracket in the first place is
/// a member.
fn set<'t>(text: &'t str, turns: &[char]) -> Option<(Piece, &'t str)> {
    let (outside, text) = match text.strip_prefix(turns) {
        Some(members) => (true, members),
        None => (false, text),
    };
    let first = text.chars().next()?.len_utf8();
    let end = first + text.get(first..)?.find(']')?;
    let (members, after) = (text.get(..end)?, text.get(end + 1..)?);
    let mut ranges = Vec::new();
    let mut members = members.chars();
    while let Some(first) = members.next() {
        let last = members.as_str().strip_prefix('-').and_then(|rest| rest.chars().next());
        if last.is_some() {
            members.nth(1);
        }
        ranges.push((first, last.unwrap_or(first)));
    }
    Some((Piece::Set { outside, ranges }, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_stand_for_what_they_should() {
        let check = |pattern: &str, text: &str, wanted: bool| {
            assert_eq!(matches(pattern, text), wanted, "{pattern} {text}");
            assert_eq!(matches_sets(pattern, text), wanted, "{pattern} {text}");
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
    fn a_set_stands_for_one_of_its_characters() {
        let check = |pattern: &str, text: &str, wanted: bool| {
            assert_eq!(matches_sets(pattern, text), wanted, "{pattern} {text}");
        };
        check("[ab]c", "bc", true);
        check("[ab]c", "cc", false);
        check("v[0-9]*", "v2_read", true);
        check("v[0-9]*", "vx", false);
        check("[!a-c]x", "dx", true);
        check("[^a-c]x", "bx", false);
        check("[]]", "]", true);
        check("[a-]", "-", true);
        check("[ä-ü]", "ö", true);
        check("a[b", "a[b", true);
        check("a[", "a[", true);
        check("[]", "[]", true);
        check("*[0-9][0-9]", "step42", true);
        assert!(matches("[ab]", "[ab]") && !matches("[ab]", "a"));
    }

    #[test]
    fn many_stars_do_not_run_away() {
        assert!(!matches(&"*a".repeat(50), &"b".repeat(5_000)));
    }
}
