//! How well tools are found, and how fast: ours beside baselines written here, with one set of
//! parameters for all sets. Figures for people; floors are tests of the search crate.

mod figures;
mod honesty;
mod peers;
mod plot;
mod scale;
mod sets;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use search::{Doc, Index};
use serde_json::{Value, json};

use self::figures::{Figures, judge};
use self::sets::{Set, Tool};
use crate::Outcome;
use crate::args::SearchArgs;

/// `metatool` trained the table and is left out.
const SETS: [&str; 6] = [
    "contextweaver_gold",
    "mcpproxy_golden",
    "toolalpaca",
    "restbench",
    "rotbench",
    "metatool_multi",
];
/// Written for this project, one over the demo and one over a made-up catalogue.
const OURS: [&str; 2] = ["demo", "generated"];
const POOLS: [usize; 3] = [0, 1_000, 10_000];
const RANKERS: [&str; 4] = ["toolgate", "bm25", "tf-idf", "fts5"];

pub(crate) fn run(args: &SearchArgs) -> Outcome<()> {
    let shared = sets::shared().join("retrieval");
    if let SearchArgs::Scale(tools) = args {
        return one_scale(&shared, *tools);
    }
    let pool = sets::tools(&shared.join("pool-10k.jsonl"))?;
    let all: Vec<Set> =
        SETS.iter().map(|name| sets::read(&shared.join(name))).collect::<Outcome<_>>()?;
    let mut out = String::new();
    let (mut quality, averages) = quality(&all, &pool, &mut out)?;
    quality.extend(own_quality(&mut out)?);
    let honest = honest(&all, &mut out)?;
    let scales = scales(&mut out)?;
    let columns = ["alone", "+1,000", "+10,000"];
    let lines = RANKERS
        .iter()
        .zip(&averages)
        .map(|(label, values)| plot::Line { label, values: values.clone() });
    let picture = plot::svg(&columns, &lines.collect::<Vec<_>>())?;
    let json = json!({"quality": quality, "honesty": honest, "scale": scales});
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("search.json"), serde_json::to_string_pretty(&json)?)?;
    std::fs::write(folder.join("search.txt"), &out)?;
    std::fs::write(folder.join("search.svg"), picture)?;
    std::io::stdout().write_all(out.as_bytes())?;
    Ok(())
}

/// Every ranker on every set, alone and among strangers.
fn quality(all: &[Set], pool: &[Tool], out: &mut String) -> Outcome<(Vec<Value>, Vec<Vec<f64>>)> {
    let mut rows = Vec::new();
    let mut averages = vec![Vec::new(); RANKERS.len()];
    writeln!(
        out,
        "{:20} {:>6} {:9} {:>6} {:>6} {:>6} {:>8} {:>6}",
        "set", "pool", "ranker", "R@1", "R@5", "R@10", "NDCG@10", "MRR"
    )?;
    for extra in POOLS {
        let mut columns: Vec<Vec<Figures>> = vec![Vec::new(); RANKERS.len()];
        for set in all {
            let figures = on_set(set, pool, extra)?;
            for ((ranker, figures), column) in RANKERS.iter().zip(figures).zip(&mut columns) {
                row(out, &set.name, extra, ranker, &figures)?;
                rows.push(json!({"set": set.name, "pool": extra, "ranker": ranker, "figures": figures.json()}));
                column.push(figures);
            }
        }
        for ((ranker, column), values) in RANKERS.iter().zip(&columns).zip(&mut averages) {
            let mean = Figures::mean(column);
            row(out, "average", extra, ranker, &mean)?;
            rows.push(
                json!({"set": "average", "pool": extra, "ranker": ranker, "figures": mean.json()}),
            );
            values.push(mean.recall_5);
        }
    }
    Ok((rows, averages))
}

/// Our own gold sets, which are in no average.
fn own_quality(out: &mut String) -> Outcome<Vec<Value>> {
    let mut rows = Vec::new();
    for name in OURS {
        let set = sets::read(&sets::ours().join(name))?;
        for (ranker, figures) in RANKERS.iter().zip(on_set(&set, &[], 0)?) {
            row(out, name, 0, ranker, &figures)?;
            rows.push(json!({"set": name, "pool": 0, "ranker": ranker, "figures": figures.json()}));
        }
    }
    Ok(rows)
}

fn on_set(set: &Set, pool: &[Tool], extra: usize) -> Outcome<[Figures; 4]> {
    let step = pool.len().checked_div(extra).unwrap_or(1).max(1);
    let tools: Vec<&Tool> = set.tools.iter().chain(pool.iter().step_by(step).take(extra)).collect();
    let docs: Vec<Doc<'_>> = tools.iter().map(|tool| tool.doc()).collect();
    let index = Index::build(&docs);
    let ours = judge(&set.queries, &mut |query| {
        index.rank(query, 10, &|_| true).hits.iter().map(|hit| hit.doc).collect()
    });
    let plain = peers::Plain::new(&tools);
    let mut fts5 = peers::Fts5::new(&tools)?;
    Ok([
        ours,
        judge(&set.queries, &mut |query| plain.bm25(query)),
        judge(&set.queries, &mut |query| plain.tf_idf(query)),
        judge(&set.queries, &mut |query| fts5.rank(query)),
    ])
}

