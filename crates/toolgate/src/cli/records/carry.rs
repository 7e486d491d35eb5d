//! Entries on their way out: exports for people and programs, cassettes for tests.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use gateway::known_tool;
use model::{ItemKind, Record, Timestamp};
use serde_json::Value;
use store::{Exported, RecordFilter, Store};
use upstream::cassette::{Exchange, Tape, VERSION};

use super::filter::FilterArgs;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;

#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// How entries are written
    #[arg(long, default_value = "jsonl")]
    format: Format,
    /// The file to write; else standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Every entry in full with its hashes, one a line
    Jsonl,
    /// A few columns
    Csv,
}

#[derive(Debug, Args)]
pub struct CassetteArgs {
    /// The run
    run: String,
    /// Only the calls of this upstream; needed if the run used several
    #[arg(long, value_name = "NAME")]
    upstream: Option<String>,
    /// The file to write; else standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) async fn export(store: &Store, args: &ExportArgs) -> Result<(), CliError> {
    let mut out = writer(args.output.as_deref())?;
    if args.format == Format::Csv {
        writeln!(out, "seq,record,at,status,tool,principal,run,trace,error,summary,hash")?;
    }
    let filter = args.filter.clone().filter(0);
    let mut last = 0;
    loop {
        let page = store.export(&filter, last).await?;
        let Some(end) = page.last().map(|entry| entry.seq) else { break };
        for entry in &page {
            match args.format {
                Format::Jsonl => {
                    serde_json::to_writer(&mut out, entry).map_err(io::Error::from)?;
                    out.write_all(b"\n")?;
                }
                Format::Csv => out.write_all(csv_line(entry)?.as_bytes())?,
            }
        }
        last = end;
    }
    Ok(out.flush()?)
}

pub(super) async fn cassette(
    context: &Context,
    store: &Store,
    args: &CassetteArgs,
) -> Result<(), CliError> {
    let records = run(store, &args.run).await?;
    let all = records.len();
    let records: Vec<Record> = records.into_iter().filter(is_of_a_tool).collect();
    let others = all - records.len();
    let upstream = one_upstream(&records, args)?;
    let mut tape = Tape { version: VERSION.to_owned(), tools: Vec::new(), exchanges: Vec::new() };
    let mut left_out = 0;
    for record in records.iter().filter(|record| upstream_of(record) == Some(upstream.as_str())) {
        let (Some(key), Some(answer)) = (&record.call.item_key, &record.answer) else {
            left_out += 1;
            continue;
        };
        let known = known_tool(store, &record.call).await?;
        tape.tools.extend(known.map(|known| known.definition).filter(|d| !tape.tools.contains(d)));
        let (tool, args) = (key.name.clone(), record.call.args.clone());
        tape.exchanges.push(Exchange { tool, args, answer: answer.clone() });
    }
    if others > 0 {
        let told = "records are no calls that a tool has got, and are left out";
        context.out.note(&format!("{others} {told}"));
    }
    if left_out > 0 {
        context.out.note(&format!("{left_out} calls have no answer on record and are left out"));
    }
    let mut out = writer(args.output.as_deref())?;
    serde_json::to_writer_pretty(&mut out, &tape).map_err(io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// What is read, got or asked for beside tools is not played, and what a key gave again came to no
/// tool.
fn is_of_a_tool(record: &Record) -> bool {
    let call = &record.call;
    let tool = call.item_key.as_ref().is_none_or(|key| key.kind == ItemKind::Tool);
    let again = record.result.as_ref().is_some_and(|result| result.deduplicated);
    call.method.is_none() && tool && !again
}

/// The records of a run as they were closed, in the order in which they were.
pub(in crate::cli) async fn run(store: &Store, run_id: &str) -> Result<Vec<Record>, CliError> {
    let filter = RecordFilter { run_id: Some(run_id.to_owned()), ..RecordFilter::default() };
    let (mut records, mut last): (Vec<Record>, i64) = (Vec::new(), 0);
    loop {
        let page = store.export(&filter, last).await?;
        let Some(end) = page.last().map(|entry| entry.seq) else { break };
        for entry in &page {
            let (_, record) = entry.read()?;
            // The closing takes the place of the opening.
            records.retain(|known| known.record_id != record.record_id);
            records.push(record);
        }
        last = end;
    }
    Ok(records)
}

fn one_upstream(records: &[Record], args: &CassetteArgs) -> Result<String, CliError> {
    let names: BTreeSet<&str> = records.iter().filter_map(upstream_of).collect();
    match (&args.upstream, names.len()) {
        (_, 0) => Err(CliError::new(Exit::Failure, format!("no calls of a run `{}`", args.run))),
        (Some(name), _) if names.contains(name.as_str()) => Ok(name.clone()),
        (None, 1) => Ok(names.into_iter().next().unwrap_or_default().to_owned()),
        (_, _) => {
            let names = names.into_iter().collect::<Vec<_>>().join("`, `");
            let message = format!("the run used `{names}`; name one of them");
            Err(CliError::usage(message)
                .hint("pass --upstream NAME, and make one cassette of each"))
        }
    }
}

fn upstream_of(record: &Record) -> Option<&str> {
    let name = &*record.result.as_ref()?.provenance.upstream;
    (!name.is_empty()).then_some(name)
}

fn writer(path: Option<&Path>) -> Result<Box<dyn Write>, CliError> {
    let Some(path) = path else { return Ok(Box::new(BufWriter::new(io::stdout()))) };
    let file = File::create(path).map_err(|error| {
        CliError::new(Exit::Unavailable, format!("`{}` cannot be written: {error}", path.display()))
    })?;
    Ok(Box::new(BufWriter::new(file)))
}

fn csv_line(entry: &Exported) -> Result<String, CliError> {
    let (at, record): (Timestamp, Record) = entry.read()?;
    let call = &record.call;
    let tool = call.item_key.as_ref().map_or_else(|| call.asked_name.clone(), ToString::to_string);
    let principal = call.principal_chain.first().map(ToString::to_string).unwrap_or_default();
    let result = record.result.as_ref();
    let error = result.and_then(|result| result.error.as_ref()).map(|fault| fault.code.as_str());
    let cells = [
        entry.seq.to_string(),
        record.record_id.to_string(),
        at.to_string(),
        record.status.to_string(),
        tool,
        principal,
        call.run_id.to_string(),
        call.trace_id.to_string(),
        error.unwrap_or_default().to_owned(),
        result.map(|result| result.summary.clone()).unwrap_or_default(),
        entry.hash.clone(),
    ];
    Ok(cells.map(|cell| csv_cell(&cell)).join(",") + "\n")
}

/// Quoted where need be; a cell that a spreadsheet would compute is made text.
fn csv_cell(text: &str) -> String {
    let text = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{text}")
    } else {
        text.to_owned()
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// A value as a person wrote it on the command line.
pub(in crate::cli) fn json_argument(text: &str) -> Result<Value, CliError> {
    serde_json::from_str(text).map_err(|error| CliError::usage(format!("not JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_holds_any_text_and_computes_nothing() {
        let check = |text: &str, expected: &str| assert_eq!(csv_cell(text), expected);
        check("plain", "plain");
        check("a,b", "\"a,b\"");
        check("say \"hi\"\nnow", "\"say \"\"hi\"\"\nnow\"");
        check("=1+1", "'=1+1");
        check("@cmd,x", "\"'@cmd,x\"");
    }
}
