//! `bench idle`: what a stream costs the gate while nothing is said on it.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{self, Command};

use crate::Outcome;
use crate::args::{GateArgs, Output, Size};
use crate::call::note;
use crate::child;
use crate::machine;
use crate::memory;
use crate::signals;
use crate::streams::{self, CALLERS, Over};
use crate::toolgate;

/// Files the gate has besides its streams.
const OTHER_FILES: u64 = 200;
/// How long it may take to open all streams.
const OPEN_PATIENCE: Duration = Duration::from_mins(5);

pub(crate) async fn run(args: GateArgs, over: Over) -> Outcome<()> {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    fs::create_dir_all(&results)?;
    let folder = tempfile::Builder::new().prefix("run-").tempdir_in(&results)?;
    let report = signals::or_stop(measure(&args, over, &folder)).await?;
    let json = format!("{report:#}\n");
    if args.output == Output::Json {
        return Ok(io::stdout().write_all(json.as_bytes())?);
    }
    io::stdout().write_all(sentence(&report).as_bytes())?;
    let size = if args.size == Size::Full { "" } else { ".quick" };
    let path = results.join(format!("idle-{}{size}.json", over.name()));
    fs::write(&path, json)?;
    note(&format!("kept in {}", path.display()))
}

async fn measure(args: &GateArgs, over: Over, folder: &TempDir) -> Outcome<Value> {
    let streams: usize = if args.size == Size::Full { 10_000 } else { 500 };
    memory::allow_files(u64::try_from(streams)? + OTHER_FILES)?;
    let binary = toolgate::found(args.toolgate.as_deref()).await?;
    let command = toolgate::configured(&binary, &configuration(over), folder.path())?;
    let gate = child::start(command, "toolgate", folder.path()).await?;
    let before_kib = memory::resident_kib(gate.pid)?;
    let mut client = open(&gate, over, streams).await?;
    let after_kib = memory::resident_kib(gate.pid)?;
    client.kill().await?;
    gate.stop().await?;
    let machine = machine::look(folder.path());
    let count = f64::from(u32::try_from(streams)?);
    let grown = f64::from(u32::try_from(after_kib.saturating_sub(before_kib))?);
    Ok(json!({
        "benchmark": "idle",
        "over": over.name(),
        "streams": streams,
        "callers": CALLERS.min(streams),
        "before_kib": before_kib,
        "after_kib": after_kib,
        "kib_per_stream": (grown / count * 100.0).round() / 100.0,
        "machine": {"cores": machine.cores, "processor": machine.processor, "kernel": machine.kernel},
    }))
}

fn configuration(over: Over) -> Value {
    let caller =
        |caller| json!({"name": format!("caller-{caller:04}"), "token": streams::token(caller)});
    json!({
        "mode": "native",
        "naming": "none",
        "transport": if over == Over::Sse { "sse" } else { "http" },
        "upstreams": {"demo": {"type": "demo"}},
        "auth": {"tokens": (0..CALLERS).map(caller).collect::<Vec<_>>()},
    })
}

/// Starts the client and waits until it has every stream.
async fn open(gate: &child::Child, over: Over, streams: usize) -> Outcome<process::Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["role", "streams", &gate.address.to_string(), over.name(), &streams.to_string()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut client = command.spawn()?;
    let stdout = client.stdout.take().ok_or("the client has no output")?;
    let mut lines = BufReader::new(stdout).lines();
    let line = tokio::time::timeout(OPEN_PATIENCE, lines.next_line()).await??;
    match line {
        Some(line) if line == format!("{streams} streams are open") => Ok(client),
        _ => Err("the client did not open all streams; it says why above".into()),
    }
}

fn sentence(report: &Value) -> String {
    let show = |key: &str| report.get(key).map_or("-".to_owned(), Value::to_string);
    format!(
        "{} idle streams over {} of {} callers: {} KiB each ({} KiB before, {} KiB with all open)\n",
        show("streams"),
        report.get("over").and_then(Value::as_str).unwrap_or_default(),
        show("callers"),
        show("kib_per_stream"),
        show("before_kib"),
        show("after_kib"),
    )
}
