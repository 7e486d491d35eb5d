//! Stage 6: any known name becomes one entry of the catalogue, with its capability.

use std::sync::Arc;

use catalog::{Catalogue, Entry as Tool};
use model::call::PromptLineage;
use model::{Code, Fault, ItemKind, Lineage, Method, ReplayRule, UpstreamName};
use policy::Rules;

use super::record::Entry;
use super::{CallRequest, Via, keep};
use crate::browse::visible_by;
use crate::doubt::Found;
use crate::gateway::Gateway;
use crate::tasks::Home;
use crate::unknown::held_back;
use crate::view::listed;

/// Has the list of what is asked for held against the pins, where that is due and must be, and where
/// the caller may see it.
pub(super) async fn compare(
    gateway: &Gateway,
    request: &CallRequest,
    rules: &Rules,
) -> Result<(), Fault> {
    let visible = |tool: &Arc<Tool>| visible_by(rules, gateway, &request.caller, tool);
    let find = || {
        let home = task_home(gateway, request);
        match find(request, home.as_ref(), &gateway.catalogue()) {
            None => Found::Nowhere,
            Some(tool) if visible(&tool) => Found::At(tool.item.key.upstream.clone()),
            Some(_) => Found::Hidden,
        }
    };
    let sees = |upstream: &UpstreamName| {
        let catalogue = gateway.catalogue();
        let mut theirs = listed(&catalogue).filter(|tool| tool.item.key.upstream == *upstream);
        theirs.any(visible)
    };
    gateway.compare(find, sees).await
}

/// Finds what is asked for. What the caller may not see does not exist for it.
pub(super) fn resolve(
    gateway: &Gateway,
    request: &CallRequest,
    entry: &mut Entry,
) -> Result<Arc<Tool>, Fault> {
    entry.stage("resolve");
    let catalogue = gateway.catalogue();
    let home = home(gateway, request, entry);
    let tool = find(request, home.as_ref(), &catalogue)
        .filter(|tool| visible_by(&entry.rules, gateway, &request.caller, tool))
        .ok_or_else(|| unknown(gateway, request))?;
    keep::item(gateway, &tool.item, entry);
    entry.provenance.protocol = tool.protocol.into();
    let call = &mut entry.record.call;
    call.capability_id =
        tool.capability.as_ref().map(|capability| capability.capability_id.clone());
    call.lineage.definition_hash = Some(tool.item.full_hash.clone());
    let member = gateway.upstreams.member(&tool.item.key.upstream);
    call.lineage.server = member.and_then(|member| member.connector.introduced());
    call.lineage.manifest.clone_from(&tool.manifest);
    if request.method == Method::GetPrompt {
        declare_prompt(gateway, &tool, &mut call.lineage);
    }
    let declared = tool.capability.as_ref().map(manifest::Capability::replay_rule);
    entry.record.replay_rule = Some(declared.unwrap_or(ReplayRule::MustStub));
    match held_back(&tool) {
        None => Ok(tool),
        Some(fault) => Err(fault),
    }
}

/// Notes what a manifest says of a prompt: what was shown to a person can then be traced to what was
/// evaluated.
fn declare_prompt(gateway: &Gateway, prompt: &Tool, lineage: &mut Lineage) {
    let Some(manifest) = gateway.manifest(&prompt.item.key.upstream) else { return };
    let declared = manifest.prompts.iter().find(|declared| declared.name == prompt.item.name);
    lineage.manifest = Some(manifest.label());
    lineage.prompt = declared.map(|declared| PromptLineage {
        version: declared.version.clone(),
        eval_ref: declared.eval_ref.clone(),
    });
}

/// Where the task comes from that is asked about. Whatever is asked of it belongs to the call that
/// began it, and to that call's trace unless the caller is in one of its own.
fn home(gateway: &Gateway, request: &CallRequest, entry: &mut Entry) -> Option<Home> {
    let home = task_home(gateway, request)?;
    let call = &mut entry.record.call;
    call.parent_call_id = Some(home.call_id.clone());
    if request.trace.is_none() {
        call.trace_id = home.trace_id.clone();
    }
    Some(home)
}

fn task_home(gateway: &Gateway, request: &CallRequest) -> Option<Home> {
    let Method::Task(_) = request.method else { return None };
    gateway.tasks.home(&request.name, &request.caller)
}

fn find(request: &CallRequest, home: Option<&Home>, catalogue: &Catalogue) -> Option<Arc<Tool>> {
    let shelf = catalogue.shelf();
    let name = request.name.as_str();
    match &request.method {
        Method::CallTool => catalogue.resolve(name).map(Arc::clone),
        Method::ReadResource => shelf.resource(name),
        Method::GetPrompt | Method::Complete(ItemKind::Prompt) => shelf.prompt(name),
        Method::Complete(_) => shelf.template(name),
        Method::Task(_) => {
            let key = &home?.tool;
            catalogue.entries().iter().find(|entry| entry.item.key == *key).map(Arc::clone)
        }
        Method::Other(method) => shelf.extension(method),
    }
}

fn unknown(gateway: &Gateway, request: &CallRequest) -> Fault {
    let name = model::fault::one_line(&request.name, 100);
    let (code, message) = match (&request.method, request.via) {
        (Method::CallTool, via) => {
            let named = via == Via::Name;
            let code = if named { Code::ToolNotFound } else { Code::HydrateFailed };
            return gateway.unknown_tool(&request.caller, &request.name, code);
        }
        (Method::GetPrompt | Method::Complete(ItemKind::Prompt), _) => {
            (Code::PromptNotFound, format!("unknown prompt `{name}`"))
        }
        (Method::ReadResource | Method::Complete(_), _) => {
            (Code::ResourceNotFound, format!("unknown resource `{name}`"))
        }
        (Method::Task(_), _) => (Code::TaskNotFound, format!("unknown task `{name}`")),
        (Method::Other(_), _) => {
            (Code::MethodNotFound, format!("method `{name}` is not offered here"))
        }
    };
    Fault::new(code, message).at(name)
}
