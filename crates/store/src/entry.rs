//! One line of history as it is stored: a body in JSON, and columns that repeat parts of it.

use model::{Fault, Record, Timestamp};
use serde::{Deserialize, Serialize};

use crate::limits;
use crate::text::Text;

const ENTRY_VERSION: &str = "toolgate.entry.v1";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    Open,
    Close,
}

impl Phase {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Close => "close",
        }
    }
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
pub(crate) struct Columns<T> {
    pub(crate) record_id: T,
    pub(crate) call_id: T,
    pub(crate) phase: T,
    pub(crate) at: i64,
    pub(crate) tool: T,
    pub(crate) status: T,
    pub(crate) principal: T,
    pub(crate) run_id: T,
}

/// An entry that waits for its place in the chain.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) columns: Columns<Text>,
    pub(crate) body: Text,
}

impl Draft {
    /// Written by whoever closes or opens the record, so that the one writer need not.
    pub(crate) fn new(phase: Phase, at: Timestamp, record: &Record) -> Result<Self, Fault> {
        let body = Body { version: ENTRY_VERSION, phase, at, record }.text()?;
        Ok(Self { columns: columns(phase, at, record), body })
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

impl Body<'_> {
    fn text(&self) -> Result<Text, Fault> {
        let broken = |error: &dyn std::fmt::Display| Fault::internal(format!("entry: {error}"));
        let mut bytes = Vec::with_capacity(limits::BODY_BYTES);
        serde_json::to_writer(&mut bytes, self).map_err(|error| broken(&error))?;
        let text = str::from_utf8(&bytes).map_err(|error| broken(&error))?;
        Ok(text.into())
    }
}

impl Entry {
    pub(crate) fn columns(&self) -> Columns<String> {
        columns(self.phase, self.at, &self.record)
    }

    pub(crate) fn from_body(body: &str) -> Result<Self, Fault> {
        serde_json::from_str(body).map_err(|error| Fault::internal(format!("entry: {error}")))
    }
}

fn columns<T: for<'t> From<&'t str>>(phase: Phase, at: Timestamp, record: &Record) -> Columns<T> {
    let call = &record.call;
    Columns {
        record_id: record.record_id.as_str().into(),
        call_id: call.call_id.as_str().into(),
        phase: phase.as_str().into(),
        at: at.as_millis(),
        tool: tool(record).as_str().into(),
        status: record.status.as_str().into(),
        principal: principal(record).as_str().into(),
        run_id: call.run_id.as_str().into(),
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
