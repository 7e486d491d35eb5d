//! What search promises whatever the catalogue.

use proptest::prelude::*;
use toolgate_search::{Ask, Doc, Index};

use crate::world::ours;

fn everyone(_: usize) -> bool {
    true
}

const VERBS: &[&str] = &["get", "list", "create", "delete", "search", "send", "update", "open"];
const NOUNS: &[&str] = &["file", "issue", "user", "invoice", "message", "branch", "city", "refund"];

prop_compose! {
    fn name()(verb in prop::sample::select(VERBS), noun in prop::sample::select(NOUNS), number in 0..40_u8, joint in prop::sample::select(&["_", ".", "-"][..]))
        -> String {
        format!("{verb}{joint}{noun}{joint}{number}")
    }
}

prop_compose! {
    fn about()(words in prop::collection::vec(prop::sample::select([VERBS, NOUNS].concat()), 3..12)) -> String {
        words.join(" ")
    }
}

/// Tools with different names, each with something to say.
fn tools() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::btree_map(name(), about(), 1..25)
        .prop_map(|tools| tools.into_iter().collect())
}

fn docs(tools: &[(String, String)]) -> Vec<Doc<'_>> {
    let docs = tools.iter().map(|(name, description)| Doc {
        name,
        description,
        namespace: "crm",
        ..Doc::default()
    });
    docs.collect()
}

