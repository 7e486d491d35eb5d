//! Which family a tool belongs to, read from its name when nobody says.

use crate::limits;

/// The namespace of tools whose name tells nothing.
pub const FALLBACK: &str = "mcp";

/// The family in a tool's name: text before the first dot, else before the first slash, else the
/// first of three or more parts between underscores, else `mcp`.
pub fn infer_namespace(name: &str) -> String {
    normalise(prefix(name).unwrap_or(FALLBACK))
}

/// Forces any text into the grammar of namespaces: `[a-z][a-z0-9_-]{0,63}`.
pub fn normalise(text: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let text: String = text.to_lowercase().chars().map(legal).collect();
    let text = text.trim_matches(['_', '-']);
    let text = match text.chars().next() {
        None => FALLBACK.to_owned(),
        Some(first) if first.is_ascii_digit() => format!("ns_{text}"),
        Some(_) => text.to_owned(),
    };
    text.chars().take(limits::NAMESPACE_CHARS_MAX).collect()
}

/// The name without the family that a dot or slash sets apart, if that is the namespace it has.
pub(crate) fn strip<'a>(name: &'a str, namespace: &str) -> &'a str {
    let split = name.split_once('.').filter(|(family, _)| !family.is_empty());
    match split.or_else(|| name.split_once('/')) {
        Some((family, rest)) if !rest.is_empty() && normalise(family) == namespace => rest,
        _ => name,
    }
}

fn prefix(name: &str) -> Option<&str> {
    let before = |mark: char| name.split_once(mark).map(|(family, _)| family);
    let telling = |family: &&str| !family.is_empty();
    let dotted = before('.').filter(telling);
    let slashed = || before('/').filter(telling);
    let underscored = || (name.split('_').count() >= 3).then(|| before('_')).flatten();
    dotted.or_else(slashed).or_else(|| underscored().filter(telling))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// CW-9, CW-10, CW-11, CW-12, CW-13, and the odd cases of semantics 2.3 forced into the grammar (C2).
    #[test]
    fn the_namespace_is_read_from_the_name() {
        let check = |name: &str, expected: &str| assert_eq!(infer_namespace(name), expected);
        check("github.create_issue", "github");
        check("filesystem/read", "filesystem");
        check("slack_send_message", "slack");
        check("search_database", "mcp");
        check("payments_issue_refund", "payments");
        check("GitHub.x", "github");
        check("a/b.c", "a_b");
        check(".hidden", "mcp");
        check("/abs", "mcp");
        check("_a_b", "mcp");
        check("__x__", "mcp");
        check("1password.get", "ns_1password");
        check("データ.get", "mcp");
        check("", "mcp");
    }

    #[test]
    fn only_a_set_apart_family_is_stripped() {
        let check = |name: &str, namespace: &str, expected: &str| {
            assert_eq!(strip(name, namespace), expected);
        };
        check("github.create_issue", "github", "create_issue");
        check("filesystem/read", "filesystem", "read");
        check("slack_send_message", "slack", "slack_send_message");
        check("github.create_issue", "crm", "github.create_issue");
        check("github.", "github", "github.");
    }

    proptest! {
        #[test]
        fn every_name_gets_a_namespace_in_the_grammar(name in any::<String>()) {
            let namespace = infer_namespace(&name);
            prop_assert!(namespace.starts_with(|c: char| c.is_ascii_lowercase()));
            prop_assert!(namespace.len() <= limits::NAMESPACE_CHARS_MAX);
            let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
            prop_assert!(namespace.chars().all(legal));
            prop_assert_eq!(normalise(&namespace), namespace.trim_end_matches(['_', '-']));
        }
    }
}
