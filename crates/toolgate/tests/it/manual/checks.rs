//! Holds the blocks that are not commands against whatever reads them in the product.

use std::path::Path;

use clap::Parser as _;
use serde_json::Value;
use toolgate::cli::args::Cli;

use super::blocks::Block;

/// The block is what its language and title say it is.
pub(super) fn is_well_formed(place: &str, block: &Block) {
    match (block.lang.as_str(), block.title.as_deref()) {
        ("cedar", title) => {
            let read = policy::Rules::parse(title.unwrap_or("block"), &block.text);
            assert!(read.is_ok(), "{place}: {}", read.unwrap_err());
        }
        ("json", title) => {
            let value: Result<Value, _> = serde_json::from_str(&block.text);
            let value = value.unwrap_or_else(|error| panic!("{place}: {error}"));
            if title.is_some_and(|title| title.ends_with("manifest.json")) {
                let read = manifest::parse(&block.text);
                assert!(read.is_ok(), "{place}: {}", read.unwrap_err());
            }
            starts_toolgate(place, &value);
        }
        ("yaml", Some(title)) if is_yaml(title) => {}
        (lang, title) => panic!("{place}: nobody reads a `{lang}` block called {title:?}"),
    }
}

/// A page that shows code shows a part of an example that is compiled and run.
pub(super) fn is_in_an_example(root: &Path, place: &str, code: &str) {
    let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let known = ["embed.rs", "tools.rs"].iter().any(|name| {
        let path = root.join("crates/toolgate/examples").join(name);
        squeeze(&std::fs::read_to_string(path).unwrap()).contains(&squeeze(code))
    });
    assert!(known, "{place}: in none of the examples");
}

/// A program in another language is, to the letter, the file it is titled with: one that the
/// end-to-end tests run.
pub(super) fn is_an_example(root: &Path, place: &str, block: &Block) {
    let title = block.title.as_deref().unwrap_or_else(|| panic!("{place}: which file is it?"));
    assert!(title.starts_with("e2e/"), "{place}: `{title}` is not run by the end-to-end tests");
    let example = std::fs::read_to_string(root.join(title)).unwrap();
    assert_eq!(example, block.text, "{place}: {title} is another program");
}

/// Where a client's file starts `toolgate`, the arguments must be ones it takes.
fn starts_toolgate(place: &str, value: &Value) {
    let servers =
        ["mcpServers", "servers"].into_iter().filter_map(|key| value.get(key)?.as_object());
    for server in servers.flat_map(|servers| servers.values()) {
        if server["command"] != "toolgate" {
            continue;
        }
        let args = server["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
        let read = Cli::try_parse_from(std::iter::once("toolgate").chain(args));
        assert!(read.is_ok(), "{place}: {}", read.unwrap_err());
    }
}

/// Whether a file of this name holds settings.
pub(super) fn is_yaml(title: &str) -> bool {
    Path::new(title).extension().is_some_and(|kind| kind == "yaml")
}
