//! The manual is true: what README.md and docs/ show is run, parsed or looked up here.
//!
//! A `console` block is typed into a terminal with a home of its own, in the order of the page, and
//! must print what the page shows: `...` stands for any lines, `[..]` for any text within one. A
//! block with a `title` is written under that name and checked. `ignore=reason` leaves a block out.

mod blocks;
mod checks;
mod links;
mod shown;
mod terminal;

use std::path::{Path, PathBuf};

use blocks::{Block, Step};
use terminal::Terminal;
pub(crate) use terminal::open_terminal;

/// Blocks that nothing runs. Raise it only with a reason in the block.
const IGNORED_MAX: usize = 6;

macro_rules! pages {
    ($($test:ident $page:literal)*) => {
        const PAGES: &[&str] = &[$($page),*];
        $(#[test] fn $test() { follow($page); })*
    };
}

pages! {
    the_readme_is_true "README.md"
    approvals_are_true "docs/approvals.md"
    the_cli_page_is_true "docs/cli.md"
    the_clients_page_is_true "docs/clients.md"
    the_configuration_page_is_true "docs/configuration.md"
    the_demo_page_is_true "docs/demo.md"
    the_drift_page_is_true "docs/drift.md"
    the_embedding_page_is_true "docs/embedding.md"
    the_surface_is_told "docs/gateway-spec.md"
    getting_started_is_true "docs/getting-started.md"
    the_index_is_true "docs/index.md"
    the_manifests_page_is_true "docs/manifests.md"
    the_modes_page_is_true "docs/modes.md"
    the_policy_page_is_true "docs/policy.md"
    the_protocol_page_is_true "docs/protocol.md"
    the_records_page_is_true "docs/records.md"
    the_results_page_is_true "docs/results.md"
    the_road_page_is_true "docs/road.md"
    the_search_page_is_true "docs/search.md"
    the_security_model_is_true "docs/security-model.md"
    the_upstreams_page_is_true "docs/upstreams.md"
}

#[test]
fn every_page_of_the_manual_is_followed() {
    let mut found: Vec<String> = root()
        .join("docs")
        .read_dir()
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "md"))
        .map(|path| format!("docs/{}", path.file_name().unwrap().to_string_lossy()))
        .collect();
    found.push("README.md".to_owned());
    found.sort();
    assert_eq!(found, PAGES);
}

#[test]
fn few_blocks_are_left_out_and_each_says_why() {
    let mut ignored = 0;
    for page in PAGES {
        for block in blocks::read(&text(page)) {
            let Some(reason) = &block.ignore else { continue };
            eprintln!("NOT RUN: {page}:{}: {reason}", block.line);
            assert!(reason.len() >= 10, "{page}:{}: say why it is left out", block.line);
            ignored += 1;
        }
    }
    assert!(ignored <= IGNORED_MAX, "{ignored} blocks are left out, {IGNORED_MAX} may be");
}

#[test]
fn links_lead_somewhere() {
    links::check(&root());
}

#[path = "../../examples/embed.rs"]
#[expect(unreachable_pub, reason = "an example's `main` is called from here")]
mod embed;

#[test]
fn the_example_of_the_embedding_page_runs() {
    embed::main().unwrap();
}

/// Goes down one page as a reader would.
fn follow(page: &str) {
    let mut terminal = Terminal::new();
    for block in blocks::read(&text(page)).iter().filter(|block| block.ignore.is_none()) {
        let place = format!("{page}:{}", block.line);
        match block.lang.as_str() {
            "console" => block.steps().iter().for_each(|step| type_in(&mut terminal, &place, step)),
            "rust" => checks::is_in_an_example(&root(), &place, &block.text),
            "python" | "javascript" => checks::is_an_example(&root(), &place, block),
            "text" => {}
            _ => keep(&terminal, &place, block),
        }
    }
}

fn type_in(terminal: &mut Terminal, place: &str, step: &Step) {
    let printed = terminal.run(step);
    let problem = shown::difference(&step.output, &printed);
    assert!(problem.is_none(), "{place}: $ {}\n{}", step.command, problem.unwrap_or_default());
}

/// Writes a titled block where the page says, and holds it against its reader.
fn keep(terminal: &Terminal, place: &str, block: &Block) {
    checks::is_well_formed(place, block);
    let Some(title) = &block.title else { return };
    std::fs::write(terminal.folder().join(title), &block.text).unwrap();
    // Cases are read by the command that the page runs on them.
    if (checks::is_yaml(title) && title != "cases.yaml") || title == "mcp.json" {
        terminal.check_config(place, title, &block.text);
    }
}

fn text(page: &str) -> String {
    std::fs::read_to_string(root().join(page)).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
