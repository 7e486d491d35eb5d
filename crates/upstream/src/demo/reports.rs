//! The `reports` namespace: figures over the ledger and the support desk, one slow job, one very
//! large export, and one report whose source is down.

mod contract;
mod export;

use std::time::Duration;

use model::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::days;
use super::payments;
use super::refusal::{Outcome, Refusal, done};
use super::state::State;
use super::tickets::{Priority, Status, Ticket};
use crate::errand::{Errand, Progress};

pub(super) use contract::definitions;
pub(super) use export::export_ledger;

const LIST: &str = "reports_list_reports";
const STEPS_DEFAULT: u32 = 5;
const STEPS_MAX: u32 = 100;
const STEP_MS_DEFAULT: u64 = 200;
const STEP_MS_MAX: u64 = 10_000;
const PHASES: [&str; 4] =
    ["reading settlements", "matching refunds", "counting tickets", "writing the report"];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Report {
    #[serde(rename = "report_id")]
    id: String,
    title: String,
    built_at: Timestamp,
    settled_inr: f64,
    refunded_inr: f64,
    net_inr: f64,
    tickets_opened: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

pub(super) fn summarize_revenue(state: &State, _: &Nothing, now: Timestamp) -> Outcome {
    let totals = payments::totals(state, |_| true);
    done(json!({
        "settled_inr": totals.settled_inr(),
        "refunded_inr": totals.refunded_inr(),
        "net_inr": totals.net_inr(),
        "entry_count": payments::ledger(state).len(),
        "refund_count": state.refunds.len(),
        "as_of": now,
    }))
}

pub(super) fn summarize_tickets(state: &State, _: &Nothing, now: Timestamp) -> Outcome {
    let open: Vec<&Ticket> =
        state.tickets.values().filter(|ticket| ticket.status == Status::Open).collect();
    let with = |priority| open.iter().filter(|ticket| ticket.priority == priority).count();
    let oldest = open.iter().min_by_key(|ticket| ticket.created_at);
    let mut told = json!({
        "open": open.len(),
        "closed": state.tickets.len() - open.len(),
        "open_by_priority": {
            "low": with(Priority::Low),
            "normal": with(Priority::Normal),
            "high": with(Priority::High),
            "urgent": with(Priority::Urgent),
        },
        "as_of": now,
    });
    if let (Some(object), Some(oldest)) = (told.as_object_mut(), oldest) {
        object.insert("oldest_open".to_owned(), json!(oldest.id));
    }
    done(told)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BuildAnnual {
    year: u16,
    steps: Option<u32>,
    step_ms: Option<u64>,
}

/// The slow part: one piece of news per step. Losing it at any await loses nothing.
pub(super) async fn work_through(args: &BuildAnnual, errand: &Errand) {
    let total = args.steps.unwrap_or(STEPS_DEFAULT).clamp(1, STEPS_MAX);
    let step_ms = args.step_ms.unwrap_or(STEP_MS_DEFAULT).min(STEP_MS_MAX);
    for (step, phase) in (1..=total).zip(PHASES.iter().cycle()) {
        tokio::time::sleep(Duration::from_millis(step_ms)).await;
        errand.report(Progress {
            progress: f64::from(step),
            total: Some(f64::from(total)),
            message: Some(format!("step {step} of {total}: {phase}")),
            rest: serde_json::Map::new(),
        });
    }
}

/// The quick part, when the work is done: building a year again replaces its report.
pub(super) fn build_annual(state: &mut State, args: &BuildAnnual, now: Timestamp) -> Outcome {
    let in_year = |at: Timestamp| days::date(at).starts_with(&format!("{:04}-", args.year));
    let totals = payments::totals(state, in_year);
    let report = Report {
        id: format!("rpt_{}", args.year),
        title: format!("Annual report {}", args.year),
        built_at: now,
        settled_inr: totals.settled_inr(),
        refunded_inr: totals.refunded_inr(),
        net_inr: totals.net_inr(),
        tickets_opened: state.tickets.values().filter(|ticket| in_year(ticket.created_at)).count(),
    };
    let told = json!(report);
    state.reports.insert(report.id.clone(), report);
    done(told)
}

pub(super) fn list(state: &State, _: &Nothing, _: Timestamp) -> Outcome {
    let reports = state.reports.values().map(in_short).collect::<Vec<_>>();
    done(json!({"total": reports.len(), "reports": reports}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    report_id: String,
}

pub(super) fn get(state: &State, args: &Which, _: Timestamp) -> Outcome {
    let report = state.reports.get(&args.report_id);
    report.map_or_else(|| Err(unknown(&args.report_id)), |report| done(json!(report)))
}

pub(super) fn delete(state: &mut State, args: &Which, _: Timestamp) -> Outcome {
    state.reports.remove(&args.report_id).ok_or_else(|| unknown(&args.report_id))?;
    done(json!({"report_id": args.report_id, "deleted": true}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum Dataset {
    Ledger,
    Tickets,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CompareWarehouse {
    dataset: Dataset,
}

/// Always refuses: the demo's warehouse has locked the demo out, as warehouses do.
pub(super) fn compare_warehouse(_: &State, args: &CompareWarehouse, _: Timestamp) -> Outcome {
    let instead = match args.dataset {
        Dataset::Ledger => "reports_export_ledger",
        Dataset::Tickets => "reports_summarize_tickets",
    };
    let text = format!(
        "the data warehouse refused the service account `svc_reports`: its key has expired; \
         ask the data platform team to renew it, do not retry, and use `{instead}` meanwhile"
    );
    Err(Refusal::new("WAREHOUSE_LOCKED_OUT", text))
}

fn in_short(report: &Report) -> Value {
    json!({"report_id": report.id, "title": report.title, "built_at": report.built_at})
}

fn unknown(id: &str) -> Refusal {
    Refusal::unknown("report", id, LIST)
}
