//! `bench list`: the tools of a large catalogue from the gate, and the same bytes from a file.

mod catalogue;
mod report;

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::process::Command;

use crate::Outcome;
use crate::args::{GateArgs, Output, Size};
use crate::call::note;
use crate::child::{self, Child};
use crate::client::Client;
use crate::cpu;
use crate::machine;
use crate::roles::pages;
use crate::signals;
use crate::stats::Round;

use crate::toolgate;
use catalogue::Page;
use report::Report;

#[derive(Clone, Copy, Debug)]
struct Plan {
    rounds: u32,
    lists: u32,
    warmup: u32,
}

/// The two that are compared.
#[derive(Debug)]
struct Pair {
    gate: (Child, Client),
    file: (Child, Client),
    pages: Vec<Page>,
}

pub(crate) async fn run(args: GateArgs) -> Outcome<()> {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    fs::create_dir_all(&results)?;
    let folder = tempfile::Builder::new().prefix("run-").tempdir_in(&results)?;
    let report = signals::or_stop(measure(&args, &folder)).await?.json();
    let json = format!("{report:#}\n");
    if args.output == Output::Json {
        return Ok(io::stdout().write_all(json.as_bytes())?);
    }
    io::stdout().write_all(report::table(&report).as_bytes())?;
    let name = if args.size == Size::Full { "list.json" } else { "list.quick.json" };
    fs::write(results.join(name), json)?;
    note(&format!("kept in {}", results.join(name).display()))
}

async fn measure(args: &GateArgs, folder: &TempDir) -> Outcome<Report> {
    let plan = Plan::of(args.size);
    let binary = toolgate::found(args.toolgate.as_deref()).await?;
    let mut pair = start(&binary, folder.path()).await?;
    let (mut gate, mut file) = (Round::default(), Round::default());
    for round in 0..plan.rounds {
        note(&format!("round {} of {}", round + 1, plan.rounds))?;
        // Another one begins each time.
        for turn in [round, round + 1] {
            let (of_gate, total) =
                if turn % 2 == 0 { (true, &mut gate) } else { (false, &mut file) };
            add(total, load(&mut pair, of_gate, plan).await?);
        }
    }
    gate.latencies.sort_unstable();
    file.latencies.sort_unstable();
    pair.gate.0.stop().await?;
    pair.file.0.stop().await?;
    Ok(Report {
        bytes: pair.pages.iter().map(|page| page.bytes.len()).sum(),
        pages: pair.pages.len(),
        lists: plan.rounds * plan.lists,
        rounds: plan.rounds,
        gate: gate.figures(),
        file: file.figures(),
        machine: machine::look(folder.path()),
    })
}

async fn start(binary: &Path, folder: &Path) -> Outcome<Pair> {
    let command = toolgate::configured(binary, &catalogue::configuration(folder)?, folder)?;
    let gate = child::start(command, "toolgate", folder).await?;
    let mut client = Client::connect(gate.address, 0).await?;
    let pages = catalogue::read(&mut client).await?;
    for (index, page) in pages.iter().enumerate() {
        fs::write(folder.join(pages::file(index)), &page.bytes)?;
    }
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["role", "pages"]).arg(folder);
    let server = child::start(command, "pages", folder).await?;
    let reader = Client::open(server.address, 0).await?;
    Ok(Pair { gate: (gate, client), file: (server, reader), pages })
}

/// So many whole lists, one after the other, from one of the two.
async fn load(pair: &mut Pair, of_gate: bool, plan: Plan) -> Outcome<Round> {
    let (child, client) = if of_gate { &mut pair.gate } else { &mut pair.file };
    for _ in 0..plan.warmup {
        whole(client, &pair.pages, of_gate).await?;
    }
    let (before, start) = (cpu::spent(child.pid)?, Instant::now());
    let mut latencies = Vec::new();
    for _ in 0..plan.lists {
        latencies.push(whole(client, &pair.pages, of_gate).await?);
    }
    let (wall, after) = (start.elapsed(), cpu::spent(child.pid)?);
    Ok(Round { latencies, wall, cpu: after.saturating_sub(before) })
}

/// All pages; each must be, to the byte, what it was the first time.
async fn whole(client: &mut Client, pages: &[Page], of_gate: bool) -> Outcome<Duration> {
    let mut total = Duration::ZERO;
    for (index, page) in pages.iter().enumerate() {
        let (took, bytes) = if of_gate {
            client.list(page.cursor.as_deref()).await?
        } else {
            client.get(&format!("/{}", pages::file(index))).await?
        };
        if bytes != page.bytes {
            return Err(format!("page {index} is not what it was").into());
        }
        total += took;
    }
    Ok(total)
}

fn add(total: &mut Round, round: Round) {
    total.latencies.extend(round.latencies);
    total.wall += round.wall;
    total.cpu += round.cpu;
}

impl Plan {
    const fn of(size: Size) -> Self {
        match size {
            Size::Full => Self { rounds: 6, lists: 500, warmup: 20 },
            Size::Quick => Self { rounds: 2, lists: 20, warmup: 2 },
        }
    }
}
