//! Stage 8: a question becomes a permit only through a human's answer.

use context::without_secrets;
use model::Fault;
use policy::{Permit, Way};

use super::record::Entry;
use crate::gateway::Gateway;

/// Lets an allowed call pass; asks about the others and pauses them until they are answered.
///
/// The call does not wait: the same call made again finds the answer.
pub(super) async fn approve(
    gateway: &Gateway,
    way: Way,
    entry: &mut Entry,
) -> Result<Permit, Fault> {
    entry.stage("approval");
    let question = match way {
        Way::Go(permit) => return Ok(permit),
        Way::No(fault) => return Err(fault),
        Way::Ask(question) => question,
    };
    let now = gateway.clock.now();
    let mut asked = question.put(now, gateway.settings.approval_ttl);
    // Whoever answers sees what is asked, but no secret in it; the hash is over what will be sent.
    asked.args = without_secrets(&asked.args, &gateway.settings.redactor).0;
    let approval = gateway.store.ask(asked).await?;
    entry.record.approval_id = Some(approval.approval_id.clone());
    question.answered(&approval, now)
}
