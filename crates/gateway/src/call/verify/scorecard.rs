//! The built-in critic after a call: five scores, each from what the record says already.
//!
//! Deterministic, and off unless the operator wants it. What a score means for a run is not decided
//! here.

use model::score::{Score, Scorecard};
use model::{CallResult, DecisionAction, Finding, Outcome, Record, RecordStatus, Severity};

/// The card of a call that came to an answer.
pub(super) fn of(record: &Record) -> Option<Scorecard> {
    let result = record.result.as_ref()?;
    Some(Scorecard {
        policy: policy(record),
        utility: utility(result),
        latency: latency(result.metrics.latency_ms, patience_ms(record)),
        safety: safety(record),
        economics: economics(result.metrics.retry_count, result.deduplicated),
    })
}

/// A floor: made only as decided, and by a human's yes where one was asked for.
fn policy(record: &Record) -> Score {
    let made = matches!(record.status, RecordStatus::Completed | RecordStatus::Failed);
    let points = match record.decision.as_ref().map(|decision| decision.action) {
        Some(DecisionAction::Allow) => 100,
        Some(DecisionAction::RequireApproval) if record.approval_id.is_some() => 100,
        Some(DecisionAction::Deny) if !made => 100,
        _ => 0,
    };
    Score::of_hundred(points, 100)
}

/// Schema and evidence keys: an answer that holds all that was promised is worth most.
fn utility(result: &CallResult) -> Score {
    let odd = |finding: &Finding| {
        matches!(finding.rule.as_str(), "output_schema" | "mcp-non-object-output")
    };
    let points = match result.outcome {
        Outcome::Error => 0,
        Outcome::Partial => 50,
        Outcome::Ok if result.findings.iter().any(odd) => 50,
        Outcome::Ok => 100,
    };
    Score::of_hundred(points, 50)
}

/// How much of the time it might have taken was left.
fn latency(took_ms: u64, patience_ms: u64) -> Score {
    let used = took_ms.saturating_mul(100).checked_div(patience_ms).unwrap_or(100).min(100);
    // Up to a tenth of the time nobody waits.
    let points = if used <= 10 { 100 } else { 100 - used };
    Score::of_hundred(points, 10)
}

/// A floor: what had to be taken out of the answer, or was odd about it.
fn safety(record: &Record) -> Score {
    let Some(result) = record.result.as_ref() else { return Score::of_hundred(0, 50) };
    let grave = result.findings.iter().any(|finding| finding.severity == Severity::Error);
    let odd =
        result.findings.iter().filter(|finding| finding.severity == Severity::Warning).count();
    let cleaned = u64::from(result.cleaning.changed_leaves > 0) * 20;
    let left = 100_u64.saturating_sub(cleaned).saturating_sub(odd as u64 * 10);
    Score::of_hundred(if grave { 0 } else { left }, 50)
}

/// Tries beyond the first cost; an answer that was there already costs nothing.
fn economics(retries: u32, deduplicated: bool) -> Score {
    let points = if deduplicated { 100 } else { 100 / (u64::from(retries) + 1) };
    Score::of_hundred(points, 25)
}

fn patience_ms(record: &Record) -> u64 {
    let patience = record.call.deadline.since(record.call.started_at).as_millis();
    u64::try_from(patience).unwrap_or(u64::MAX)
}
