//! Queries and catalogues nobody writes in good faith.

use toolgate_search::{Doc, Index};

fn everyone(_: usize) -> bool {
    true
}

fn doc<'a>(name: &'a str, description: &'a str) -> Doc<'a> {
    Doc { name, description, ..Doc::default() }
}

fn shop() -> Index {
    Index::build(&[
        doc("send_mail", "Send a mail to somebody."),
        doc("get_weather", "The weather of a city."),
        doc("حذف_ملف", "Delete a file."),
        doc("🚀", "Launch."),
        doc("the", "A tool with the name of a filler."),
    ])
}

fn order(index: &Index, query: &str) -> Vec<usize> {
    index.rank(query, 10, &everyone).hits.iter().map(|hit| hit.doc).collect()
}

#[test]
fn a_query_that_says_nothing_finds_nothing() {
    for query in ["", " ", "\n\t\0", "?!…", "\u{200f}\u{202e}"] {
        let ranking = shop().rank(query, 10, &everyone);
        assert!(ranking.hits.is_empty() && !ranking.fits, "{query:?}: {ranking:?}");
        assert_eq!(ranking.unmatched, [] as [&str; 0], "{query:?}");
    }
}

#[test]
fn fillers_alone_fit_nothing_but_a_tool_of_that_name() {
    let ranking = shop().rank("what is it that you would", 10, &everyone);
    assert!(!ranking.fits, "{ranking:?}");
    assert_eq!(order(&shop(), "the").first(), Some(&4));
}

#[test]
fn signs_and_other_scripts_are_names_like_any() {
    let check = |query: &str, first: usize| {
        assert_eq!(order(&shop(), query).first(), Some(&first), "{query}");
    };
    check("حذف ملف", 2);
    check("حذف_ملف", 2);
    check("🚀", 3);
    let ranking = shop().rank("שלח 🔥🔥🔥", 10, &everyone);
    assert!(!ranking.fits, "{ranking:?}");
    assert_eq!(ranking.unmatched, ["שלח"]);
}

#[test]
fn what_follows_the_first_thousands_of_characters_is_not_read() {
    let long = "weather ".repeat(131_072);
    let ranking = shop().rank(&long, 10, &everyone);
    assert_eq!(ranking.hits.first().map(|hit| hit.doc), Some(1));
    let cut: String = long.chars().take(4_000).collect();
    assert_eq!(ranking, shop().rank(&cut, 10, &everyone));
    let one_word = "x".repeat(1_048_576);
    assert!(!shop().rank(&one_word, 10, &everyone).fits);
    let words: Vec<String> = (0..100_000).map(|number| format!("w{number}")).collect();
    assert!(shop().rank(&words.join(" "), 10, &everyone).unmatched.len() <= 128);
}

#[test]
fn many_tools_of_one_name_stand_in_their_order() {
    let docs = vec![doc("get", "Gets."); 3_000];
    let index = Index::build(&docs);
    for query in ["get", "GET", "gets something"] {
        assert_eq!(order(&index, query), (0..10).collect::<Vec<_>>(), "{query}");
    }
    let all = index.rank("get", usize::MAX, &everyone).hits;
    assert!(all.iter().map(|hit| hit.doc).eq(0..3_000));
    let last = index.rank("get", 10, &|doc| doc == 2_999).hits;
    assert_eq!(last.first().map(|hit| hit.doc), Some(2_999));
}

#[test]
fn names_of_one_letter_are_found_by_it() {
    let letters: Vec<String> = ('a'..='z').map(String::from).collect();
    let docs: Vec<Doc<'_>> = letters.iter().map(|name| doc(name, "The same.")).collect();
    let index = Index::build(&docs);
    for (place, letter) in letters.iter().enumerate() {
        assert_eq!(order(&index, letter).first(), Some(&place), "{letter}");
        assert_eq!(order(&index, &letter.to_uppercase()).first(), Some(&place), "{letter}");
    }
}

#[test]
fn a_tool_without_any_text_breaks_nothing() {
    let index = Index::build(&vec![Doc::default(); 100]);
    assert_eq!(order(&index, "anything"), [] as [usize; 0]);
    assert_eq!(order(&Index::build(&[]), "anything"), [] as [usize; 0]);
}