/// The same name as other programs would write it.
fn renderings(name: &str) -> Vec<String> {
    let spaced = name.replace(['_', '.', '-'], " ");
    let camel: String = spaced
        .split(' ')
        .enumerate()
        .map(|(at, part)| {
            let (head, tail) = part.split_at(1);
            if at == 0 { part.to_owned() } else { head.to_uppercase() + tail }
        })
        .collect();
    vec![
        name.to_owned(),
        name.to_uppercase(),
        spaced,
        camel,
        format!("crm.{name}"),
        format!("crm__{name}"),
        format!("  {name} "),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn an_exact_name_comes_first_in_any_rendering(tools in tools(), pick in any::<prop::sample::Index>()) {
        let index = Index::build(&docs(&tools));
        let doc = pick.index(tools.len());
        for spelling in renderings(&tools[doc].0) {
            let hits = index.rank(&spelling, 3, &everyone).hits;
            let first = hits.first().map(|hit| hit.doc);
            // Two names may be one but for separators.
            let squash = |name: &str| name.replace(['_', '.', '-'], "");
            let same = first.is_some_and(|first| squash(&tools[first].0) == squash(&tools[doc].0));
            prop_assert!(same, "{spelling}: {:?}", first.map(|first| &tools[first]));
        }
        prop_assert_eq!(index.rank(&tools[doc].0, 1, &everyone).hits[0].doc, doc);
    }

    #[test]
    fn a_name_and_its_description_find_the_tool_in_the_first_three(tools in tools(), pick in any::<prop::sample::Index>()) {
        let doc = pick.index(tools.len());
        let query = format!("{} {}", tools[doc].0, tools[doc].1);
        let hits = Index::build(&docs(&tools)).rank(&query, 3, &everyone).hits;
        prop_assert!(hits.iter().any(|hit| hit.doc == doc), "{query}: {hits:?}");
    }

    #[test]
    fn unrelated_tools_never_take_an_exact_hit_away(tools in tools(), more in tools()) {
        let name = "archive_quarterly_ledger";
        let mut all = tools.clone();
        all.push((name.to_owned(), "Move old rows away.".to_owned()));
        all.extend(more);
        let hits = Index::build(&docs(&all)).rank(name, 1, &everyone).hits;
        prop_assert_eq!(hits[0].doc, tools.len());
    }

    #[test]
    fn the_same_catalogue_and_query_give_the_same_bytes(tools in tools(), query in about()) {
        let bytes = |index: &Index| format!("{:?}", index.rank(&query, 20, &everyone));
        let index = Index::build(&docs(&tools));
        prop_assert_eq!(bytes(&index), bytes(&Index::build(&docs(&tools))));
    }

    #[test]
    fn use_only_reorders_what_is_nearly_the_same(tools in tools(), query in about(), seed in any::<u32>()) {
        let index = Index::build(&docs(&tools));
        let counts = |doc: usize| seed.rotate_left(u32::try_from(doc).unwrap()) % 5;
        let ask = Ask::new(&query, 50, &everyone);
        let plain = index.ask(&ask);
        prop_assert_eq!(&plain, &index.ask(&Ask { uses: Some(&|_| 0), ..ask }));
        let nudged = index.ask(&Ask { uses: Some(&counts), ..ask });
        prop_assert_eq!(plain.fits, nudged.fits);
        let place = |doc: usize| nudged.hits.iter().position(|hit| hit.doc == doc);
        for (better, worse) in plain.hits.iter().zip(plain.hits.iter().skip(1)) {
            let apart = better.score - worse.score >= 0.01;
            let ahead = counts(better.doc) >= counts(worse.doc);
            prop_assert!(!(apart || ahead) || place(better.doc) < place(worse.doc));
        }
        prop_assert_eq!(&nudged, &index.ask(&Ask { uses: Some(&counts), ..ask }));
    }

    #[test]
    fn no_query_breaks_it(query in any::<String>(), tools in tools()) {
        let index = Index::build(&docs(&tools));
        let ranking = index.rank(&query, 5, &everyone);
        prop_assert!(ranking.hits.len() <= 5);
        let told = index.explain(&Ask { uses: Some(&|doc| u32::try_from(doc).unwrap()), ..Ask::new(&query, 5, &everyone) });
        prop_assert_eq!(told.len(), ranking.hits.len());
        for why in told {
            let sum = why.from_words + why.from_meaning + why.from_names + why.from_coverage + why.from_use;
            prop_assert!((sum - why.score).abs() < 1e-4);
        }
        index.twins(&ranking.hits);
    }
}

#[test]
fn every_demo_tool_is_reachable_by_name_and_by_name_with_description() {
    let set = ours("demo");
    let docs = set.docs();
    let index = set.index();
    for (number, doc) in docs.iter().enumerate() {
        assert_eq!(index.rank(doc.name, 1, &everyone).hits[0].doc, number, "{}", doc.name);
        let query = format!("{} {}", doc.name, doc.description);
        let hits = index.rank(&query, 3, &everyone).hits;
        assert!(hits.iter().any(|hit| hit.doc == number), "{query}");
    }
}

#[test]
fn a_namespace_said_is_understood() {
    let docs = ["github", "gitlab", "jira"].map(|namespace| Doc {
        name: "create_issue",
        namespace,
        description: "Open a new issue.",
        ..Doc::default()
    });
    let index = Index::build(&docs);
    for (number, namespace) in ["github", "gitlab", "jira"].into_iter().enumerate() {
        let hits = index.rank(&format!("open an issue in {namespace}"), 3, &everyone).hits;
        assert_eq!(hits[0].doc, number, "{namespace}");
    }
}

#[test]
fn a_namespace_of_two_words_is_understood_and_a_filler_names_none() {
    let docs = ["a", "google_drive", "one_drive"].map(|namespace| Doc {
        name: "read_file",
        namespace,
        description: "Read a file.",
        ..Doc::default()
    });
    let index = Index::build(&docs);
    let names = |query: &str| {
        let told = index.explain(&Ask::new(query, 3, &everyone));
        let said = told.iter().filter(|why| why.from_names > 0.0).map(|why| why.doc);
        said.collect::<Vec<_>>()
    };
    assert_eq!(names("read a file from Google Drive"), [1]);
    assert_eq!(names("read a file"), Vec::<usize>::new());
}

#[test]
fn nothing_fits_is_said_where_nothing_does() {
    let index = ours("demo").index();
    let check =
        |query: &str, fits: bool| assert_eq!(index.rank(query, 3, &everyone).fits, fits, "{query}");
    check("refund this transaction", true);
    check("list the files in a folder", true);
    check("knit a woollen sweater", false);
    check("who won the chess olympiad", false);
    check("", false);
}

#[test]
fn a_slip_in_every_word_is_seen_through() {
    let set = ours("demo");
    let index = set.index();
    let check = |query: &str, expected: &str| {
        let hits = index.rank(query, 3, &everyone).hits;
        assert!(hits.iter().any(|hit| set.tools[hit.doc]["name"] == expected), "{query}");
    };
    check("wether forcast", "weather_get_forecast");
    check("isue a refnd", "payments_issue_refund");
    check("delte documnt", "files_delete_document");
    check("serach tickest", "tickets_search_tickets");
}
