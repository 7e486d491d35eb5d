//! The scanner against a reader that tries every pattern at every place.

use super::super::shape::COMMON;
use super::*;
use proptest::prelude::*;

fn scanner(literals: &[&str]) -> Scanner {
    let known = |literal: &&str| (literal.as_bytes().to_vec(), Anchor::Known);
    Scanner::new(literals.iter().map(known))
}

type Place = (usize, usize, String);

fn found(scanner: &Scanner, text: &str) -> Vec<Place> {
    let mut hits = Vec::new();
    scanner.each(text, |hit| hits.push((hit.start, hit.end, format!("{:?}", hit.anchor))));
    assert!(hits.is_sorted_by_key(|(start, ..)| *start));
    hits.sort();
    hits
}

/// Every pattern at every place, one after the other.
fn naive(scanner: &Scanner, text: &str) -> Vec<Place> {
    let places = (0..text.len()).flat_map(|start| scanner.patterns.iter().map(move |p| (start, p)));
    let stands = places.filter(|(start, pattern)| stands(pattern, text.as_bytes(), *start));
    let mut hits: Vec<_> = stands
        .map(|(start, p)| (start, start + p.literal.len(), format!("{:?}", p.anchor)))
        .collect();
    hits.sort();
    hits
}

fn stands(pattern: &Pattern, bytes: &[u8], start: usize) -> bool {
    let end = start + pattern.literal.len();
    let Some(found) = bytes.get(start..end) else { return false };
    let same = |exact: bool| {
        if exact { found == pattern.literal } else { found.eq_ignore_ascii_case(&pattern.literal) }
    };
    match pattern.anchor {
        Anchor::Known => same(true),
        Anchor::Shape(shape) if found.len() < 4 && shape.least > 0 => {
            let goes_on = bytes.get(end).is_some_and(|next| shape.alphabet.has(*next));
            let room = found.len() == 3 || bytes.len() >= 2 + shape.least;
            same(shape.exact_case) && goes_on && room
        }
        Anchor::Shape(shape) => same(shape.exact_case),
        Anchor::Name(_) | Anchor::Phrase(_) => same(false),
    }
}

#[test]
fn the_first_and_the_last_places_count() {
    let check = |literals: &[&str], text: &str, expected: &[(usize, usize)]| {
        let hits = found(&scanner(literals), text);
        let places: Vec<_> = hits.iter().map(|(start, end, _)| (*start, *end)).collect();
        assert_eq!(places, expected, "{text}");
    };
    check(&["abc"], "abc", &[(0, 3)]);
    check(&["abc"], "xabc ", &[(1, 4)]);
    check(&["abcdefghij"], "xabcdefghij", &[(1, 11)]);
    check(&["abc", "abcd", "bcd"], "abcd", &[(0, 3), (0, 4), (1, 4)]);
    check(&["abc"], "ABC ab", &[]);
    check(&["abc"], "", &[]);
}

#[test]
fn there_is_room_for_every_pair() {
    assert!(COMMON.pairs.len() <= pairs::MAX);
    let shapes = COMMON.patterns.iter().filter(|pattern| pattern.literal.len() == 2);
    assert!(shapes.count() == COMMON.pairs.len());
}

proptest! {
    /// Not one is missed, wherever it stands, and none is seen where it does not.
    #[test]
    fn every_occurrence_is_found(
        literals in prop::collection::btree_set("[ab_é]{3,5}|[ab]{8,10}", 1..6), text in "[ab_é]{0,60}"
    ) {
        let literals: Vec<&str> = literals.iter().map(String::as_str).collect();
        let scanner = scanner(&literals);
        prop_assert_eq!(found(&scanner, &text), naive(&scanner, &text));
    }

    /// The same for what every gate looks for, in texts made of its beginnings.
    #[test]
    fn every_announcement_is_found(
        parts in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..12, 0_u8..4, "[a-zA-Z0-9 _.~é]{0,4}"), 0..16)
    ) {
        let mut text = String::new();
        for (which, bytes, case, between) in parts {
            let literal = String::from_utf8(which.get(&COMMON.patterns).literal.clone()).unwrap();
            let part = literal.get(..literal.len().min(bytes)).unwrap_or_default();
            match case {
                0 => text.push_str(&part.to_uppercase()),
                1 => text.push_str(&part.to_lowercase()),
                2 => text.push_str(part),
                _ => text.push_str(&literal),
            }
            text.push_str(&between);
        }
        prop_assert_eq!(found(&COMMON, &text), naive(&COMMON, &text));
    }
}
