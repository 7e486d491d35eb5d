//! What the columns of an entry repeat, read from its body without the rest of it.

use model::{ItemKey, Principal, RecordStatus, Timestamp};
use serde::Deserialize;

use super::{Columns, Phase, lean, principal_of, tool_of};

#[derive(Deserialize)]
struct Told {
    phase: Phase,
    at: Option<Timestamp>,
    record: Kept,
}

#[derive(Deserialize)]
struct Kept {
    record_id: String,
    status: RecordStatus,
    call: Envelope,
    opened_at: Timestamp,
    closed_at: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Envelope {
    call_id: Option<String>,
    run_id: Option<String>,
    asked_name: String,
    item_key: Option<ItemKey>,
    principal_chain: Vec<Principal>,
}

/// The columns by the body's word; none if it is no body.
pub(crate) fn columns(body: &str) -> Option<Columns<String>> {
    let Told { phase, at, record } = serde_json::from_str(body).ok()?;
    let Kept { record_id, status, call, opened_at, closed_at } = record;
    let number = record_id.strip_prefix(lean::RECORD).unwrap_or_default();
    let numbered = |prefix: &str| [prefix, number].concat();
    Some(Columns {
        call_id: call.call_id.unwrap_or_else(|| numbered(lean::CALL)),
        phase: phase.as_str().to_owned(),
        at: at.or(closed_at).unwrap_or(opened_at).as_millis(),
        tool: tool_of(call.item_key.as_ref(), &call.asked_name),
        status: status.as_str().to_owned(),
        principal: principal_of(&call.principal_chain),
        run_id: call.run_id.unwrap_or_else(|| numbered(lean::RUN)),
        record_id,
    })
}
