//! The figures as a table for people and as JSON for programs. Both show the same numbers.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::fleet::Kind;
use crate::machine::Machine;
use crate::stats::{Figures, Row};

/// Everything a reader needs to judge a run.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub(crate) calls: u32,
    pub(crate) rounds: u32,
    pub(crate) warmup_calls: u32,
    pub(crate) machine: Machine,
    pub(crate) rows: Vec<Row>,
}

const HEADS: [&str; 9] = [
    "target",
    "at once",
    "cpu us",
    "p50 us",
    "p99 us",
    "calls/s",
    "cpu/proxy",
    "p50/proxy",
    "p50/echo",
];

impl Report {
    pub(crate) fn table(&self) -> String {
        let Self { calls, rounds, machine, rows, .. } = self;
        let Machine { cores, processor, kernel, records_on } = machine;
        let mut lines = vec![HEADS.map(str::to_owned)];
        lines.extend(rows.iter().map(|row| self.line(row)));
        let mut table = format!(
            "{calls} calls per line in {rounds} rounds; {cores} cores of {processor}, Linux {kernel}, records on {records_on}\n\n"
        );
        for (line, below) in lines.iter().zip(0..) {
            let concurrency = |index: usize| rows.get(index).map(|row| row.concurrency);
            let begins_block = below > 1 && concurrency(below - 2) != concurrency(below - 1);
            table.push_str(if begins_block { "\n" } else { "" });
            table.push_str(&aligned(line, &lines));
        }
        table
    }

    pub(crate) fn json(&self) -> Value {
        let Machine { cores, processor, kernel, records_on } = &self.machine;
        json!({
            "benchmark": "call",
            "calls": self.calls,
            "rounds": self.rounds,
            "warmup_calls": self.warmup_calls,
            "machine": {
                "cores": cores,
                "processor": processor,
                "kernel": kernel,
                "records_on": records_on,
            },
            "rows": self.rows.iter().map(|row| self.row(row)).collect::<Vec<_>>(),
        })
    }

    fn line(&self, row: &Row) -> [String; 9] {
        let (figures, ratios) = (row.figures(), row.ratios(&self.rows));
        let times =
            |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
        [
            label(row.kind).to_owned(),
            row.concurrency.to_string(),
            format!("{:.1}", figures.cpu_us),
            format!("{:.1}", figures.p50_us),
            format!("{:.1}", figures.p99_us),
            format!("{:.0}", figures.calls_per_second),
            times(ratios.cpu_to_proxy),
            times(ratios.p50_to_proxy),
            times(ratios.p50_to_echo),
        ]
    }

    fn row(&self, row: &Row) -> Value {
        let ratios = row.ratios(&self.rows);
        json!({
            "target": row.kind.name(),
            "concurrency": row.concurrency,
            "total": numbers(&row.figures()),
            "ratios": {
                "cpu_to_proxy": ratios.cpu_to_proxy.map(rounded),
                "p50_to_proxy": ratios.p50_to_proxy.map(rounded),
                "p50_to_echo": ratios.p50_to_echo.map(rounded),
            },
            "rounds": row.rounds.iter().map(|round| numbers(&round.figures())).collect::<Vec<_>>(),
        })
    }
}

const fn label(kind: Kind) -> &'static str {
    match kind {
        Kind::Echo => "echo",
        Kind::Proxy => "proxy",
        Kind::ToolgateRead => "toolgate (declared read)",
        Kind::ToolgateUnrecorded => "toolgate (unrecorded read)",
        Kind::ToolgateWrite => "toolgate (undeclared, so write)",
    }
}

/// One line of the table: names to the left, numbers to the right.
fn aligned(line: &[String; 9], lines: &[[String; 9]]) -> String {
    let mut out = String::new();
    for (column, cell) in line.iter().enumerate() {
        let cells = lines.iter().filter_map(|line| line.get(column));
        let width = cells.map(|cell| cell.chars().count()).max().unwrap_or_default();
        let written = match column {
            0 => write!(out, "{cell:<width$}"),
            _ => write!(out, "  {cell:>width$}"),
        };
        // INVARIANT: writing to a string cannot fail.
        debug_assert!(written.is_ok());
    }
    out.push('\n');
    out
}

fn numbers(figures: &Figures) -> Value {
    json!({
        "calls": figures.calls,
        "cpu_us_per_call": rounded(figures.cpu_us),
        "p50_us": rounded(figures.p50_us),
        "p99_us": rounded(figures.p99_us),
        "calls_per_second": rounded(figures.calls_per_second),
    })
}

/// More digits would pretend to a precision that is not there.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests;
