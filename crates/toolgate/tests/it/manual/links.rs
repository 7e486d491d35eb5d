//! Every relative link of every page leads to a file, and to a heading where it names one.

use std::collections::BTreeSet;
use std::path::Path;

use crate::tidy::files;

pub(super) fn check(root: &Path) {
    let mut dead = Vec::new();
    for page in files().filter(|path| path.extension().is_some_and(|kind| kind == "md")) {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in targets(&text) {
            if !leads_somewhere(&page, &text, link) {
                dead.push(format!("{}: {link}", page.strip_prefix(root).unwrap().display()));
            }
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

fn leads_somewhere(page: &Path, text: &str, link: &str) -> bool {
    if link.contains("://") || link.starts_with("mailto:") {
        return true;
    }
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, id)| (file, Some(id)));
    let target = page.parent().unwrap().join(file);
    let text = match (file, anchor) {
        ("", _) => text.to_owned(),
        (_, None) => return target.exists(),
        (_, Some(_)) => std::fs::read_to_string(&target).unwrap_or_default(),
    };
    anchor.is_none_or(|id| anchors(&text).contains(id))
}

/// What stands in the round brackets of `[words](target)`, outside of code.
fn targets(text: &str) -> Vec<&str> {
    let lines = prose(text).flat_map(|line| line.split('`').step_by(2));
    let links = lines.flat_map(|part| part.split("](").skip(1));
    links.filter_map(|rest| rest.split(')').next()).collect()
}

/// The ids that `GitHub` gives to headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    let id = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(id).collect()
}

fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_block = false;
    text.lines().filter(move |line| {
        let fence = line.starts_with("```");
        in_block ^= fence;
        !fence && !in_block
    })
}

#[test]
fn links_and_headings_are_found() {
    let page = "# A `b` c: d\n[x](y.md#z) and [w](v) not `[a](b)`\n```text\n[q](r)\n# no\n```\n";
    assert_eq!(targets(page), ["y.md#z", "v"]);
    assert_eq!(anchors(page), BTreeSet::from(["a-b-c-d".to_owned()]));
}
