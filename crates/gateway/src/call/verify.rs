//! Before anybody is asked, and after the answer: what can be told about a call without a model, and
//! what a critic of the operator's own says. Where nothing is owed and there is no critic, nothing
//! happens here.
//!
//! A critic that says nothing in time stops a call that changes something, and no other.

mod scorecard;

use catalog::Entry as Tool;
use model::{Code, Fault, Finding, Record, Severity};
use policy::Way;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use store::RecordFilter;
use upstream::Webhook;

use super::record::{Ended, Entry};
use super::{CallRequest, admit, oblige};
use crate::gateway::Gateway;
use crate::runs;

/// What a critic may answer before a call.
#[derive(Debug, Deserialize)]
struct Verdict {
    ok: bool,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    reasons: Vec<String>,
}

/// Whether the call makes sense: the evidence it rests on is there, its run can still afford it, and
/// the critic says nothing against it.
pub(super) async fn verify(
    gateway: &Gateway,
    request: &CallRequest,
    tool: &Tool,
    way: &Way,
    entry: &mut Entry,
) -> Result<(), Fault> {
    foresee(gateway, request, tool, way, entry).await?;
    match &gateway.settings.critic.verify {
        Some(critic) => Box::pin(criticised(critic, request, tool, entry)).await,
        None => Ok(()),
    }
}

/// The same without the critic, who would hear of it.
pub(super) async fn foresee(
    gateway: &Gateway,
    request: &CallRequest,
    tool: &Tool,
    way: &Way,
    entry: &mut Entry,
) -> Result<(), Fault> {
    let decision = entry.record.decision.as_ref();
    if decision.is_some_and(|decision| !oblige::evidence(&decision.obligations).is_empty()) {
        entry.stage("verify");
        Box::pin(evidence(gateway, request, entry)).await.map_err(|f| f.at(&tool.shown_name))?;
    }
    if matches!(way, Way::Ask(_)) {
        Box::pin(affordable(gateway, request, tool, entry)).await?;
    }
    Ok(())
}

/// The facts a policy wants cited must have been found out in the same run, by the same caller.
async fn evidence(gateway: &Gateway, request: &CallRequest, entry: &Entry) -> Result<(), Fault> {
    let decision = entry.record.decision.as_ref();
    let owed = oblige::evidence(decision.map(|d| d.obligations.as_slice()).unwrap_or_default());
    let known = found_out(gateway, request, entry).await?;
    if let Some(unknown) =
        request.evidence.iter().find(|cited| !known.iter().any(|k| k.0 == **cited))
    {
        let unknown = model::fault::one_line(unknown, 80);
        return Err(missing(&format!("`{unknown}` is no evidence of this run")));
    }
    let cited = |key: &str| {
        let of_key = |fact: &&(String, String)| key.is_empty() || fact.1 == key;
        let mut facts = known.iter().filter(of_key);
        facts.any(|fact| request.evidence.contains(&fact.0))
    };
    match owed.iter().find(|key| !cited(key)) {
        None => Ok(()),
        Some(&"") => Err(missing("the call must cite what it rests on")),
        Some(key) => Err(missing(&format!("the call must cite evidence of `{key}`"))),
    }
}

fn missing(why: &str) -> Fault {
    let hint = "; cite it in `_meta` as `toolgate/evidence`";
    Fault::new(Code::PolicyDenied, format!("refused before the call: {why}{hint}"))
        .with("kind", "missing_evidence")
}

/// Evidence and its key, as the records of the run hold it.
async fn found_out(
    gateway: &Gateway,
    request: &CallRequest,
    entry: &Entry,
) -> Result<Vec<(String, String)>, Fault> {
    if request.run_id.is_none() || request.evidence.is_empty() {
        return Ok(Vec::new());
    }
    let run_id = entry.record.call.run_id.to_string();
    let principal = &request.caller.principal;
    // Records are found by whoever has them made.
    let outermost = request.caller.acts_for.as_deref().unwrap_or(principal);
    let filter = RecordFilter {
        limit: EVIDENCE_RECORDS_MAX,
        principal: Some(outermost.to_string()),
        run_id: Some(run_id),
        ..RecordFilter::default()
    };
    let mut known = Vec::new();
    for line in gateway.store.records(&filter).await? {
        let Some(record) = gateway.store.record(line.record_id.as_str()).await? else { continue };
        // A namesake in another tenant is somebody else.
        if record.call.principal_chain.contains(principal) {
            let facts = record.result.into_iter().flat_map(|result| result.evidence);
            known.extend(facts.map(|fact| (fact.evidence_ref, fact.key)));
        }
    }
    Ok(known)
}

/// Records of a run that are looked through for evidence, the latest first.
const EVIDENCE_RECORDS_MAX: u32 = 200;

/// Nobody is asked about a call that its run could not make anyway.
async fn affordable(
    gateway: &Gateway,
    request: &CallRequest,
    tool: &Tool,
    entry: &Entry,
) -> Result<(), Fault> {
    let Some(runs) = &gateway.runs else { return Ok(()) };
    let key = tool.item.key.to_string();
    let wish = admit::wish(&key, request, tool, entry);
    let foreseen = runs.foresee(&runs::key(request), wish, gateway.clock.now()).await;
    foreseen.map_err(|fault| fault.at(&tool.shown_name))
}

/// Asks whether the call makes sense. Secrets in its arguments stay here.
async fn criticised(
    critic: &Webhook,
    request: &CallRequest,
    tool: &Tool,
    entry: &mut Entry,
) -> Result<(), Fault> {
    entry.stage("verify");
    let writes = writes(request, tool);
    let message = json!({
        "event": "call.verify",
        "call": entry.record.call,
        "decision": entry.record.decision,
        "writes": writes,
    });
    match heard::<Verdict>(critic, &message).await {
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

/// What the answer is worth, by the built-in rules and by the critic; kept with the record, and
/// changes nothing.
pub(super) async fn score(gateway: &Gateway, ended: &mut Ended) {
    let critic = &gateway.settings.critic;
    let answered = ended.fault.is_none() && !ended.unrecorded;
    if critic.scorecard && answered {
        ended.record.scorecard = scorecard::of(&ended.record);
    }
    let Some(critic) = &critic.score else { return };
    let Record { call, result, .. } = &mut *ended.record;
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

/// Whether the call may change something, as far as anybody has declared.
fn writes(request: &CallRequest, tool: &Tool) -> bool {
    let declared = tool.capability.as_ref();
    !request.method.only_looks() && declared.is_none_or(manifest::Capability::is_write)
}

async fn heard<T: for<'de> Deserialize<'de>>(
    critic: &Webhook,
    message: &Value,
) -> Result<T, String> {
    let said = critic.ask(message).await.map_err(|fault| fault.message)?;
    serde_json::from_value(said).map_err(|error| format!("its answer cannot be read: {error}"))
}
