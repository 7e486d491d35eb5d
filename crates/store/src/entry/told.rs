//! What the columns of an entry repeat, read from its body and form without the rest of them.

use model::{ItemKey, Principal, RecordStatus, Timestamp};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Columns, Phase, lean, principal_of, tool_of};

#[derive(Deserialize)]
struct Told<'b> {
    phase: Phase,
    at: Option<Timestamp>,
    record: Kept,
    /// A form, or the name of one.
    #[serde(borrow)]
    form: Option<&'b RawValue>,
}

#[derive(Deserialize)]
struct Kept {
    record_id: String,
    status: Option<RecordStatus>,
    call: Envelope,
    opened_at: Timestamp,
    closed_at: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Envelope {
    call_id: Option<String>,
    run_id: Option<String>,
    asked_name: Option<String>,
    item_key: Option<ItemKey>,
    principal_chain: Vec<Principal>,
}

#[derive(Deserialize)]
struct Form {
    status: RecordStatus,
    call: FormOfCall,
}

#[derive(Deserialize)]
struct FormOfCall {
    asked_name: String,
    item_key: Option<ItemKey>,
}

/// The columns by the word of the body and the form it names; none if it is no body.
pub(crate) fn columns(body: &str, form: Option<&str>) -> Option<Columns<String>> {
    let Told { phase, at, record, form: said } = serde_json::from_str(body).ok()?;
    let Kept { record_id, status, call, opened_at, closed_at } = record;
    let (status, asked_name, item_key) = match said.map(RawValue::get) {
        None => (status?, call.asked_name?, call.item_key),
        Some(said) => {
            let form = if said.starts_with('"') { form? } else { said };
            let Form { status, call } = serde_json::from_str(form).ok()?;
            (status, call.asked_name, call.item_key)
        }
    };
    let number = record_id.strip_prefix(lean::RECORD).unwrap_or_default();
    let numbered = |prefix: &str| [prefix, number].concat();
    Some(Columns {
        call_id: call.call_id.unwrap_or_else(|| numbered(lean::CALL)),
        phase: phase.as_str().to_owned(),
        at: at.or(closed_at).unwrap_or(opened_at).as_millis(),
        tool: tool_of(item_key.as_ref(), &asked_name),
        status: status.as_str().to_owned(),
        principal: principal_of(&call.principal_chain),
        run_id: call.run_id.unwrap_or_else(|| numbered(lean::RUN)),
        record_id,
    })
}
