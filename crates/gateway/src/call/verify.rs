//! Before anybody is asked, and after the answer: what a critic of the operator's own says about a
//! call. Where there is none, nothing happens here.
//!
//! A critic that says nothing in time stops a call that changes something, and no other.

use catalog::Entry as Tool;
use model::{Code, Fault, Finding, Record, Severity};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use upstream::Webhook;

use super::CallRequest;
use super::record::{Ended, Entry};
use crate::gateway::Gateway;

/// What a critic may answer before a call.
#[derive(Debug, Deserialize)]
struct Verdict {
    ok: bool,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    reasons: Vec<String>,
}

/// Asks whether the call makes sense. Secrets in its arguments stay here.
pub(super) async fn verify(
    gateway: &Gateway,
    request: &CallRequest,
    tool: &Tool,
    entry: &mut Entry,
) -> Result<(), Fault> {
    let Some(critic) = &gateway.settings.critic.verify else { return Ok(()) };
    entry.stage("verify");
    let declared = tool.capability.as_ref();
    let writes =
        !request.method.only_looks() && declared.is_none_or(manifest::Capability::is_write);
    let message = json!({
        "event": "call.verify",
        "call": entry.record.call,
        "decision": entry.record.decision,
        "writes": writes,
    });
    let said = Box::pin(heard::<Verdict>(critic, &message)).await;
    match said {
        Ok(Verdict { ok: true, .. }) => Ok(()),
        Ok(verdict) => Err(refused(verdict, tool)),
        Err(why) if writes => {
            let message = format!("the critic was not heard, so nothing is changed: {why}");
            Err(Fault::new(Code::PolicyDenied, message).at(&tool.shown_name))
        }
        Err(why) => {
            let message = format!("the critic was not heard: {why}");
            entry.findings.push(Finding::new(Severity::Warning, "verify", message));
            Ok(())
        }
    }
}

fn refused(verdict: Verdict, tool: &Tool) -> Fault {
    let Verdict { kind, reasons, .. } = verdict;
    let kind = kind.unwrap_or_else(|| "unsaid".to_owned());
    let why = reasons.first().map_or(kind.as_str(), String::as_str);
    Fault::new(Code::PolicyDenied, format!("refused by the critic: {why}"))
        .at(&tool.shown_name)
        .with("kind", kind.as_str())
        .with("reasons", reasons.clone())
}

/// Asks what the answer is worth; what comes back is kept with the record and changes nothing.
pub(super) async fn score(gateway: &Gateway, ended: &mut Ended) {
    let Some(critic) = &gateway.settings.critic.score else { return };
    let answered = ended.fault.is_none() && !ended.unrecorded;
    let Record { call, result, .. } = &mut ended.record;
    let Some(result) = result.as_mut().filter(|_| answered) else { return };
    let message = json!({"event": "call.score", "call": call, "result": result});
    let said = Box::pin(heard::<Map<String, Value>>(critic, &message)).await;
    result.findings.push(match said {
        Ok(said) => {
            let (kept, _) = context::without_secrets(&said.into(), &gateway.settings.redactor);
            let message = model::fault::one_line(&kept.to_string(), SCORE_CHARS_MAX);
            Finding::new(Severity::Info, "score", message)
        }
        Err(why) => {
            Finding::new(Severity::Warning, "score", format!("the critic was not heard: {why}"))
        }
    });
}

/// What is kept of a score.
const SCORE_CHARS_MAX: usize = 500;

async fn heard<T: for<'de> Deserialize<'de>>(
    critic: &Webhook,
    message: &Value,
) -> Result<T, String> {
    let said = critic.ask(message).await.map_err(|fault| fault.message)?;
    serde_json::from_value(said).map_err(|error| format!("its answer cannot be read: {error}"))
}
