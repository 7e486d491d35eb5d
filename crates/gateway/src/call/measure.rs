//! What is measured of a call beside its time, where its manifest lists it (CO-90).

use manifest::Metric;
use model::result::Metrics;
use model::{Answer, Code, Fault};
use serde_json::Value;

use super::record::Entry;
use crate::gateway::Gateway;

/// How an upstream answered: by its status where it has one, else in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Http(u16),
    Word(&'static str),
}

impl Status {
    /// Of what came of a call; `http` is the status of the last response, where there was one.
    pub(super) fn of(outcome: Result<&Answer, &Fault>, http: Option<u16>) -> Self {
        let fault = match outcome {
            Ok(answer) => {
                let word = if answer.is_error { "error" } else { "ok" };
                return http.map_or(Self::Word(word), Self::Http);
            }
            Err(fault) => fault,
        };
        let said = fault.details.get("status").and_then(Value::as_u64);
        match (said.and_then(|said| u16::try_from(said).ok()), fault.code) {
            (Some(said), _) => Self::Http(said),
            (None, Code::UpstreamTimeout) => Self::Word("timeout"),
            (None, Code::UpstreamUnavailable) => Self::Word("unavailable"),
            (None, Code::Cancelled) => Self::Word("cancelled"),
            (None, _) if fault.upstream.is_some() => Self::Word("protocol_error"),
            (None, _) => Self::Word("error"),
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Http(status) => write!(f, "{status}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// Fills in what the manifest of the tool lists. A call that reached nobody has no status and cost
/// nothing.
pub(super) fn measure(gateway: &Gateway, entry: &Entry, metrics: &mut Metrics) {
    let Some(key) = entry.record.call.item_key.as_ref().filter(|_| entry.dispatched) else {
        return;
    };
    let Some(manifest) = gateway.manifest(&key.upstream) else { return };
    let listed = manifest.observability.as_ref().map(|told| told.metrics.as_slice());
    let lists = |metric| listed.unwrap_or_default().contains(&metric);
    if lists(Metric::UpstreamStatus) {
        metrics.upstream_status = entry.upstream_status.map(|status| status.to_string());
    }
    if lists(Metric::CostCents) {
        metrics.cost_cents = gateway.settings.runs.cost(&key.to_string());
    }
}

#[cfg(test)]
mod tests {
    use model::fault::WireError;

    use super::*;

    /// CO-90: what an upstream's status is, for each way to answer or not to.
    #[test]
    fn a_status_is_a_number_where_there_is_one() {
        let check = |outcome: Result<&Answer, &Fault>, http: Option<u16>, expected: &str| {
            assert_eq!(Status::of(outcome, http).to_string(), expected, "{outcome:?} {http:?}");
        };
        let (fine, wrong) = (Answer::text("x"), Answer { is_error: true, ..Answer::text("x") });
        check(Ok(&fine), None, "ok");
        check(Ok(&wrong), None, "error");
        check(Ok(&fine), Some(201), "201");
        check(Ok(&wrong), Some(404), "404");
        let fault = |code| Fault::new(code, "it failed");
        check(Err(&fault(Code::UpstreamTimeout)), Some(200), "timeout");
        check(Err(&fault(Code::UpstreamUnavailable)), None, "unavailable");
        check(Err(&fault(Code::Cancelled)), None, "cancelled");
        check(Err(&fault(Code::UpstreamError)), None, "error");
        check(Err(&fault(Code::UpstreamError).with("status", 502)), None, "502");
        let refusal = WireError { code: -32602, message: "no".to_owned(), data: None };
        let refused = Fault { upstream: Some(Box::new(refusal)), ..fault(Code::UpstreamError) };
        check(Err(&refused), Some(200), "protocol_error");
    }
}
