//! Compares what a page shows with what was printed.

/// What differs, in words; nothing if the page is right.
pub(super) fn difference(shown: &[String], printed: &[String]) -> Option<String> {
    let (shown, printed) = (trimmed(shown), trimmed(printed));
    if matches(&shown, &printed) {
        return None;
    }
    let list = |lines: &[&str]| lines.join("\n  ");
    Some(format!("the page shows\n  {}\nbut it printed\n  {}", list(&shown), list(&printed)))
}

/// Whether the lines fit; `...` stands for any number of lines.
pub(super) fn matches(shown: &[&str], printed: &[&str]) -> bool {
    match (shown, printed) {
        ([], []) => true,
        (["...", rest @ ..], _) => (0..=printed.len())
            .filter_map(|skipped| printed.get(skipped..))
            .any(|printed| matches(rest, printed)),
        ([line, shown @ ..], [other, printed @ ..]) => {
            line_matches(line, other) && matches(shown, printed)
        }
        _ => false,
    }
}

/// Whether one line fits; `[..]` stands for any text.
fn line_matches(shown: &str, printed: &str) -> bool {
    match shown.split_once("[..]") {
        None => shown == printed,
        Some((head, rest)) => printed.strip_prefix(head).is_some_and(|after| {
            let mut ends = after.char_indices().map(|(at, _)| at).chain([after.len()]);
            ends.any(|at| after.get(at..).is_some_and(|after| line_matches(rest, after)))
        }),
    }
}

/// Without white space at line ends and empty lines at the end.
fn trimmed(lines: &[String]) -> Vec<&str> {
    let mut lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines
}

#[test]
fn dots_stand_for_what_changes() {
    let check = |shown: &[&str], printed: &[&str], expected: bool| {
        assert_eq!(matches(shown, printed), expected, "{shown:?} {printed:?}");
    };
    check(&["a"], &["a"], true);
    check(&["a"], &["b"], false);
    check(&["a"], &["a", "b"], false);
    check(&["a", "..."], &["a", "b", "c"], true);
    check(&["a", "...", "c"], &["a", "c"], true);
    check(&["...", "c"], &["a", "d"], false);
    check(&["x [..] y"], &["x 1 2 y"], true);
    check(&["rec_[..]"], &["rec_1"], true);
    check(&["rec_[..]z"], &["rec_1"], false);
}
