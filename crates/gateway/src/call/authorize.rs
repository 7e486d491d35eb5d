//! Stage 7: the page it comes from and grants, then arguments against schema and constraints, then policy.

use catalog::schema::outline;
use catalog::{Deed, Entry as Tool, Mode};
use model::{Code, DecisionId, Fault, ItemKind, Method, Violation, fault, limits, numbers};
use policy::{Facts, Way, grants};
use serde_json::{Map, Value};

use super::record::Entry;
use super::{CallRequest, Via, oblige};
use crate::gateway::Gateway;

/// Judges the call. The decision is in the record before anybody acts on it.
pub(super) async fn authorize(
    gateway: &Gateway,
    request: &CallRequest,
    tool: &Tool,
    entry: &mut Entry,
) -> Result<Way, Fault> {
    gateway
        .check_origin(&request.caller, &tool.item.key.upstream)
        .map_err(|fault| fault.at(&tool.shown_name))?;
    entry.stage("grants");
    let wanted = grants::Wanted {
        tool: &tool.item.name,
        shown: &tool.shown_name,
        deployment: tool.protocol,
    };
    entry.record.call.scopes = grants::scopes(&request.caller, tool.capability.as_ref());
    grants::check(&request.caller, tool.capability.as_ref(), wanted)?;
    entry.stage("validate");
    exact(request).map_err(|fault| fault.at(&tool.shown_name))?;
    if request.method.is_tool_call() {
        door(tool, request)?;
        let fits = tool.check_input(&request.args).map_err(|fault| located(tool, fault));
        let checked = fits.and_then(|()| constraints(tool, request));
        checked.map_err(|fault| teach(gateway, request, tool, fault))?;
    }
    entry.stage("policy");
    let now = gateway.clock.now();
    let decision_id = DecisionId::fresh(now);
    let params = params(request, tool);
    let spent = gateway.spent(request).await?;
    let verdict = policy::decide(
        &entry.rules,
        &Facts {
            call_id: &entry.record.call.call_id,
            decision_id: &decision_id,
            caller: &request.caller,
            method: &request.method,
            item: &tool.item,
            capability: tool.capability.as_ref(),
            declared: tool.declared,
            args: &request.args,
            written: request.written.as_deref(),
            params: &params,
            intent: request.intent.as_deref(),
            spent,
            at: now,
        },
    );
    entry.record.call.mode_effective = Some(verdict.decision.effective_mode);
    entry.record.call.policy_decision_id = Some(decision_id);
    let decision = entry.record.decision.insert(verdict.decision);
    match verdict.way {
        Way::No(fault) => Err(fault),
        way => oblige::check(request, tool, &decision.obligations).map(|()| way),
    }
}

/// What is judged, hashed and bound is a value. A number that no value holds would be sent as another
/// one than all of them took it for.
fn exact(request: &CallRequest) -> Result<(), Fault> {
    let Some(number) = request.written.as_deref().and_then(numbers::inexact) else {
        return Ok(());
    };
    let number = fault::one_line(number, limits::JSON_NUMBER_CHARS_MAX);
    let message = format!(
        "the number `{number}` cannot be held exactly, and so not be judged; write it with fewer \
         digits, or as text where the tool takes text"
    );
    Err(Fault::new(Code::ArgsInvalid, message))
}

/// Says which rule of the schema was broken first, and by which part of the arguments.
fn located(tool: &Tool, fault: Fault) -> Fault {
    let Some(first) = fault.violations.first() else { return fault };
    let (instance_path, schema_path) = (first.instance_path.clone(), first.schema_path.clone());
    fault
        .with("violation", "mcp-input-schema")
        .with("tool_id", tool.item.name.as_str())
        .with("instance_path", instance_path)
        .with("schema_path", schema_path)
}

/// What the upstream will be sent beside a tool's name and arguments, in the upstream's own names.
fn params(request: &CallRequest, tool: &Tool) -> Map<String, Value> {
    let mut params = request.params.clone();
    let mut set = |key: &str, value: Value| drop(params.insert(key.to_owned(), value));
    match &request.method {
        Method::ReadResource => set("uri", request.name.clone().into()),
        Method::GetPrompt => {
            set("name", tool.item.name.clone().into());
            set("arguments", request.args.clone());
        }
        Method::Task(_) => set("taskId", request.name.clone().into()),
        Method::Complete(kind) => {
            if let Some(Value::Object(reference)) = params.get_mut("ref") {
                refer(reference, *kind, tool, request);
            }
        }
        Method::CallTool | Method::Other(_) => {}
    }
    params
}

/// What a completion is of, by the one name it was judged by.
fn refer(reference: &mut Map<String, Value>, kind: ItemKind, tool: &Tool, request: &CallRequest) {
    let (key, name) = match kind {
        ItemKind::Prompt => ("name", tool.item.name.clone()),
        _ => ("uri", request.name.clone()),
    };
    reference.retain(|key, _| key == "type" || key == "title");
    reference.insert(key.to_owned(), name.into());
}

/// A door for lesser deeds does not open for greater ones.
fn door(tool: &Tool, request: &CallRequest) -> Result<(), Fault> {
    let (deed, allowed) = (Deed::of(tool), request.up_to.unwrap_or(Deed::Destroy));
    if deed <= allowed {
        return Ok(());
    }
    let message = format!("this tool may {deed}; call it with `tool_{deed}`");
    Err(Fault::new(Code::ArgsInvalid, message).at(&tool.shown_name))
}

/// Whoever was not shown the schema gets it with the errors, so that the next try can be right.
fn teach(gateway: &Gateway, request: &CallRequest, tool: &Tool, fault: Fault) -> Fault {
    let knows = request.via == Via::Name && gateway.mode() == Mode::Native;
    if knows {
        return fault;
    }
    let schema = outline(&tool.item.input_schema.value(), &fault.violations);
    fault.with("schema", schema)
}

fn constraints(tool: &Tool, request: &CallRequest) -> Result<(), Fault> {
    let broken: Vec<Violation> =
        tool.capability.as_ref().map(|c| c.check_args(&request.args)).unwrap_or_default();
    match broken.first() {
        None => Ok(()),
        Some(first) => {
            let message = format!("the manifest allows no such arguments: {}", first.message);
            Err(Fault::new(Code::ArgsInvalid, message).at(&tool.shown_name).violating(broken))
        }
    }
}
