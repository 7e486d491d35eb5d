//! A dry run: the judging half of the road, a look at what the rest would say, and a report in place
//! of the call.
//!
//! Nothing is recorded, asked, claimed, used up or sent, and nothing counts towards a limit. The
//! critic alone is not heard: to be asked is already something that happens.

use catalog::{Deed, Entry as Tool};
use context::{Cleared, say};
use model::{Fault, RecordStatus};
use serde_json::{Value, json};

use super::record::Entry;
use super::{CallRequest, record};
use crate::gateway::Gateway;

impl Gateway {
    /// Says what this call would come to. A call that would be refused is refused here alike.
    pub async fn rehearse(&self, request: &CallRequest) -> Cleared {
        let mut entry = record::open(self, request);
        match self.foretell(request, &mut entry).await {
            Ok((text, report)) => say(text, Some(report), &self.settings.redactor),
            Err(fault) => {
                let (status, _) = RecordStatus::of(&fault);
                self.refuse(&fault.with("dry_run", true).with("would_be", status.as_str()))
            }
        }
    }

    async fn foretell(
        &self,
        request: &CallRequest,
        entry: &mut Entry,
    ) -> Result<(String, Value), Fault> {
        let (tool, outcome) = Box::pin(self.foresee(request, entry)).await?;
        let text = format!("dry run of `{}`: arguments fit; {outcome}", tool.shown_name);
        let doubted = self.is_doubted(&tool.item.key.upstream);
        let text = if doubted { format!("{text}; {IN_DOUBT}") } else { text };
        Ok((text, report(&tool, entry, (outcome, doubted))))
    }
}

const IN_DOUBT: &str = "its upstream's list is in doubt; a call would have it compared first";

fn report(tool: &Tool, entry: &Entry, (outcome, doubted): (&str, bool)) -> Value {
    let decision = entry.record.decision.as_ref();
    let checks = entry.record.stages.iter().map(|stage| json!({"name": stage, "status": "passed"}));
    json!({
        "dry_run": true,
        "tool_id": tool.shown_name,
        "upstream": tool.item.key.upstream,
        "upstream_name": tool.item.name,
        "args_valid": true,
        "outcome": outcome,
        "notes": doubted.then_some(IN_DOUBT).into_iter().collect::<Vec<_>>(),
        "deed": Deed::of(tool).to_string(),
        "approval_mode": decision.map(|decision| decision.effective_mode),
        "reason": decision.map(|decision| decision.reason.as_str()),
        "hints": {"claims": tool.item.hints, "verified": false},
        "checks": checks.collect::<Vec<_>>(),
    })
}