fn row(
    out: &mut String,
    set: &str,
    pool: usize,
    ranker: &str,
    figures: &Figures,
) -> std::fmt::Result {
    let Figures { recall_1, recall_5, recall_10, ndcg_10, mrr } = figures;
    writeln!(
        out,
        "{set:20} {pool:>6} {ranker:9} {recall_1:6.3} {recall_5:6.3} {recall_10:6.3} {ndcg_10:8.3} {mrr:6.3}"
    )
}

/// Abstaining, slips and languages.
fn honest(all: &[Set], out: &mut String) -> Outcome<Value> {
    let abstaining = honesty::abstaining(all);
    let honesty::Abstaining { precision, recall, false_alarms, unanswerable, answerable, curve } =
        abstaining;
    writeln!(
        out,
        "\nnothing fits: precision {precision:.3} recall {recall:.3} ({unanswerable} without an answer), wrongly said of {false_alarms:.3} of {answerable} with one"
    )?;
    for [threshold, precision, recall, false_alarms] in &curve {
        writeln!(
            out,
            "  below {threshold:.2}: precision {precision:.3} recall {recall:.3} false alarms {false_alarms:.3}"
        )?;
    }
    let mut slips = Vec::new();
    for set in all {
        let docs: Vec<Doc<'_>> = set.tools.iter().map(Tool::doc).collect();
        let index = Index::build(&docs);
        let wrong = honesty::misspelt(&set.queries);
        let rank = &mut |query: &str| {
            index.rank(query, 10, &|_| true).hits.iter().map(|hit| hit.doc).collect()
        };
        let (clean, slipped) = (judge(&set.queries, rank), judge(&wrong, rank));
        let chance = honesty::chance(set);
        writeln!(
            out,
            "one slip a word: {:20} R@5 {:.3}, clean {:.3}, chance {chance:.3}",
            set.name, slipped.recall_5, clean.recall_5
        )?;
        slips.push(json!({"set": set.name, "slipped": slipped.json(), "clean": clean.json(), "chance": chance}));
    }
    let mut languages = Vec::new();
    for name in ["languages", "abroad"] {
        let set = sets::read(&sets::ours().join(name))?;
        let chance = honesty::chance(&set);
        for language in ["de", "es", "fr", "zh"] {
            let figures = honesty::in_language(&set, language);
            writeln!(
                out,
                "{name} {language}: R@1 {:.3} R@5 {:.3}, chance {chance:.3}",
                figures.recall_1, figures.recall_5
            )?;
            languages.push(
                json!({"set": name, "language": language, "figures": figures.json(), "chance": chance}),
            );
        }
    }
    Ok(json!({
        "abstain": {"precision": precision, "recall": recall, "false_alarms": false_alarms, "curve": curve},
        "slips": slips, "languages": languages,
    }))
}

/// Each size in a process of its own, so that none measures what another left behind.
fn scales(out: &mut String) -> Outcome<Vec<Value>> {
    let columns = ["build_ms", "rebuild_ms", "query_cpu_p50_us", "query_cpu_p99_us", "memory_mib"];
    writeln!(out, "\n{:>7} {}", "tools", columns.map(|column| format!("{column:>17}")).join(""))?;
    let mut rows = Vec::new();
    for tools in ["100", "1000", "10000", "100000"] {
        let program = std::env::current_exe()?;
        let told = Command::new(program).args(["search", "--scale", tools]).output()?;
        let row: Value = serde_json::from_slice(&told.stdout)?;
        let figure = |column: &str| row.get(column).and_then(Value::as_f64).unwrap_or_default();
        let cells = columns.map(|column| format!("{:>17.1}", figure(column)));
        writeln!(out, "{tools:>7} {}", cells.join(""))?;
        rows.push(row);
    }
    Ok(rows)
}

fn one_scale(shared: &Path, tools: usize) -> Outcome<()> {
    let pool = sets::tools(&shared.join("pool-10k.jsonl"))?;
    let all: Vec<Set> =
        SETS.iter().take(5).map(|name| sets::read(&shared.join(name))).collect::<Outcome<_>>()?;
    let queries = all.iter().flat_map(|set| &set.queries).map(|query| query.text.as_str());
    let scale = scale::measure(&pool, tools, &queries.collect::<Vec<_>>());
    std::io::stdout().write_all(scale.json().to_string().as_bytes())?;
    Ok(())
}
