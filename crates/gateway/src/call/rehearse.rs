//! A dry run: the judging half of the road, and a report in place of the call.
//!
//! Nothing is recorded, asked, claimed or sent, and nothing counts towards a limit.

use catalog::{Deed, Entry as Tool};
use context::{Cleared, say};
use model::{Fault, RecordStatus};
use policy::Way;
use serde_json::{Value, json};

use super::record::Entry;
use super::{CallRequest, Judged, record};
use crate::gateway::Gateway;
use crate::tasks;

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
        tasks::recall(self, request).await?;
        // Nobody is asked for a list: what a call would wait for is told instead.
        let Judged { tool, way, stored, .. } = self.judge(request, Ok(()), entry).await?;
        let outcome = match (&way, stored.is_some()) {
            (_, true) => "its stored answer would be given again, and nothing called",
            (Way::Go(_), false) => "it would be called",
            (Way::Ask(_), false) => "a human would be asked first",
            (Way::No(fault), false) => return Err(fault.clone()),
        };
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
