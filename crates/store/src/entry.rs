//! One line of history as it is stored: a body in JSON, and columns that repeat parts of it.

use model::{Fault, Record, Timestamp};
use serde::{Deserialize, Serialize};

use crate::word;

const ENTRY_VERSION: &str = "toolgate.entry.v1";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    Open,
    Close,
}

/// The body of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) version: String,
    pub(crate) phase: Phase,
    pub(crate) at: Timestamp,
    pub(crate) record: Record,
}

/// What can be searched for.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct Columns {
    pub(crate) record_id: String,
    pub(crate) call_id: String,
    pub(crate) phase: String,
    pub(crate) at: i64,
    pub(crate) tool: String,
    pub(crate) status: String,
    pub(crate) principal: String,
    pub(crate) run_id: String,
}

/// An entry that waits for its place in the chain.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) columns: Columns,
    pub(crate) body: String,
}

impl Draft {
    /// Written by whoever closes or opens the record, so that the one writer need not.
    pub(crate) fn new(phase: Phase, at: Timestamp, record: &Record) -> Result<Self, Fault> {
        let columns = columns(phase, at, record);
        let body = Body { version: ENTRY_VERSION, phase, at, record };
        let body = serde_json::to_string(&body)
            .map_err(|error| Fault::internal(format!("entry: {error}")))?;
        Ok(Self { columns, body })
    }
}

/// [`Entry`] on its way out.
#[derive(Serialize)]
struct Body<'a> {
    version: &'static str,
    phase: Phase,
    at: Timestamp,
    record: &'a Record,
}

impl Entry {
    pub(crate) fn columns(&self) -> Columns {
        columns(self.phase, self.at, &self.record)
    }

    pub(crate) fn from_body(body: &str) -> Result<Self, Fault> {
        serde_json::from_str(body).map_err(|error| Fault::internal(format!("entry: {error}")))
    }
}

fn columns(phase: Phase, at: Timestamp, record: &Record) -> Columns {
    let call = &record.call;
    Columns {
        record_id: record.record_id.to_string(),
        call_id: call.call_id.to_string(),
        phase: word::write(&phase),
        at: at.as_millis(),
        tool: tool(record),
        status: record.status.as_str().to_owned(),
        principal: principal(record),
        run_id: call.run_id.to_string(),
    }
}

/// `upstream/name`, or what the caller said if no tool has that name.
pub(crate) fn tool(record: &Record) -> String {
    let call = &record.call;
    call.item_key.as_ref().map_or_else(|| call.asked_name.clone(), ToString::to_string)
}

/// The one who answers for the call: the outermost of the chain.
pub(crate) fn principal(record: &Record) -> String {
    record.call.principal_chain.first().map(ToString::to_string).unwrap_or_default()
}
