//! Asks the person at the client, where the client says it can ask one. A model cannot answer this:
//! by MCP, what is elicited comes from the user.

use model::{Approval, Caller, Code, Fault};
use policy::Action;
use serde_json::{Map, Value, json};
use store::Verdict;
use tokio::sync::oneshot;

use super::Asking;
use super::record::Entry;
use crate::browse;
use crate::gateway::Gateway;
use crate::news::{News, Question};

const METHOD: &str = "elicitation/create";

/// The approval as it stands once the person has answered; nothing if nobody did.
pub(super) async fn ask(
    gateway: &Gateway,
    asking: &Asking<'_>,
    approval: &Approval,
    entry: &Entry,
) -> Result<Option<Approval>, Fault> {
    let Asking { request, tool, watch } = *asking;
    let params = form(approval);
    let may = gateway.settings.ask_client
        && request.client.can_answer(METHOD, &params)
        && browse::may(
            &entry.rules,
            Action::Approve,
            gateway,
            &request.caller,
            (tool, &request.args),
        );
    let Some(news) = watch.news.as_ref().filter(|_| may) else { return Ok(None) };
    let (reply, answer) = oneshot::channel();
    let params = context::pass(params, &gateway.settings.redactor);
    let question = Question { method: METHOD.to_owned(), params, reply };
    if news.try_send(News::Question(question)).is_err() {
        return Ok(None);
    }
    // Whoever wins, the question stays in the store and can still be answered elsewhere.
    let said = tokio::select! {
        answer = answer => answer.ok(),
        () = watch.cancel.cancelled() => {
            return Err(Fault::new(Code::Cancelled, "the caller cancelled this call"));
        }
        () = gateway.stopping().cancelled() => None,
    };
    let verdict = said.and_then(Result::ok).and_then(|said| verdict(&said, &request.caller));
    let Some(verdict) = verdict else { return Ok(None) };
    match gateway.store.answer(approval.approval_id.as_str(), verdict).await {
        Ok(answered) => Ok(Some(answered)),
        Err(slower) => {
            tracing::debug!(%slower, "somebody else has answered");
            gateway.store.approval(approval.approval_id.as_str()).await
        }
    }
}

/// A flat form that shows everything that will be sent.
fn form(approval: &Approval) -> Map<String, Value> {
    let args = serde_json::to_string_pretty(&approval.args).unwrap_or_default();
    let args = model::shown::json(&args);
    let message = format!(
        "Gate {}: may `{}` be called with these arguments, once?\n{args}",
        approval.gate, approval.tool
    );
    let schema = json!({
        "type": "object",
        "properties": {
            "decision": {
                "type": "string", "title": "Decision", "enum": ["approve", "reject"],
                "description": "approve lets exactly this call go ahead, once",
            },
            "reason": {
                "type": "string", "title": "Reason",
                "description": "kept in the record and told to the caller",
            },
        },
        "required": ["decision"],
    });
    Map::from_iter([("message".to_owned(), message.into()), ("requestedSchema".to_owned(), schema)])
}

/// What the person said. A form that was put away leaves the question open.
fn verdict(said: &Value, caller: &Caller) -> Option<Verdict> {
    let content = |key: &str| said.get("content")?.get(key)?.as_str();
    let approved = match (said.get("action")?.as_str()?, content("decision")) {
        ("accept", Some("approve")) => true,
        ("accept", Some("reject")) | ("decline", _) => false,
        _ => return None,
    };
    let reason = content("reason").filter(|reason| !reason.is_empty());
    let reason = reason.map(|reason| model::fault::one_line(reason, 200));
    Some(Verdict { approved, approver: format!("client:{}", caller.principal), reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Principal;

    #[test]
    fn only_a_clear_word_counts() {
        let check = |said: Value, wanted: Option<bool>| {
            let caller = Caller::new(Principal::user("ann"));
            let got = verdict(&said, &caller);
            assert_eq!(got.map(|verdict| verdict.approved), wanted, "{said}");
        };
        check(json!({"action": "accept", "content": {"decision": "approve"}}), Some(true));
        check(json!({"action": "accept", "content": {"decision": "reject"}}), Some(false));
        check(json!({"action": "decline"}), Some(false));
        check(json!({"action": "cancel"}), None);
        check(json!({"action": "accept"}), None);
        check(json!({"action": "accept", "content": {"decision": "APPROVE"}}), None);
        check(json!({"action": "accept", "content": {"decision": true}}), None);
        check(json!({"action": "yes", "content": {"decision": "approve"}}), None);
        check(json!("approve"), None);
    }
}
