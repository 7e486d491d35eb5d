//! What a catalogue costs: building one of 10,000 tools, browsing it, what a browse costs a model,
//! and memory. Building is timed by the clock on the wall and in processor time, browsing in
//! processor time.

mod gate;

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use catalog::{Catalogue, Extras, Naming, Query, Source, tokens};
use model::{Generation, UpstreamName};
use serde_json::{Value, json};

use crate::Outcome;
use crate::cpu::{timed, timed_with_threads};

const TOOLS: usize = 10_000;
const UPSTREAMS: usize = 100;
const CARDS: usize = 10;
const QUERIES: usize = 2_000;
/// Catalogues held at a time to weigh one: what building frees is used again by the next.
const COPIES: usize = 5;

pub(crate) fn run() -> Outcome<()> {
    let pool = pool()?;
    let sources = sources(&pool);
    // Tables are read once in a process's life, not once a catalogue.
    let small = vec![sources.first().cloned().ok_or("there are no tools")?];
    let small = build(small);
    browse(&small, "list files")?;
    let copy = sources.clone();
    let (first, catalogue) = built(|| build(copy));
    let copy = sources.clone();
    let (again, _) = built(|| catalogue.rebuild(Generation(2), copy, Naming::Auto));
    let kib_each = weigh(&sources)?;
    let mut table = String::new();
    writeln!(table, "{TOOLS} tools of {UPSTREAMS} upstreams, {} different ones", pool.len())?;
    writeln!(table, "build             {first}")?;
    writeln!(table, "build again       {again}, nothing changed")?;
    writeln!(table, "memory            {kib_each:>8.1} KiB a tool")?;
    browses(&catalogue, &mut table)?;
    let queries: Vec<String> = queries(&catalogue).collect();
    gate::browses(&sources, &queries, &mut table)?;
    Ok(io::stdout().write_all(table.as_bytes())?)
}

/// Each query is asked once, and many draw cards that nobody has asked for before.
fn browses(catalogue: &Catalogue, table: &mut String) -> Outcome<()> {
    let (mut times, mut costs) = (Vec::new(), Vec::new());
    for query in queries(catalogue) {
        let (time, text) = timed(|| browse(catalogue, &query));
        times.push(time);
        costs.push(tokens::count(&text?));
    }
    times.sort_unstable();
    costs.sort_unstable();
    let micros = |percent| at(&times, percent).as_secs_f64() * 1e6;
    writeln!(table, "browse p50        {:>8.0} us", micros(50))?;
    writeln!(table, "browse p99        {:>8.0} us", micros(99))?;
    let (middle, most) = (at(&costs, 50), at(&costs, 100));
    writeln!(table, "{CARDS} cards          {middle:>8} tokens in the middle, {most} at most")?;
    Ok(())
}

/// The answer to a browse as it is sent: text, and the same structured.
fn browse(catalogue: &Catalogue, words: &str) -> Outcome<String> {
    let query = Query::Words(words.to_owned());
    let found = catalogue.browse(&query, CARDS, &|_| true).map_err(|fault| fault.message)?;
    let structured = found.to_json().to_string();
    if structured.is_empty() { Err("a browse said nothing".into()) } else { Ok(found.to_text()) }
}

/// What people ask for is near what tools say of themselves: beginnings of descriptions.
fn queries(catalogue: &Catalogue) -> impl Iterator<Item = String> {
    let step = (catalogue.entries().len() / QUERIES).max(1);
    let texts = catalogue.entries().iter().step_by(step).map(|entry| &entry.item.description);
    texts.map(|text| text.split_whitespace().take(7).collect::<Vec<_>>().join(" "))
}

/// What building took, in words.
fn built(build: impl FnOnce() -> Catalogue) -> (String, Catalogue) {
    let began = Instant::now();
    let (spent, catalogue) = timed_with_threads(build);
    let waited = began.elapsed();
    (format!("{:>8.0} ms, {:.0} ms of processors", millis(waited), millis(spent)), catalogue)
}

fn build(sources: Vec<Source>) -> Catalogue {
    Catalogue::build(Generation(1), sources, Naming::Auto)
}

/// Resident memory, in units of 1024 bytes, for each tool of a catalogue that has been built and not been asked anything.
fn weigh(sources: &[Source]) -> Outcome<f64> {
    let before = resident_kib()?;
    let copies: Vec<Catalogue> = (0..COPIES).map(|_| build(sources.to_vec())).collect();
    let after = resident_kib()?;
    let tools: usize = copies.iter().map(|catalogue| catalogue.entries().len()).sum();
    Ok((after - before) / real(tools))
}

/// Definitions of real servers where they are at hand, else made up.
fn pool() -> Outcome<Vec<Value>> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared"));
    let shared = std::env::var_os("TOOLGATE_SHARED").map_or_else(beside, PathBuf::from);
    let Ok(folder) = fs::read_dir(shared.join("catalogs")) else {
        writeln!(io::stderr(), "no real catalogues in `{}`: made-up tools", shared.display())?;
        return Ok((0..400).map(made_up).collect());
    };
    let mut files: Vec<PathBuf> = folder.filter_map(|file| Some(file.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind == "json"));
    files.sort();
    let mut pool = Vec::new();
    for file in files {
        let answer: Value = serde_json::from_slice(&fs::read(file)?)?;
        let tools = answer.pointer("/result/tools").and_then(Value::as_array);
        pool.extend(tools.into_iter().flatten().cloned());
    }
    Ok(pool)
}

fn sources(pool: &[Value]) -> Vec<Source> {
    let each = TOOLS / UPSTREAMS;
    let source = |upstream: usize| Source {
        upstream: UpstreamName::from_string(format!("upstream{upstream}")),
        protocol: "mcp",
        namespace: None,
        definitions: (upstream * each..(upstream + 1) * each)
            .filter_map(|number| Some(variant(pool.get(number % pool.len())?, number)))
            .collect(),
        manifest: None,
        extras: Extras::default(),
    };
    (0..UPSTREAMS).map(source).collect()
}

fn variant(tool: &Value, number: usize) -> Value {
    let mut tool = tool.clone();
    if let Some(name) = tool.get_mut("name") {
        *name = format!("{}_{number}", name.as_str().unwrap_or_default()).into();
    }
    tool
}

fn made_up(index: usize) -> Value {
    let parameter = |name: &str| {
        let about = format!("The {name} of the record, as the service knows it.");
        (name.to_owned(), json!({"type": "string", "description": about}))
    };
    let names = ["id", "title", "owner", "state", "label", "comment"];
    let properties: serde_json::Map<_, _> = names.iter().map(|name| parameter(name)).collect();
    json!({
        "name": format!("service_{:02}_action_{index:04}", index % 40),
        "description": format!("Carries out action {index} on one record and returns it."),
        "inputSchema": {"type": "object", "properties": properties, "required": ["id"]},
    })
}

fn resident_kib() -> Outcome<f64> {
    let text = fs::read_to_string("/proc/self/statm")?;
    let pages: usize = text.split_whitespace().nth(1).ok_or("`statm` is short")?.parse()?;
    Ok(real(pages) * 4.0)
}

fn at<T: Copy + Default>(sorted: &[T], percent: usize) -> T {
    let place = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(place).copied().unwrap_or_default()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
fn real(count: usize) -> f64 {
    count as f64
}
