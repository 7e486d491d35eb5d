//! Who may lean on whom, and where the big foreign libraries live.

use std::collections::{BTreeMap, BTreeSet};

use super::{root, text};

const ALL: &[&str] = &["*"];

/// The table of the design: a crate, and the crates it may lean on.
const MAY_LEAN_ON: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("protocol", &["model"]),
    ("manifest", &["model"]),
    ("openapi", &["model"]),
    ("search", &["model"]),
    ("catalog", &["model", "search", "manifest"]),
    ("policy", &["model", "manifest"]),
    ("context", &["model"]),
    ("store", &["model"]),
    ("auth", &["model"]),
    ("upstream", &["model", "policy", "protocol", "openapi", "auth"]),
    ("gateway", &["model", "catalog", "policy", "context", "store", "upstream", "manifest"]),
    ("server", &["model", "protocol", "auth", "gateway"]),
    ("toolgate", ALL),
    ("testkit", ALL),
];

/// A foreign library, who may use it, and who may use it in tests besides.
const CONFINED: &[(&str, &[&str], &[&str])] = &[
    ("sqlx", &["store", "bench"], &[]),
    ("object_store", &["store"], &[]),
    ("axum", &["server", "testkit"], &[]),
    ("cedar-policy", &["policy"], &[]),
    ("jsonschema", &["catalog"], ALL),
    ("rmcp", &["testkit"], ALL),
    ("saphyr-parser", &["toolgate"], &[]),
    ("clap", &["toolgate"], &[]),
    ("clap_complete", &["toolgate"], &[]),
    ("hyper", &["upstream", "server", "bench"], &["store", "toolgate"]),
    ("hyper-util", &["upstream", "server", "store", "bench"], &["toolgate"]),
    ("hyper-rustls", &["upstream", "store"], &[]),
    ("rustls", &["upstream", "store"], &[]),
];

#[test]
fn every_crate_leans_only_on_what_lies_below_it() {
    let crates: BTreeSet<String> = folders().into_iter().filter(|name| name != "bench").collect();
    let known: BTreeSet<String> = MAY_LEAN_ON.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(crates, known, "the table knows every crate, and no other");
    for (name, allowed) in MAY_LEAN_ON {
        let manifest = Manifest::of(name);
        let ours = |names: &BTreeSet<String>| -> BTreeSet<String> {
            names.intersection(&known).cloned().collect()
        };
        for other in ours(&manifest.dependencies) {
            let fine = allows(allowed, &other) && (other != "testkit");
            assert!(fine, "`{name}` may not lean on `{other}`");
        }
        for other in ours(&manifest.dev_dependencies) {
            let fine = allows(allowed, &other) || other == "testkit";
            assert!(fine, "the tests of `{name}` may not lean on `{other}`");
        }
    }
}

#[test]
fn big_foreign_libraries_stay_where_they_belong() {
    for name in folders() {
        let manifest = Manifest::of(&name);
        for (library, users, testers) in CONFINED {
            let used = manifest.dependencies.contains(*library);
            assert!(!used || allows(users, &name), "`{name}` may not use `{library}`");
            let tested = manifest.dev_dependencies.contains(*library);
            let fine = allows(users, &name) || allows(testers, &name);
            assert!(!tested || fine, "the tests of `{name}` may not use `{library}`");
        }
    }
}

/// SG-6: what speaks MCP to servers is ours, so that the library loads where no SDK is; the one that
/// there is stands in tests alone.
#[test]
fn nothing_that_ships_needs_an_mcp_sdk() {
    let shipped = folders().into_iter().filter(|name| name != "testkit" && name != "bench");
    let leaning: Vec<String> =
        shipped.filter(|name| Manifest::of(name).dependencies.contains("rmcp")).collect();
    assert!(leaning.is_empty(), "{leaning:?}");
}

/// ARCHITECTURE.md draws the same table.
#[test]
fn the_architecture_tells_the_same_layers() {
    let page = text(&root().join("ARCHITECTURE.md"));
    let told: BTreeMap<String, BTreeSet<String>> = page.lines().filter_map(row).collect();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let known = MAY_LEAN_ON.iter().map(|(name, allowed)| ((*name).to_owned(), names(allowed)));
    assert_eq!(told, known.collect());
}

/// ``| `crate` | the only crate that… | `a`, `b` |``
fn row(line: &str) -> Option<(String, BTreeSet<String>)> {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [name, _, leans] = cells.as_slice() else { return None };
    let name = name.strip_prefix('`')?.strip_suffix('`')?;
    let leans = match *leans {
        "all" => BTreeSet::from(["*".to_owned()]),
        _ => leans.split('`').skip(1).step_by(2).map(str::to_owned).collect(),
    };
    Some((name.to_owned(), leans))
}

fn allows(allowed: &[&str], name: &str) -> bool {
    allowed == ALL || allowed.contains(&name)
}

fn folders() -> Vec<String> {
    let crates = root().join("crates").read_dir().unwrap();
    let crates = crates.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let names = crates.map(|path| path.file_name().unwrap().to_string_lossy().into_owned());
    names.chain(["bench".to_owned()]).collect()
}

/// The names a crate depends on.
#[derive(Debug, Default)]
struct Manifest {
    dependencies: BTreeSet<String>,
    dev_dependencies: BTreeSet<String>,
}

impl Manifest {
    fn of(name: &str) -> Self {
        let folder = if name == "bench" { root() } else { root().join("crates") };
        Self::read(&text(&folder.join(name).join("Cargo.toml")))
    }

    /// Our manifests are plain: a section a line, a dependency a line.
    fn read(text: &str) -> Self {
        let (mut manifest, mut section) = (Self::default(), "");
        for line in text.lines().map(str::trim) {
            if let Some(title) = line.strip_prefix('[') {
                section = title.trim_end_matches(']');
                continue;
            }
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if name.is_empty() || name.starts_with('#') {
                continue;
            }
            let is_dev = section.ends_with("dev-dependencies");
            if is_dev {
                manifest.dev_dependencies.insert(name.to_owned());
            } else if section.ends_with("dependencies") {
                manifest.dependencies.insert(name.to_owned());
            }
        }
        manifest
    }
}

#[test]
fn manifests_and_rows_are_read() {
    let text = "[package]\nname = \"x\"\n[dependencies]\n# why\nmodel.workspace = true\n\
                sqlx = { workspace = true }\n[target.'cfg(unix)'.dependencies]\nnix = \"1\"\n\
                [dev-dependencies]\ninsta.workspace = true\n";
    let manifest = Manifest::read(text);
    assert_eq!(manifest.dependencies.iter().collect::<Vec<_>>(), ["model", "nix", "sqlx"]);
    assert_eq!(manifest.dev_dependencies.iter().collect::<Vec<_>>(), ["insta"]);
    let (name, leans) = row("| `catalog` | says what exists | `model`, `search` |").unwrap();
    assert_eq!((name.as_str(), leans.len()), ("catalog", 2));
    assert_eq!(row("| a | b |"), None);
}
