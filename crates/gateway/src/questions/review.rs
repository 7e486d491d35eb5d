//! A person looks at what an upstream wants a client's model to do, before the client hears of it.
//! The same questions and answers as for calls: durable, answered once, used once.

use std::sync::Arc;
use std::time::Duration;

use context::{Redactor, without_secrets};
use model::{
    Approval, ApprovalId, ApprovalState, CallId, Clock, Code, Fault, Principal, Subject, canonical,
};
use policy::Permit;
use serde_json::{Map, Value, json};
use store::Store;
use tokio::sync::Notify;

use crate::admin::Herald;
use crate::call::CallRequest;
use crate::gateway::Gateway;

/// The gate at which such questions wait.
const GATE: &str = "SAMPLING";
/// Between two looks at an answer that may have come in at another gate or at the command line.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Whether somebody waits while a person thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// The upstream waits, for as long as its call may take.
    Wait,
    /// Nobody does: the same call made again finds the answer.
    None,
}

/// Where questions of one call are put to a person.
#[derive(Debug)]
pub(super) struct Desk {
    store: Store,
    clock: Clock,
    ttl: Duration,
    redactor: Redactor,
    answered: Arc<Notify>,
    herald: Herald,
    call_id: CallId,
    tool: String,
    by: Principal,
    /// What the questions of this call are bound to, beside what they ask.
    bound: Value,
}

impl Desk {
    pub(super) fn new(
        gateway: &Gateway,
        request: &CallRequest,
        permit: &Permit,
        policy_hash: &str,
    ) -> Self {
        let principal = &request.caller.principal;
        Self {
            store: gateway.store.clone(),
            clock: gateway.clock.clone(),
            ttl: gateway.settings.approval_ttl,
            redactor: gateway.settings.redactor.clone(),
            answered: Arc::clone(&gateway.answered),
            herald: gateway.herald(),
            call_id: permit.call_id().clone(),
            tool: permit.key().to_string(),
            by: principal.clone(),
            bound: json!({
                "tenant": principal.tenant_id,
                "principal": principal,
                "tool": permit.key(),
                "args": permit.args_hash(),
                "policy": policy_hash,
                "gate": GATE,
            }),
        }
    }

    /// The yes that lets this be asked, used up by it.
    pub(super) async fn review(
        &self,
        method: &str,
        params: &Map<String, Value>,
        patience: Patience,
    ) -> Result<Approval, Fault> {
        let asked = self.question(method, params);
        let new = asked.approval_id.clone();
        let mut approval = self.store.ask(asked).await?;
        if approval.approval_id == new {
            self.herald.announce(&approval);
        }
        if patience == Patience::Wait {
            approval = self.wait(approval).await?;
        }
        self.settled(approval).await
    }

    fn question(&self, method: &str, params: &Map<String, Value>) -> Approval {
        let now = self.clock.now();
        let (asked, expires_at) = (Value::Object(params.clone()), now.after(self.ttl));
        let about = json!({"bound": self.bound, "method": method, "params": asked});
        let subject_hash = canonical::hash(&about);
        Approval {
            approval_id: ApprovalId::fresh(now),
            gate: GATE.to_owned(),
            state: ApprovalState::Pending,
            subject: Subject::Sampling,
            frozen_hash: policy::freeze(&subject_hash, expires_at),
            subject_hash,
            requested_by: self.by.to_string(),
            tenant: self.by.tenant_id.clone(),
            requested_for: self.call_id.clone(),
            tool: self.tool.clone(),
            // Whoever looks sees what is asked, but no secret in it; the hash is over what is sent.
            args: without_secrets(&asked, &self.redactor).0,
            requested_at: now,
            expires_at,
            approver: None,
            answered_at: None,
            reason: None,
        }
    }

    /// Until it is answered or its time is over. Whoever waits for this gives up by dropping it.
    async fn wait(&self, mut approval: Approval) -> Result<Approval, Fault> {
        while approval.state == ApprovalState::Pending && self.clock.now() < approval.expires_at {
            let heard = self.answered.notified();
            let id = approval.approval_id.as_str();
            approval = self.store.approval(id).await?.unwrap_or(approval);
            if approval.state == ApprovalState::Pending {
                // Neither arm loses anything: the store is looked into again either way.
                tokio::select! {
                    () = heard => {}
                    () = tokio::time::sleep(LOOK_AGAIN) => {}
                }
            }
        }
        Ok(approval)
    }

    async fn settled(&self, approval: Approval) -> Result<Approval, Fault> {
        let id = approval.approval_id.as_str();
        let fault =
            |code: Code, message: String| Err(Fault::new(code, message).with("approval_id", id));
        if approval.frozen_hash != policy::freeze(&approval.subject_hash, approval.expires_at) {
            let message = "the approval was given for something else".to_owned();
            return fault(Code::ApprovalRejected, message);
        }
        match approval.state {
            ApprovalState::Approved => {
                self.store.redeem(&approval.approval_id).await?;
                Ok(approval)
            }
            ApprovalState::Pending => {
                let message = format!(
                    "it waits for a human at gate {GATE}: approval {id}; make the same call again once it is approved"
                );
                fault(Code::ApprovalPending, message)
            }
            ApprovalState::Rejected => {
                let reason = approval.reason.as_deref().unwrap_or("no reason given");
                fault(Code::ApprovalRejected, format!("a human refused it: {reason}"))
            }
            ApprovalState::Expired | ApprovalState::Redeemed => {
                fault(Code::ApprovalRejected, "the approval is used up".to_owned())
            }
        }
    }
}
