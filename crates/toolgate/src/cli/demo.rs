//! `toolgate demo`: browse, a refusal, a write that needs a human, a large result, and the records
//! they leave. Everything is real; it runs on the built-in upstream in a folder of its own.

mod adapter;
mod surface;

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::time::Duration;

use catalog::Query;
use clap::{Args, ValueEnum};
use gateway::{CallRequest, Done, Watch};
use model::{Answer, Approval, Caller, Selector};
use serde_json::{Value, json};
use store::{RecordFilter, Verdict};

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::print;
use crate::assemble::{self, Gate};
use crate::config::{Config, LogLevel, Mode, Overrides, Transport};

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Another tour than the usual one
    pub part: Option<Part>,
}

/// What the demo can show by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// A raw result and a recorded session become what a model reads
    Adapter,
    /// What a model does in mode `gateway`, with a stub behind the gate
    Gateway,
    /// The same in mode `transparent`
    Proxy,
}

pub(super) fn run(context: &Context, args: &DemoArgs) -> Result<(), CliError> {
    match args.part {
        Some(Part::Adapter) => return adapter::run(context),
        Some(Part::Gateway) => return surface::run(context, Mode::Gateway),
        Some(Part::Proxy) => return surface::run(context, Mode::Transparent),
        None => {}
    }
    context.start(LogLevel::Error, Overrides::default())?;
    context.block_on(async {
        let folder = tempfile::tempdir()?;
        let data = folder.path().join("data");
        let shown = Overrides { mode: Some(Mode::Gateway), ..Overrides::default() };
        let config = Config::demo().with(shown);
        let gate = assemble::gate(&config, Transport::Stdio, &data, "demo").await?;
        let mut tour = Tour::new(context, &gate);
        let told = Box::pin(tour.walk(context.globals().yes)).await;
        gate.gateway.close(Duration::from_secs(1)).await;
        told?;
        if context.out.is_json() { context.out.json(&tour.steps) } else { Ok(()) }
    })
}

/// One walk past the stations. With `--json` the steps are kept and printed at the end.
struct Tour<'a> {
    context: &'a Context,
    gate: &'a Gate,
    caller: Caller,
    steps: Vec<Value>,
}

impl<'a> Tour<'a> {
    fn new(context: &'a Context, gate: &'a Gate) -> Self {
        Self { context, gate, caller: gate.doorkeeper.local(), steps: Vec::new() }
    }

    async fn walk(&mut self, yes: bool) -> Result<(), CliError> {
        self.browse().await?;
        self.refusal().await?;
        self.approved_write(yes).await?;
        self.large_result().await?;
        self.records().await
    }

    async fn browse(&mut self) -> Result<(), CliError> {
        let tools = self.gate.refreshed.tools;
        self.title("1. Browse", &format!("{tools} tools stand behind the gate; the model sees three of ours. It asks tool_browse for \"refund a payment\":"))?;
        let query = Query::Words("refund a payment".to_owned());
        let found = self.gate.gateway.browse(&self.caller, &query, Some(3)).await;
        self.tell("browse", found.get())
    }

    async fn refusal(&mut self) -> Result<(), CliError> {
        self.title(
            "2. A refused call",
            "A refund of 90,000 breaks the tool's schema. The upstream never hears of it:",
        )?;
        let done = self.call("payments_issue_refund", refund(90_000)).await;
        self.tell("refused", done.cleared.get())
    }

    async fn approved_write(&mut self, yes: bool) -> Result<(), CliError> {
        self.title(
            "3. A write that needs a human",
            "1,499 fits the schema, but refunds stand behind a gate of their own. The call pauses:",
        )?;
        let paused = self.call("payments_issue_refund", refund(1_499)).await;
        self.tell("paused", paused.cleared.get())?;
        let approval = self.pending().await?;
        let approved = yes || self.ask(&approval)?;
        let verdict = Verdict { approved, approver: "cli:demo".to_owned(), reason: None };
        self.gate.gateway.answer(approval.approval_id.as_str(), verdict).await?;
        let word = if approved { "Approved" } else { "Rejected" };
        self.title("", &format!("{word}. The model makes the same call again:"))?;
        let again = self.call("payments_issue_refund", refund(1_499)).await;
        self.tell("answered", again.cleared.get())
    }

    async fn large_result(&mut self) -> Result<(), CliError> {
        self.title(
            "4. A large result",
            "The ledger is far too long for a prompt. The model gets an excerpt and a handle:",
        )?;
        let done = self.call("reports_export_ledger", json!({})).await;
        self.tell("large", done.cleared.get())?;
        let artifacts = done.result.as_ref().and_then(|result| result.artifacts.last());
        let Some(artifact) = artifacts else {
            return Err(CliError::new(Exit::Failure, "the demo's large result was kept nowhere"));
        };
        self.title("", "and looks into the rest with tool_view:")?;
        let lines = Selector::Lines { start: 2, end: 4 };
        let view = self.gate.gateway.view(&self.caller, artifact.handle.as_str(), &lines).await;
        self.tell("view", view.get())
    }

    async fn records(&mut self) -> Result<(), CliError> {
        self.title("5. What was remembered", "Every call left a record, the refused ones too:")?;
        let lines = self.gate.gateway.records(&RecordFilter::default()).await?;
        self.steps.push(json!({"step": "records", "records": lines}));
        for line in lines.iter().rev().filter(|_| !self.context.out.is_json()) {
            let error = line.error.map(|code| format!("  {code}")).unwrap_or_default();
            self.context.out.line(&format!(
                "    {:<10} {}{error}",
                line.status.as_str(),
                line.tool
            ))?;
        }
        let me = super::stop::own_command();
        self.title("", &format!("Next: `{me} up` starts the gate for your client."))
    }

    async fn call(&self, tool: &str, args: Value) -> Done {
        let request = CallRequest::new(self.caller.clone(), tool, args);
        Box::pin(self.gate.gateway.call(request, Watch::default())).await
    }

    async fn pending(&self) -> Result<Approval, CliError> {
        let mut waiting = self.gate.gateway.approvals(None).await?;
        waiting.pop().ok_or_else(|| CliError::new(Exit::Failure, "the demo's refund asked nobody"))
    }

    /// Puts the question to the person at the terminal. Where there is none, the answer is no.
    fn ask(&self, approval: &Approval) -> Result<bool, CliError> {
        if !std::io::stdin().is_terminal() || self.context.out.is_json() {
            self.context.out.note("nobody to ask here, so the answer is no; pass --yes for a yes");
            return Ok(false);
        }
        let question = format!("    {} at {}: approve? [y/N] ", approval.tool, approval.gate);
        print::stdout(&question)?;
        std::io::stdout().flush()?;
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
    }

    fn title(&self, title: &str, text: &str) -> Result<(), CliError> {
        if self.context.out.is_json() {
            return Ok(());
        }
        self.context.out.line("")?;
        if !title.is_empty() {
            self.context.out.line(title)?;
        }
        self.context.out.line(text)
    }

    fn tell(&mut self, step: &str, answer: &Answer) -> Result<(), CliError> {
        self.steps.push(json!({"step": step, "answer": answer}));
        if self.context.out.is_json() {
            return Ok(());
        }
        self.context.out.line("")?;
        let text = answer.full_text();
        text.lines().try_for_each(|line| self.context.out.line(&format!("    {line}")))
    }
}

fn refund(amount_inr: u32) -> Value {
    json!({
        "transaction_id": "txn_8f3k2a",
        "amount_inr": amount_inr,
        "currency": "INR",
        "reason_code": "customer_request",
        "idempotency_key": "ik_0123456789abcdef",
    })
}
