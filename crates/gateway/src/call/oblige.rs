//! Part of stage 7: what a policy that permits a call asks for besides.
//!
//! A word this gate does not know is kept in the record and asks for nothing.

use catalog::Entry as Tool;
use model::{Code, Decision, Fault, Grant, PrincipalKind};
use policy::grants;
use serde_json::Value;

use super::CallRequest;

/// The word by which a policy asks for a key.
const KEY: &str = "idempotency_key";

/// Every obligation that can be told from the request alone. Evidence is looked up later.
pub(super) fn check(
    request: &CallRequest,
    tool: &Tool,
    obligations: &[String],
) -> Result<(), Fault> {
    for owed in obligations {
        match owed.split_once(':').unwrap_or((owed, "")) {
            (KEY, "") if !has_key(request, tool) => {
                let message = "a policy permits this call only with an idempotency key";
                return Err(Fault::new(Code::IdempotencyMissing, message).at(&tool.shown_name));
            }
            ("delegation", "") if !is_delegated(request) => return Err(undelegated(tool)),
            _ => {}
        }
    }
    step_up(request, tool, obligations)
}

/// Whether a policy permits the call only with an idempotency key.
pub(super) fn owes_key(decision: &Decision) -> bool {
    decision.obligations.iter().any(|owed| owed == KEY)
}

/// The keys of the facts that must be cited; an empty one stands for any fact.
pub(super) fn evidence(obligations: &[String]) -> Vec<&str> {
    let owed = obligations.iter().filter_map(|owed| owed.strip_prefix("evidence"));
    owed.filter_map(|rest| if rest.is_empty() { Some("") } else { rest.strip_prefix(':') })
        .collect()
}

fn has_key(request: &CallRequest, tool: &Tool) -> bool {
    let rule = tool.capability.as_ref().and_then(|capability| capability.idempotency.as_ref());
    let arg = rule.and_then(|rule| rule.arg.as_deref()).unwrap_or("idempotency_key");
    request.idempotency_key.is_some() || request.args.get(arg).is_some_and(Value::is_string)
}

/// Whether a person stands behind the call: the caller itself, or somebody it acts for.
fn is_delegated(request: &CallRequest) -> bool {
    let caller = &request.caller;
    let person = caller.acts_for.as_deref().unwrap_or(&caller.principal);
    person.kind == PrincipalKind::User
}

fn undelegated(tool: &Tool) -> Fault {
    let message =
        "this call is made for a user, and the caller acts for none: use a token with `acts_for`";
    Fault::new(Code::AuthRequired, message).at(&tool.shown_name).with("missing", "delegation")
}

/// Scopes that the call needs and the caller does not hold yet, all at once.
fn step_up(request: &CallRequest, tool: &Tool, obligations: &[String]) -> Result<(), Fault> {
    let wanted = obligations.iter().filter_map(|owed| owed.strip_prefix("scope:"));
    let missing: Vec<&str> =
        wanted.filter(|scope| !grants::covers(&request.caller, &Grant::read(scope))).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let held: Vec<String> = request.caller.grants.iter().map(ToString::to_string).collect();
    let message = format!("this call needs a further scope: {}", missing.join(", "));
    Err(Fault::new(Code::StepUpRequired, message)
        .at(&tool.shown_name)
        .with("scope_requested", missing)
        .with("scope_granted", held))
}
