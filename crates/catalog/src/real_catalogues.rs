//! The whole road over catalogues as servers list them: some of our own in the manner of real ones,
//! always, and those of real servers when they are at hand.

use std::collections::BTreeSet;
use std::path::PathBuf;

use model::{Generation, UpstreamName};
use serde_json::Value;

use crate::browse::Query;
use crate::generation::{Catalogue, Source};
use crate::menu::{Mode, menu};
use crate::shown::Naming;

fn own() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/catalogs").into()
}

fn folder() -> PathBuf {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
    let shared = std::env::var_os("TOOLGATE_SHARED").map_or_else(|| beside.into(), PathBuf::from);
    shared.join("catalogs")
}

fn sources(folder: PathBuf) -> Option<Vec<Source>> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).ok()?.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let source = |file: PathBuf| {
        let answer: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let upstream = UpstreamName::from_string(file.file_stem().unwrap().to_str().unwrap());
        let definitions = answer["result"]["tools"].as_array().unwrap().clone();
        Source {
            upstream,
            protocol: "mcp",
            namespace: None,
            definitions,
            manifest: None,
            extras: crate::Extras::default(),
        }
    };
    Some(files.into_iter().map(source).collect())
}

/// Lists in the manner of real servers: names that collide, long and odd ones, references, drafts.
#[test]
fn our_own_catalogues_are_taken_in_whole() {
    let sources = sources(own()).unwrap();
    assert_eq!(
        sources.iter().map(|source| source.definitions.len()).collect::<Vec<_>>(),
        [5, 4, 4]
    );
    taken_in_whole(sources);
}

/// CW-98: `tools/list` of real servers, word for word.
#[test]
fn real_catalogues_are_taken_in_whole() {
    let Some(sources) = sources(folder()) else {
        eprintln!("!!! SKIPPED: no real catalogues at {}; set TOOLGATE_SHARED", folder().display());
        return;
    };
    let tools: usize = sources.iter().map(|source| source.definitions.len()).sum();
    assert_eq!((sources.len(), tools), (38, 483));
    taken_in_whole(sources);
}

fn taken_in_whole(sources: Vec<Source>) {
    let listed: usize = sources.iter().map(|source| source.definitions.len()).sum();
    let catalogue = Catalogue::build(Generation(1), sources, Naming::Auto);
    assert_eq!(catalogue.entries().len(), listed, "{:?}", catalogue.findings());
    for names in [
        |entry: &crate::Entry| entry.shown_name.clone(),
        |entry: &crate::Entry| entry.item.ids.wire.clone(),
    ] {
        let unique: BTreeSet<String> =
            catalogue.entries().iter().map(|entry| names(entry)).collect();
        assert_eq!(unique.len(), listed);
    }
    for entry in catalogue.entries() {
        assert_eq!(entry.quarantined(), None, "{}", entry.item.key);
        let home = catalogue.resolve(&entry.shown_name).unwrap();
        assert_eq!(home.item.key, entry.item.key);
    }
    assert_eq!(menu(Mode::Native, &catalogue, &|_| true).len(), listed);
    let query = Query::Words("create a github issue".to_owned());
    let found = catalogue.browse(&query, 5, &|_| true).unwrap();
    assert!(found.cards[0].id.contains("issue"), "{:?}", found.cards);
}
