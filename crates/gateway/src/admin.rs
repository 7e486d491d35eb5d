//! For people rather than agents: what was recorded, and what waits for an answer.

use std::sync::Arc;

use catalog::Entry as Tool;
use model::{Approval, ApprovalState, Caller, Code, Fault, Record};
use policy::Action;
use serde_json::Map;
use store::{RecordFilter, RecordLine, Verdict};
use upstream::Webhook;

use crate::gateway::{Aside, Gateway};
use crate::{browse, view};

impl Gateway {
    pub async fn records(&self, filter: &RecordFilter) -> Result<Vec<RecordLine>, Fault> {
        self.store.records(filter).await
    }

    pub async fn record(&self, id: &str) -> Result<Option<Record>, Fault> {
        self.store.record(id).await
    }

    pub async fn approvals(&self, state: Option<ApprovalState>) -> Result<Vec<Approval>, Fault> {
        self.store.approvals(state).await
    }

    /// Takes a human's answer. It counts once.
    pub async fn answer(&self, approval: &str, verdict: Verdict) -> Result<Approval, Fault> {
        let answered = self.store.answer(approval, verdict).await;
        self.answered.notify_waiters();
        answered
    }

    /// Takes the answer of somebody who came in at the door, if it is theirs to give: not the one
    /// whose call it is, and one whom policy lets approve it.
    pub async fn answer_as(
        &self,
        approver: &Caller,
        id: &str,
        approved: bool,
        reason: Option<String>,
    ) -> Result<Approval, Fault> {
        let approval = self.question_for(approver, id).await?;
        let same_tenant = approval.tenant == approver.principal.tenant_id;
        if same_tenant && approval.requested_by == approver.principal.to_string() {
            let message = "nobody answers their own question; somebody else must";
            return Err(Fault::new(Code::PermissionDenied, message).at(id));
        }
        let verdict = Verdict { approved, approver: approver.principal.to_string(), reason };
        self.answer(approval.approval_id.as_str(), verdict).await
    }

    /// The question, for somebody who may answer it; unknown to everybody else.
    pub async fn question_for(&self, approver: &Caller, id: &str) -> Result<Approval, Fault> {
        let found = self.store.approval(id).await?;
        found.filter(|approval| self.may_approve(approver, approval)).ok_or_else(|| {
            let id = model::fault::one_line(id, 80);
            Fault::new(Code::PathNotFound, format!("there is no approval `{id}`")).at(id)
        })
    }

    /// What waits for an answer that this person may give.
    pub async fn questions_for(&self, approver: &Caller) -> Result<Vec<Approval>, Fault> {
        let mut waiting = self.store.approvals(Some(ApprovalState::Pending)).await?;
        waiting.retain(|approval| self.may_approve(approver, approval));
        Ok(waiting)
    }

    /// Whether the question is for this person's tenant, and policy lets them answer it. Things of
    /// several kinds can go by one name, and a question tells only the name: then all must be theirs
    /// to approve.
    fn may_approve(&self, approver: &Caller, approval: &Approval) -> bool {
        if !approval.is_shown_to(approver.principal.tenant_id.as_deref()) {
            return false;
        }
        let (rules, now, none) = (self.rules(), self.clock.now(), Map::new());
        let params = approval.args.as_object().unwrap_or(&none);
        let named = view::named(&self.catalogue(), &approval.tool);
        let may = |item: &Arc<Tool>| {
            browse::facts(approver, item, (&approval.args, params), now, |facts| {
                policy::may(&rules, Action::Approve, facts)
            })
        };
        !named.is_empty() && named.iter().all(may)
    }

    /// Who tells that somebody is asked.
    pub(crate) fn herald(&self) -> Herald {
        Herald {
            webhook: self.settings.approval_webhook.clone(),
            page: self.settings.approval_page.clone(),
            aside: self.aside(),
        }
    }
}

/// Tells whoever the operator named of questions.
#[derive(Clone, Debug)]
pub(crate) struct Herald {
    webhook: Option<Arc<Webhook>>,
    page: Option<String>,
    aside: Aside,
}

impl Herald {
    /// Nothing waits for it.
    pub(crate) fn announce(&self, approval: &Approval) {
        let Some(webhook) = &self.webhook else { return };
        let url = self.page.as_ref().map(|page| format!("{page}/{}", approval.approval_id));
        let message =
            serde_json::json!({"event": "approval.requested", "approval": approval, "url": url});
        let webhook = Arc::clone(webhook);
        self.aside.run(async move {
            if let Err(fault) = webhook.tell(&message).await {
                let detail = fault.log.as_deref().unwrap_or_default();
                tracing::warn!(%fault, detail, "nobody was told that a person is asked");
            }
        });
    }
}
