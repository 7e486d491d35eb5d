//! Stage 8: a question becomes a permit only through a human's answer.

use context::without_secrets;
use model::{Approval, ApprovalState, Code, Fault, ItemKind};
use policy::{Permit, Question, Way};

use super::record::Entry;
use super::{Asking, elicit};
use crate::gateway::Gateway;

/// Lets an allowed call pass; asks about the others and pauses them until they are answered.
///
/// Where the client can ask its person, that person is asked at once. Nobody else is waited for: the
/// same call made again finds the answer.
pub(super) async fn approve(
    gateway: &Gateway,
    asking: &Asking<'_>,
    way: Way,
    entry: &mut Entry,
) -> Result<Permit, Fault> {
    entry.stage("approval");
    match way {
        Way::Go(permit) => Ok(permit),
        Way::No(fault) => Err(fault),
        Way::Ask(question) => Box::pin(ask(gateway, asking, question, entry)).await,
    }
}

async fn ask(
    gateway: &Gateway,
    asking: &Asking<'_>,
    question: Question,
    entry: &mut Entry,
) -> Result<Permit, Fault> {
    let mut asked = question.put(gateway.clock.now(), gateway.settings.approval_ttl);
    // Whoever answers sees what is asked, but no secret in it; the hash is over what will be sent.
    asked.args = without_secrets(&asked.args, &gateway.settings.redactor).0;
    asked.tool = gateway.settings.redactor.redact(&asked.tool).into_owned();
    let new = asked.approval_id.clone();
    let mut approval = gateway.store.ask(asked).await?;
    entry.record.approval_id = Some(approval.approval_id.clone());
    if approval.state == ApprovalState::Pending {
        if approval.approval_id == new {
            gateway.herald().announce(&approval);
        }
        if let Some(answered) = elicit::ask(gateway, asking, &approval, entry).await? {
            approval = answered;
            still_holds(gateway, asking, entry)?;
        }
    }
    let permit = question.answered(&approval, gateway.clock.now());
    permit.map_err(|fault| with_page(gateway, fault, &approval))
}

/// What is known of a human's answer before anybody is asked.
#[derive(Debug)]
pub(super) enum Known {
    /// Somebody said yes to exactly this call.
    Approved(Box<Permit>),
    /// Nobody has said anything; with what that means for the call.
    Unanswered(&'static str),
}

/// Looks for the answer that a call would find, and asks nobody. Somebody's no is a refusal.
pub(super) async fn known(gateway: &Gateway, question: Question) -> Result<Known, Fault> {
    let now = gateway.clock.now();
    let subject_hash = question.put(now, gateway.settings.approval_ttl).subject_hash;
    match gateway.store.asked(&subject_hash).await? {
        None => Ok(Known::Unanswered("a human would be asked first")),
        Some(approval) if approval.state == ApprovalState::Pending => {
            Ok(Known::Unanswered("a human was asked and has not answered yet"))
        }
        Some(approval) => {
            question.answered(&approval, now).map(|permit| Known::Approved(Box::new(permit)))
        }
    }
}

/// Asking takes time. What was asked about must still be what is.
fn still_holds(gateway: &Gateway, asking: &Asking<'_>, entry: &Entry) -> Result<(), Fault> {
    let item = &asking.tool.item;
    let catalogue = gateway.catalogue();
    let now = catalogue.entries().iter().find(|known| known.item.key == item.key);
    // Prompts and resources stand on the shelf, and are only looked at.
    let same_tool = match now {
        Some(known) => known.item.full_hash == item.full_hash,
        None => item.kind != ItemKind::Tool,
    };
    if same_tool && gateway.rules().hash() == entry.rules.hash() {
        return Ok(());
    }
    let message = "the policy or the tool changed while somebody was asked; call again";
    Err(Fault::new(Code::ApprovalRejected, message).at(&asking.tool.shown_name))
}

/// Where somebody can answer in a browser.
fn with_page(gateway: &Gateway, fault: Fault, approval: &Approval) -> Fault {
    match &gateway.settings.approval_page {
        Some(page) if fault.code == Code::ApprovalPending => {
            fault.with("url", format!("{page}/{}", approval.approval_id))
        }
        _ => fault,
    }
}
