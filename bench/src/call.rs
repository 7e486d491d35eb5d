//! `bench call`: every target under the same load, in turns, and then the comparison.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use crate::Outcome;
use crate::args::{CallArgs, Output, Size};
use crate::fleet::{Fleet, Kind, Target};
use crate::load::{self, Load};
use crate::machine;
use crate::report::Report;
use crate::signals;
use crate::stats::Row;
use crate::toolgate;

const CONCURRENCIES: [usize; 2] = [1, 32];

#[derive(Clone, Copy, Debug)]
struct Plan {
    rounds: u32,
    calls_per_round: u32,
    warmup_calls: u32,
}

pub(crate) async fn run(args: CallArgs) -> Outcome<()> {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    fs::create_dir_all(&results)?;
    let mut fleet = Fleet::new(&results)?;
    // What a lost run has started is in the fleet or dies with the future.
    let rows = signals::or_stop(measure(&mut fleet, &args)).await;
    fleet.stop().await?;
    let Plan { rounds, calls_per_round, warmup_calls } = Plan::of(args.size);
    let (calls, machine) = (rounds * calls_per_round, machine::look(&results));
    let report = Report { calls, rounds, warmup_calls, machine, rows: rows? };
    publish(&report, &args, &results)
}

async fn measure(fleet: &mut Fleet, args: &CallArgs) -> Outcome<Vec<Row>> {
    let plan = Plan::of(args.size);
    let toolgate = match &args.toolgate {
        None if !args.kinds.iter().any(|kind| kind.is_toolgate()) => None,
        named => Some(toolgate::found(named.as_deref()).await?),
    };
    let targets = fleet.start(&args.kinds, toolgate).await?;
    let mut rows = empty_rows(&args.kinds);
    for round in 1..=plan.rounds {
        note(&format!("round {round} of {}", plan.rounds))?;
        take_turns(&targets, plan, round, &mut rows).await?;
    }
    Ok(rows)
}

/// One round: each target in its turn at each concurrency. Another target begins each time, so that
/// no target always follows the same one.
async fn take_turns(targets: &[Target], plan: Plan, round: u32, rows: &mut [Row]) -> Outcome<()> {
    let first = usize::try_from(round)? % targets.len().max(1);
    for concurrency in CONCURRENCIES {
        for target in targets.iter().cycle().skip(first).take(targets.len()) {
            let Plan { warmup_calls, calls_per_round: calls, .. } = plan;
            let measured = load::run(target, Load { concurrency, warmup_calls, calls }).await?;
            let mut own = rows.iter_mut().filter(|row| row.kind == target.kind);
            if let Some(row) = own.find(|row| row.concurrency == concurrency) {
                row.rounds.push(measured);
            }
        }
    }
    Ok(())
}

fn empty_rows(kinds: &[Kind]) -> Vec<Row> {
    let row = |concurrency, kind: &Kind| Row { kind: *kind, concurrency, rounds: Vec::new() };
    CONCURRENCIES.iter().flat_map(|at_once| kinds.iter().map(|kind| row(*at_once, kind))).collect()
}

/// Shows the figures, and keeps those of a complete run.
fn publish(report: &Report, args: &CallArgs, results: &Path) -> Outcome<()> {
    let json = format!("{:#}\n", report.json());
    if args.output == Output::Json {
        return Ok(io::stdout().write_all(json.as_bytes())?);
    }
    io::stdout().write_all(report.table().as_bytes())?;
    if args.kinds != Kind::ALL {
        return Ok(());
    }
    let path = results.join(args.size.file());
    fs::write(&path, json)?;
    note(&format!("kept in {}", path.display()))
}

impl Plan {
    const fn of(size: Size) -> Self {
        match size {
            Size::Full => Self { rounds: 3, calls_per_round: 10_000, warmup_calls: 1_000 },
            Size::Quick => Self { rounds: 2, calls_per_round: 250, warmup_calls: 64 },
        }
    }
}

impl Size {
    /// A quick run must not pass for a full one.
    const fn file(self) -> &'static str {
        match self {
            Self::Full => "call.json",
            Self::Quick => "call.quick.json",
        }
    }
}

/// Says something beside the figures.
pub(crate) fn note(text: &str) -> Outcome<()> {
    Ok(writeln!(io::stderr(), "{text}")?)
}
