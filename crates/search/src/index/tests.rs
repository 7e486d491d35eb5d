//! Parts give the index that building from nothing gives; meanings from elsewhere are checked.

use proptest::prelude::*;

use super::*;
use crate::Ask;

const WORDS: &[&str] = &["read", "write", "file", "issue", "issues", "user", "GitHub", "s3"];

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(WORDS), 1..6).prop_map(|words| words.join("_"))
}

fn docs(rows: &[(String, String)]) -> Vec<Doc<'_>> {
    let docs = rows.iter().map(|(name, description)| Doc {
        name,
        description,
        namespace: "crm",
        ..Doc::default()
    });
    docs.collect()
}

proptest! {
    /// Wherever the parts are cut, the bytes of every answer are the same.
    #[test]
    fn the_cut_between_parts_does_not_show(
        rows in prop::collection::vec((text(), text()), 0..12),
        cuts in prop::collection::vec(0_usize..12, 0..4),
        query in text(),
    ) {
        let whole = Index::build(&docs(&rows));
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(rows.len())).collect();
        cuts.extend([0, rows.len()]);
        cuts.sort_unstable();
        let parts = cuts.windows(2).map(|pair| Arc::new(Part::build(&docs(&rows[pair[0]..pair[1]]))));
        let cut = Index::of(parts.collect());
        let ask = Ask::new(&query, 50, &|_| true);
        prop_assert_eq!(format!("{:?}", whole.ask(&ask)), format!("{:?}", cut.ask(&ask)));
        prop_assert_eq!(whole.explain(&ask), cut.explain(&ask));
        let hits = whole.ask(&ask).hits;
        prop_assert_eq!(whole.twins(&hits), cut.twins(&hits));
    }
}

fn pets() -> Index {
    let doc = |name| Doc { name, ..Doc::default() };
    Index::build(&[doc("feed_cat"), doc("feed_dog"), doc("feed_fish")])
}

/// Vectors that say what no word says.
const TOLD: [[f32; 2]; 3] = [[0.9, 0.1], [0.1, 0.9], [0.2, 0.8]];

#[test]
fn meanings_from_elsewhere_decide_where_the_query_brings_its_own() {
    let index = pets().with_meanings(&TOLD).unwrap();
    let first = |meaning: Option<&[f32]>| {
        let ask = Ask { meaning, ..Ask::new("quux", 3, &|_| true) };
        index.ask(&ask).hits.first().map(|hit| hit.doc)
    };
    assert_eq!(first(Some(&[0.0, 1.0])), Some(1));
    assert_eq!(first(Some(&[1.0, 0.0])), Some(0));
    let plain = pets().rank("quux", 3, &|_| true).hits.first().map(|hit| hit.doc);
    assert_eq!(first(None), plain, "without one the built-in table answers");
    assert_eq!(first(Some(&[1.0, 0.0, 0.0])), plain, "so it does for another length");
    assert_eq!(first(Some(&[f32::NAN, 0.0])), plain, "and for what is no vector");
}

#[test]
fn an_exact_name_beats_any_meaning() {
    let index = pets().with_meanings(&TOLD).unwrap();
    let ask = Ask { meaning: Some(&[1.0, 0.0]), ..Ask::new("feed_fish", 1, &|_| true) };
    assert_eq!(index.ask(&ask).hits[0].doc, 2);
}

#[test]
fn hidden_documents_have_no_influence_through_meanings_either() {
    let index = pets().with_meanings(&TOLD).unwrap();
    let meaning = Some(&[0.3, 0.7][..]);
    let seen = index.ask(&Ask { meaning, ..Ask::new("pet", 3, &|doc| doc > 0) });
    let doc = |name| Doc { name, ..Doc::default() };
    let alone = Index::build(&[doc("feed_dog"), doc("feed_fish")]);
    let alone = alone.with_meanings(&TOLD[1..]).unwrap();
    let alone = alone.ask(&Ask { meaning, ..Ask::new("pet", 3, &|_| true) });
    let scores = |ranking: &crate::Ranking, by: usize| -> Vec<(usize, f64)> {
        ranking.hits.iter().map(|hit| (hit.doc + by, hit.score)).collect()
    };
    assert_eq!(scores(&seen, 0), scores(&alone, 1));
}

#[test]
fn meanings_that_do_not_fit_are_refused() {
    let check = |vectors: &[Vec<f32>], expected: &str| {
        let error = pets().with_meanings(vectors).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(&[], "0 vectors for 3 tools");
    check(&[vec![1.0], vec![1.0, 2.0], vec![1.0]], "has 2 numbers");
    check(&[vec![], vec![], vec![]], "has 0 numbers");
    check(&[vec![1.0], vec![f32::INFINITY], vec![1.0]], "not finite");
}
