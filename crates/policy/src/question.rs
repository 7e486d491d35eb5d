//! A call that waits for a human, frozen so that the answer releases this call and no other.

use std::time::Duration;

use model::{
    Approval, ApprovalId, ApprovalState, Code, Fault, Principal, Subject, Timestamp, canonical,
};
use serde_json::{Value, json};

use crate::facts::Facts;
use crate::permit::Permit;
use crate::rules::Rules;

/// A permit under lock. Only a fitting approval opens it.
#[derive(Debug)]
pub struct Question {
    permit: Permit,
    gate: String,
    subject_hash: String,
    asked_by: Principal,
}

impl Question {
    pub(crate) fn make(permit: Permit, facts: &Facts<'_>, rules: &Rules, gate: String) -> Self {
        let subject_hash = canonical::hash(&json!({
            "tenant": facts.caller.principal.tenant_id,
            "principal": facts.caller.principal,
            "acts_for": facts.caller.acts_for,
            "method": facts.method.as_str(),
            "tool": facts.item.key,
            "definition": facts.item.full_hash,
            "capability": facts.capability,
            "args": facts.args,
            "written": facts.written,
            "params": facts.params,
            "policy": rules.hash(),
            "gate": gate,
        }));
        Self { permit, gate, subject_hash, asked_by: facts.caller.principal.clone() }
    }

    pub fn gate(&self) -> &str {
        &self.gate
    }

    /// The question as it is put to a human.
    pub fn put(&self, at: Timestamp, ttl: Duration) -> Approval {
        let expires_at = at.after(ttl);
        Approval {
            approval_id: ApprovalId::fresh(at),
            gate: self.gate.clone(),
            state: ApprovalState::Pending,
            subject: Subject::Call,
            frozen_hash: freeze(&self.subject_hash, expires_at),
            subject_hash: self.subject_hash.clone(),
            requested_by: self.asked_by.to_string(),
            tenant: self.asked_by.tenant_id.clone(),
            requested_for: self.permit.call_id().clone(),
            tool: self.permit.key().to_string(),
            args: self.shown(),
            requested_at: at,
            expires_at,
            approver: None,
            answered_at: None,
            reason: None,
        }
    }

    /// What the call is made with. What is read or got has that beside its arguments, if it has any.
    fn shown(&self) -> Value {
        let args = self.permit.arguments();
        if self.permit.method().is_tool_call() || args.as_object().is_some_and(|a| !a.is_empty()) {
            return args.clone();
        }
        Value::Object(self.permit.params().clone())
    }

    /// Opens the permit if the human said yes to exactly this call and the yes still holds.
    pub fn answered(self, approval: &Approval, now: Timestamp) -> Result<Permit, Fault> {
        let refuse = |code: Code, message: &str| {
            Err(Fault::new(code, message)
                .at(self.permit.tool())
                .with("approval_id", approval.approval_id.as_str()))
        };
        if approval.frozen_hash != freeze(&self.subject_hash, approval.expires_at) {
            return refuse(Code::ApprovalRejected, "the approval was given for another call");
        }
        if approval.expires_at <= now {
            return refuse(
                Code::ApprovalRejected,
                "the approval has expired; call again to ask anew",
            );
        }
        match approval.state {
            ApprovalState::Approved => Ok(self.permit.approved_by(approval.approval_id.clone())),
            ApprovalState::Pending => {
                let message = format!(
                    "this call waits for a human at gate {}: approval {}; make the same call again once it is approved",
                    self.gate, approval.approval_id
                );
                refuse(Code::ApprovalPending, &message)
            }
            ApprovalState::Rejected => {
                let reason = approval.reason.as_deref().unwrap_or("no reason given");
                refuse(Code::ApprovalRejected, &format!("a human refused this call: {reason}"))
            }
            ApprovalState::Expired | ApprovalState::Redeemed => {
                refuse(Code::ApprovalRejected, "the approval is used up; call again to ask anew")
            }
        }
    }
}

/// What a person says yes to: this subject, until this moment.
pub fn freeze(subject_hash: &str, expires_at: Timestamp) -> String {
    canonical::hash(&json!({"subject": subject_hash, "expires_at": expires_at.as_millis()}))
}
