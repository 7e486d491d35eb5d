//! What a ranking promises, by example and by property.

use proptest::prelude::*;

use super::*;
use crate::Doc;

fn doc<'a>(name: &'a str, description: &'a str) -> Doc<'a> {
    Doc { name, description, ..Doc::default() }
}

fn everyone(_: usize) -> bool {
    true
}

fn order(docs: &[Doc<'_>], query: &str) -> Vec<usize> {
    let ranking = Index::build(docs).rank(query, 10, &everyone);
    ranking.hits.iter().map(|hit| hit.doc).collect()
}

#[test]
fn a_word_in_the_name_outweighs_the_same_word_elsewhere() {
    let named = doc("refund", "gives money back");
    let parameter = Doc { params: vec!["refund"], ..doc("pay", "moves money") };
    let told = doc("ledger", "lists a refund");
    assert_eq!(order(&[told, parameter, named], "refund").first(), Some(&2));
}

#[test]
fn identifiers_are_found_by_their_parts_in_any_number() {
    let docs = [doc("get_weather", ""), doc("createIssue", ""), doc("list.branches", "")];
    let check = |query: &str, expected: &[usize]| assert_eq!(order(&docs, query), expected);
    check("create an issue", &[1]);
    check("issues", &[1]);
    check("branch", &[2]);
    check("GET WEATHER", &[0]);
}

#[test]
fn the_exact_name_comes_first_in_any_case() {
    let crowd = "search search search issue issue issue";
    let docs = [doc("search_search", crowd), doc("issue_issue", crowd), doc("search_issue", "")];
    assert_eq!(order(&docs, "Search_Issue").first(), Some(&2));
    assert_eq!(order(&[doc("x", ""), doc("___", "")], "___"), [1]);
}

#[test]
fn words_that_match_nothing_are_named_as_spelt() {
    let index = Index::build(&[doc("get_weather", "")]);
    let ranking = index.rank("the Weather in Atlantis, Atlantis", 10, &everyone);
    assert_eq!(ranking.unmatched, ["Atlantis"]);
    assert_eq!(ranking.hits.len(), 1);
}

#[test]
fn a_word_only_a_hidden_document_has_is_unmatched() {
    let index = Index::build(&[doc("get_weather", ""), doc("drop_database", "")]);
    let ranking = index.rank("database", 10, &|doc| doc == 0);
    assert_eq!(ranking.unmatched, ["database"]);
    assert_eq!(ranking.hits, []);
}

#[test]
fn ties_keep_the_order_of_the_documents() {
    assert_eq!(order(&[doc("note", ""), doc("note", ""), doc("note", "")], "notes"), [0, 1, 2]);
}

const VOCABULARY: &[&str] = &[
    "read", "reads", "write", "file", "folder", "issue", "issues", "issueing", "the", "GitHub",
    "s3", "kubernet", "zomato", "zomatos",
];
/// What a caller may type: the same, misspelt, in other languages, or by namespace.
const SPOKEN: &[&str] = &[
    "raed",
    "fiel",
    "isue",
    "issuess",
    "isssue",
    "kubernets",
    "zomatto",
    "zomatosx",
    "datei",
    "lösche",
    "删除文件",
    "crm",
    "google drive",
    "directory",
    "ticket",
    "is",
    "read_file",
];

#[derive(Clone, Debug)]
struct Row {
    name: String,
    about: String,
    namespace: &'static str,
    params: Vec<&'static str>,
    is_seen: bool,
}

prop_compose! {
    fn row()(
        name in text(),
        about in text(),
        namespace in prop::sample::select(&["crm", "google_drive", "issues", ""][..]),
        params in prop::collection::vec(prop::sample::select(VOCABULARY), 0..3),
        is_seen in any::<bool>(),
    ) -> Row {
        Row { name, about, namespace, params, is_seen }
    }
}

fn query() -> impl Strategy<Value = String> {
    let words = [VOCABULARY, SPOKEN].concat();
    prop::collection::vec(prop::sample::select(words), 0..6).prop_map(|words| words.join(" "))
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(VOCABULARY), 0..6).prop_map(|words| words.join("_"))
}

prop_compose! {
    fn world()(rows in prop::collection::vec(row(), 0..12), query in query())
        -> (Vec<Row>, String) {
        (rows, query)
    }
}

fn docs<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<Doc<'a>> {
    let docs = rows.map(|row| Doc {
        namespace: row.namespace,
        params: row.params.clone(),
        ..doc(&row.name, &row.about)
    });
    docs.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// A hidden document leaves no trace: every answer is that of an index which never had it.
    #[test]
    fn hidden_documents_have_no_influence((rows, query) in world()) {
        let whole = Index::build(&docs(rows.iter()));
        let alone = Index::build(&docs(rows.iter().filter(|row| row.is_seen)));
        let kept: Vec<usize> = (0..rows.len()).filter(|doc| rows[*doc].is_seen).collect();
        let sees = |doc: usize| rows[doc].is_seen;
        let mut lone = alone.rank(&query, 50, &everyone);
        let mut told = alone.explain(&Ask::new(&query, 50, &everyone));
        let mut twins = alone.twins(&lone.hits);
        for doc in lone.hits.iter_mut().map(|hit| &mut hit.doc)
            .chain(told.iter_mut().map(|why| &mut why.doc))
            .chain(twins.iter_mut().flat_map(|twin| [&mut twin.doc, &mut twin.of]))
        {
            *doc = kept[*doc];
        }
        let seen = whole.rank(&query, 50, &sees);
        prop_assert_eq!(&seen, &lone);
        prop_assert_eq!(whole.explain(&Ask::new(&query, 50, &sees)), told);
        prop_assert_eq!(whole.twins(&seen.hits), twins);
    }

    #[test]
    fn a_ranking_is_ordered_bounded_and_repeatable((rows, query) in world(), top_k in 0_usize..8) {
        let index = Index::build(&docs(rows.iter()));
        let ranking = index.rank(&query, top_k, &everyone);
        prop_assert!(ranking.hits.len() <= top_k);
        let falls = |pair: &[Hit]| (pair[1].score, pair[0].doc) < (pair[0].score, pair[1].doc);
        prop_assert!(ranking.hits.windows(2).all(falls));
        prop_assert!(ranking.hits.iter().all(|hit| hit.score.is_finite() && hit.score > 0.0));
        prop_assert_eq!(ranking, Index::build(&docs(rows.iter())).rank(&query, top_k, &everyone));
    }

    #[test]
    fn no_query_and_no_document_can_break_it(name in any::<String>(), query in any::<String>()) {
        let ranking = Index::build(&[doc(&name, &query)]).rank(&query, 5, &everyone);
        prop_assert!(ranking.hits.len() <= 1);
    }
}
