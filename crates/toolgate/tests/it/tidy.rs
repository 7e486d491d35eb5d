//! The habits of the house as tests: who leans on whom, what every file has, what no file holds,
//! and that the manual leaves nothing out.

mod bounds;
mod complete;
mod layers;

use std::path::{Path, PathBuf};

/// What no build and no checkout keeps under version control.
const SKIPPED: &[&str] =
    &[".git", ".tools", ".venv", "__pycache__", "node_modules", "results", "target"];
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// What may be larger: the static table that search is built with, kept under 5 MB.
const LARGE: (&str, u64) = ("crates/search/model/model.safetensors", 5_000_000);
const LINES_MAX: usize = 700;
/// Joined here, so that this file may hold what no file may hold.
const LEFTOVERS: &[&str] = &[
    concat!("FIX", "ME"),
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("db", "g!("),
    concat!("#[ig", "nore"),
];
const WAITING: &[&str] = &[concat!("thread::", "sleep"), concat!("tokio::time::", "sleep(")];
/// Paths of one machine.
const PLACES: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/")];
/// Where locked packages may come from; anything else is a mirror of one machine.
const SOURCES: &[&str] = &[
    "registry+https://github.com/rust-lang/crates.io-index",
    "https://registry.npmjs.org/",
    "https://files.pythonhosted.org/",
    "https://pypi.org/",
];

#[test]
fn every_source_file_says_what_lives_in_it() {
    let headless = |file: &Path| !text(file).starts_with("//!");
    none(sources().filter(|file| headless(file)), "begin with a `//!` line");
}

#[test]
fn nothing_is_left_to_be_done_later() {
    let leftover = |file: &Path| LEFTOVERS.iter().any(|word| text(file).contains(word));
    none(sources().filter(|file| leftover(file)), "hold a leftover");
}

#[test]
fn no_test_sleeps() {
    let sleeps = |file: &Path| {
        let text = text(file);
        WAITING.iter().any(|wait| tests_in(file, &text).contains(wait))
    };
    none(sources().filter(|file| sleeps(file)), "wait for the clock in a test");
}

/// CW-92: the surface has one page that holds, and each of its sections is held by a test.
#[test]
fn every_section_of_the_surface_is_named_by_a_test() {
    let page = text(&root().join("docs/gateway-spec.md"));
    let sections = page.lines().filter_map(|line| line.strip_prefix("## ")?.split('.').next());
    let tests: String = sources().map(|file| tests_in(&file, &text(&file)).to_owned()).collect();
    let unnamed =
        sections.filter(|number| !tests.contains(&format!("gateway-{} §{number}", "spec")));
    let unnamed: Vec<&str> = unnamed.collect();
    assert!(page.contains("version 1") && unnamed.is_empty(), "no test names §{unnamed:?}");
}

/// CW-49: models are spoken to by clients, never by us.
#[test]
fn no_sdk_of_a_model_provider_is_locked() {
    const SDKS: &[&str] =
        &["openai", "anthropic", "genai", "gemini", "ollama", "mistral", "cohere", "rig-core"];
    let lock = text(&root().join("Cargo.lock"));
    let names = lock.lines().filter_map(|line| line.strip_prefix("name = "));
    // A tokenizer's tables, without a line of networking.
    let names = names.map(|name| name.trim_matches('"')).filter(|name| *name != "bpe-openai");
    let found: Vec<&str> = names.filter(|name| SDKS.iter().any(|sdk| name.contains(sdk))).collect();
    assert!(found.is_empty(), "{found:?}");
}

/// CW-66: a type that is only proposed elsewhere is not claimed here. CW-40: quoted, not measured.
#[test]
fn the_manual_claims_nothing_of_others() {
    for file in files().filter(|file| file.extension().is_some_and(|kind| kind == "md")) {
        assert!(!text(&file).contains("CapabilityToken"), "{}", file.display());
    }
    let modes = text(&root().join("docs/modes.md"));
    for row in ["| Anthropic | 90 % |", "| OpenAI | 50 % |", "| Google | 75 % |", "not measured"] {
        assert!(modes.contains(row), "{row}");
    }
}

