//! Floors under the quality of search: set a little below what was measured, so that it can only
//! fall in the open. `bench search` has the figures themselves.

use serde_json::Value;

use crate::world::{ours, shared};

fn check(name: &str, measured: (f64, f64), floor: (f64, f64)) {
    println!("{name}: R@1 {:.3} R@5 {:.3}", measured.0, measured.1);
    assert!(measured.0 >= floor.0 && measured.1 >= floor.1, "{name}: {measured:?} < {floor:?}");
}

fn all(_: &Value) -> bool {
    true
}

#[test]
fn plain_words_find_the_demo_tools() {
    check("demo", ours("demo").recall(&all), (0.50, 0.83));
}

#[test]
fn plain_words_find_generated_tools() {
    check("generated", ours("generated").recall(&all), (0.52, 0.75));
}

#[test]
fn other_languages_find_tools_far_better_than_chance() {
    let set = ours("languages");
    for language in ["de", "es", "fr", "zh"] {
        check(language, set.recall(&|query| query["language"] == language), (0.8, 0.9));
    }
}

/// Asked of tools the glossary was not written for.
#[test]
fn other_languages_find_tools_of_a_strange_catalogue_better_than_chance() {
    let set = ours("abroad");
    for language in ["de", "es", "fr", "zh"] {
        check(language, set.recall(&|query| query["language"] == language), (0.2, 0.4));
    }
}

#[test]
fn the_shared_sets_keep_their_recall() {
    let floors = [
        ("contextweaver_gold", (0.70, 0.885)),
        ("mcpproxy_golden", (0.59, 0.90)),
        ("toolalpaca", (0.69, 0.91)),
        ("restbench", (0.295, 0.535)),
        ("rotbench", (0.525, 0.75)),
        ("metatool_multi", (0.35, 0.815)),
    ];
    for (name, floor) in floors {
        if let Some(set) = shared(name) {
            check(name, set.recall(&all), floor);
        }
    }
}
