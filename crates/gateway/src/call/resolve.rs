//! Stage 6: any known name becomes one entry of the catalogue, with its capability.

use std::sync::Arc;

use catalog::Entry as Tool;
use model::{Code, Fault};

use super::record::Entry;
use super::{CallRequest, Via};
use crate::browse::visible;
use crate::gateway::Gateway;

/// Finds the tool. One the caller may not see does not exist for it.
pub(super) fn resolve(
    gateway: &Gateway,
    request: &CallRequest,
    entry: &mut Entry,
) -> Result<Arc<Tool>, Fault> {
    entry.stage("resolve");
    let catalogue = gateway.catalogue();
    let found =
        catalogue.resolve(&request.name).filter(|tool| visible(gateway, &request.caller, tool));
    let tool = Arc::clone(found.ok_or_else(|| unknown(request))?);
    entry.provenance.upstream = tool.item.key.upstream.to_string();
    entry.provenance.tool.clone_from(&tool.item.name);
    tool.protocol.clone_into(&mut entry.provenance.protocol);
    let call = &mut entry.record.call;
    call.item_key = Some(tool.item.key.clone());
    call.capability_id =
        tool.capability.as_ref().map(|capability| capability.capability_id.clone());
    call.lineage.definition_hash = Some(tool.item.full_hash.clone());
    call.lineage.manifest.clone_from(&tool.manifest);
    match tool.quarantined() {
        None => Ok(tool),
        Some(finding) => Err(Fault::new(
            Code::SchemaInvalid,
            format!("this tool is held back: {}", finding.message),
        )
        .at(&tool.shown_name)),
    }
}

fn unknown(request: &CallRequest) -> Fault {
    let (code, hint) = match request.via {
        Via::Name => (Code::ToolNotFound, "list the tools to see what there is"),
        Via::Argument => (Code::HydrateFailed, "find one with tool_browse"),
    };
    let name = model::fault::one_line(&request.name, 100);
    Fault::new(code, format!("unknown tool `{name}`; {hint}")).at(name)
}