#[test]
fn files_stay_small() {
    let bytes_max = |file: &Path| if file.ends_with(LARGE.0) { LARGE.1 } else { FILE_BYTES_MAX };
    let large = |file: &PathBuf| file.metadata().unwrap().len() > bytes_max(file);
    none(files().filter(large), "are over 1 MB");
    let long = |file: &Path| text(file).lines().count() > LINES_MAX;
    none(sources().filter(|file| long(file)), "have too many lines");
}

#[test]
fn a_module_is_named_after_itself() {
    let nameless = |file: &Path| file.file_name().is_some_and(|name| name == "mod.rs");
    none(sources().filter(|file| nameless(file)), "are called mod.rs");
}

#[test]
fn nothing_names_the_machine_it_was_written_on() {
    none(files().filter(|file| names_a_place(&text(file))), "name a path of one machine");
    none(files().filter(|file| locks_a_mirror(file)), "lock packages of a mirror");
}

fn names_a_place(text: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || "._-*}>".contains(c);
    let absolute = |place: &str| {
        text.match_indices(place)
            .any(|(at, _)| text.get(..at).is_some_and(|before| !before.ends_with(inside)))
    };
    PLACES.iter().any(|place| absolute(place))
}

fn locks_a_mirror(file: &Path) -> bool {
    let is_lock = file.extension().is_some_and(|kind| kind == "lock")
        || file.file_name().is_some_and(|name| name == "package-lock.json" || name == ".npmrc");
    let text = if is_lock { text(file) } else { String::new() };
    let addresses = text.lines().filter(|line| {
        let line = line.trim_start().trim_start_matches('"');
        line.starts_with("source =") || line.starts_with("resolved") || line.contains("registry=")
    });
    let mut addresses = addresses.filter(|line| line.contains("://"));
    addresses.any(|line| !SOURCES.iter().any(|source| line.contains(source)))
}

/// The part of a file that is tests: all of it, or what follows `#[cfg(test)]`.
fn tests_in<'a>(file: &Path, text: &'a str) -> &'a str {
    let shown = file.display().to_string();
    if shown.contains("/tests/") || shown.ends_with("/tests.rs") {
        return text;
    }
    text.split_once("#[cfg(test)]\nmod ").map_or("", |(_, tests)| tests)
}

fn none(offenders: impl Iterator<Item = PathBuf>, what: &str) {
    let root = root();
    let shown = offenders.map(|file| file.strip_prefix(&root).unwrap().display().to_string());
    let shown: Vec<String> = shown.collect();
    assert!(shown.is_empty(), "these files {what}:\n{}", shown.join("\n"));
}

fn sources() -> impl Iterator<Item = PathBuf> {
    let root = root();
    let ours = move |file: &PathBuf| {
        ["crates", "bench"].iter().any(|folder| file.starts_with(root.join(folder)))
    };
    files().filter(ours).filter(|file| file.extension().is_some_and(|kind| kind == "rs"))
}

/// Every file that is, or may be, under version control.
pub(crate) fn files() -> impl Iterator<Item = PathBuf> {
    let mut found = Vec::new();
    collect(&root(), &mut found);
    found.sort();
    found.into_iter()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // In a worktree `.git` is a file.
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            collect(&path, found);
        } else if path.is_file() && name != ".git" {
            found.push(path);
        }
    }
}

/// What is not text, such as a picture, is empty here.
fn text(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn the_checks_see_what_they_look_for() {
    assert!(names_a_place(&format!("cd {}main", PLACES[0])));
    assert!(!names_a_place(&format!("./net{}main", PLACES[0])));
    assert!(!names_a_place(&format!("$HOME{}main", PLACES[0])));
    let file = Path::new("crates/x/src/a.rs");
    assert_eq!(tests_in(file, "a\n#[cfg(test)]\nmod tests {b}"), "tests {b}");
    assert_eq!(tests_in(Path::new("crates/x/tests/it/a.rs"), "a"), "a");
}
