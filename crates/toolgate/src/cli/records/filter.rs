//! Which records are meant: by run, principal, tool, status and time.

use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use model::{Clock, RecordStatus, Timestamp};
use store::RecordFilter;

#[derive(Clone, Debug, Default, Args)]
pub struct FilterArgs {
    /// Only calls of this tool, as `upstream/tool` or `tool`
    #[arg(long)]
    pub tool: Option<String>,
    /// Only records in this state
    #[arg(long, value_parser = status_parser())]
    pub status: Option<RecordStatus>,
    /// Only calls of this run
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,
    /// Only calls of this principal, as `user:ann`
    #[arg(long)]
    pub principal: Option<String>,
    /// Only what was written at this time or later: `2026-01-31T12:00:00Z`, or `90m`, `12h`, `7d` ago
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub since: Option<Timestamp>,
    /// Only what was written before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<Timestamp>,
}

impl FilterArgs {
    /// Nothing is said.
    pub(in crate::cli) fn is_empty(&self) -> bool {
        let Self { tool, status, run, principal, since, until } = self;
        let named = tool.is_some() || run.is_some() || principal.is_some() || status.is_some();
        !named && since.is_none() && until.is_none()
    }

    pub(in crate::cli) fn filter(self, limit: u32) -> RecordFilter {
        let Self { tool, status, run, principal, since, until } = self;
        RecordFilter { limit, tool, status, principal, run_id: run, since, until, before_seq: None }
    }
}

const STATUSES: [RecordStatus; 7] = [
    RecordStatus::Open,
    RecordStatus::Completed,
    RecordStatus::Failed,
    RecordStatus::Denied,
    RecordStatus::Cancelled,
    RecordStatus::Deferred,
    RecordStatus::Escalated,
];

fn status_parser() -> impl TypedValueParser<Value = RecordStatus> {
    let words = PossibleValuesParser::new(STATUSES.map(RecordStatus::as_str));
    words.try_map(|word| {
        STATUSES.into_iter().find(|status| status.as_str() == word).ok_or("no such status")
    })
}

/// A moment, or how long ago one was.
fn time(text: &str) -> Result<Timestamp, String> {
    if let Ok(at) = text.parse() {
        return Ok(at);
    }
    let ago =
        span(text).ok_or("use a time such as `2026-01-31T12:00:00Z`, or `90m`, `12h`, `7d`")?;
    let ago_ms = i64::try_from(ago.as_millis()).unwrap_or(i64::MAX);
    Ok(Timestamp::from_millis(Clock::System.now().as_millis().saturating_sub(ago_ms)))
}

fn span(text: &str) -> Option<Duration> {
    let unit = text.chars().last()?;
    let count: u64 = text.strip_suffix(unit)?.parse().ok()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return None,
    };
    Some(Duration::from_secs(count.checked_mul(seconds)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_moment_or_a_while_ago() {
        assert_eq!(time("1970-01-01T00:00:01Z"), Ok(Timestamp::from_millis(1_000)));
        assert_eq!(span("90m"), Some(Duration::from_mins(90)));
        assert_eq!(span("7d"), Some(Duration::from_hours(7 * 24)));
        for wrong in ["", "7", "d", "7w", "-1h", "99999999999999999999s", "é"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
