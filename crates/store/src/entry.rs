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

impl Entry {
    pub(crate) fn new(phase: Phase, at: Timestamp, record: Record) -> Self {
        Self { version: ENTRY_VERSION.to_owned(), phase, at, record }
    }

    pub(crate) fn columns(&self) -> Columns {
        let call = &self.record.call;
        Columns {
            record_id: self.record.record_id.to_string(),
            call_id: call.call_id.to_string(),
            phase: word::write(&self.phase),
            at: self.at.as_millis(),
            tool: tool(&self.record),
            status: self.record.status.as_str().to_owned(),
            principal: principal(&self.record),
            run_id: call.run_id.to_string(),
        }
    }

    pub(crate) fn to_body(&self) -> Result<String, Fault> {
        serde_json::to_string(self).map_err(|error| Fault::internal(format!("entry: {error}")))
    }

    pub(crate) fn from_body(body: &str) -> Result<Self, Fault> {
        serde_json::from_str(body).map_err(|error| Fault::internal(format!("entry: {error}")))
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
