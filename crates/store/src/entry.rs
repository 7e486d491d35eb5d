//! One line of history as it is stored: a body in JSON, and columns that repeat parts of it.

mod lean;
mod object;
mod told;

use model::{Fault, ItemKey, Principal, Record, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::limits;
use crate::text::Text;

pub(crate) use told::columns as told;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
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

/// What the body of an entry says.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Entry {
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
        let broken = |error: &dyn std::fmt::Display| Fault::internal(format!("entry: {error}"));
        let mut bytes = Vec::with_capacity(limits::BODY_BYTES);
        lean::write(&mut bytes, phase, at, record).map_err(|error| broken(&error))?;
        let body = str::from_utf8(&bytes).map_err(|error| broken(&error))?;
        Ok(Self { columns: columns(phase, at, record), body: body.into() })
    }
}

impl Entry {
    pub(crate) fn from_body(body: &str) -> Result<Self, Fault> {
        let broken = |error: serde_json::Error| Fault::internal(format!("entry: {error}"));
        let mut entry: Map<String, Value> = serde_json::from_str(body).map_err(broken)?;
        // Older ones say everything, and what they do not say is not so.
        if entry.get("version").is_some_and(|version| version == lean::VERSION) {
            lean::complete(&mut entry);
        }
        serde_json::from_value(Value::Object(entry)).map_err(broken)
    }
}

fn columns(phase: Phase, at: Timestamp, record: &Record) -> Columns<Text> {
    let call = &record.call;
    Columns {
        record_id: record.record_id.text().into(),
        call_id: call.call_id.text().into(),
        phase: phase.as_str().into(),
        at: at.as_millis(),
        tool: tool(record).into(),
        status: record.status.as_str().into(),
        principal: principal(record).into(),
        run_id: call.run_id.text().into(),
    }
}

pub(crate) fn tool(record: &Record) -> String {
    tool_of(record.call.item_key.as_ref(), &record.call.asked_name)
}

/// `upstream/name`, or what the caller said if no tool has that name.
fn tool_of(item_key: Option<&ItemKey>, asked_name: &str) -> String {
    item_key.map_or_else(|| asked_name.to_owned(), ToString::to_string)
}

pub(crate) fn principal(record: &Record) -> String {
    principal_of(&record.call.principal_chain)
}

/// The one who answers for the call: the outermost of the chain.
fn principal_of(chain: &[Principal]) -> String {
    chain.first().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::call::ServerLineage;
    use model::{
        Answer, ApprovalId, ApprovalMode, CallId, CapabilityId, Code, DecisionId, RecordId, RunId,
        TraceId,
    };
    use proptest::prelude::*;

    use super::*;

    /// As the first version wrote it: everything in full.
    const IN_FULL: &str = include_str!("entry/in_full.json");

    fn in_full() -> Entry {
        Entry::from_body(IN_FULL).unwrap()
    }

    fn draft(entry: &Entry) -> Draft {
        Draft::new(entry.phase, entry.at, &entry.record).unwrap()
    }

    fn body(entry: &Entry) -> Text {
        draft(entry).body
    }

    /// What a reader of the columns finds.
    fn read(columns: Columns<Text>) -> Columns<String> {
        let Columns { record_id, call_id, phase, at, tool, status, principal, run_id } = columns;
        let [record_id, call_id, phase, tool, status, principal, run_id] =
            [record_id, call_id, phase, tool, status, principal, run_id]
                .map(|text| text.as_str().to_owned());
        Columns { record_id, call_id, phase, at, tool, status, principal, run_id }
    }

    #[test]
    fn nothing_is_said_twice() {
        let body = body(&in_full());
        let check =
            |what: &str| assert_eq!(body.as_str().matches(what).count(), 1, "{what} {body:?}");
        check("01a1eecd3271764d968807b6400d860a");
        check("dec_01a1eecd327271878efc8945c341c3ab");
        check("f63eea689ac649bd26c7c7bba0035a55099e77b38fe2a4f3172a697ff82e9510");
        check("bench.echo");
        assert!(!body.as_str().contains("summary"), "a short answer is its own: {body:?}");
        assert!(body.as_str().len() * 4 < IN_FULL.len() * 3, "{}", body.as_str().len());
    }

    #[test]
    fn an_entry_of_the_first_version_is_read_as_it_stands() {
        let Entry { phase, record, .. } = in_full();
        let result = record.result.unwrap();
        assert_eq!(
            (phase, result.lossy, result.call_id),
            (Phase::Close, false, record.call.call_id)
        );
        let without = IN_FULL.replace(r#""capability_id":"bench.echo","status""#, r#""status""#);
        let result = Entry::from_body(&without).unwrap().record.result.unwrap();
        assert_eq!(result.capability_id, None, "it is not taken from the call");
        assert_eq!(told(IN_FULL), Some(read(draft(&in_full()).columns)));
    }

    #[test]
    fn a_body_that_is_none_is_refused() {
        for body in ["", "{}", "7", r#"{"version":"toolgate.entry.v2"}"#, r#"{"record":{}}"#] {
            assert_eq!(Entry::from_body(body).unwrap_err().code, Code::Internal, "{body}");
        }
        let lean = body(&in_full());
        for cut in
            lean.as_str().char_indices().step_by(7).map(|(end, _)| lean.as_str().split_at(end).0)
        {
            assert!(Entry::from_body(cut).is_err(), "{cut}");
        }
        let odd = r#"{"version":"toolgate.entry.v2","phase":"close","record":{"record_id":7,
            "call":[],"decision":{},"result":{},"answer":{"content":{}}}}"#;
        assert!(Entry::from_body(odd).is_err());
    }

    /// Few words, so that what may be left out often is the same, and often is not.
    fn word() -> impl Strategy<Value = String> {
        let words = ["a", "call_a", "run_a", "rec_a", "", "\"\\\n\u{1}", "gr\u{fc}n \u{1f511}"];
        prop::sample::select(words.to_vec()).prop_map(str::to_owned)
    }

    proptest! {
        /// CO-8, CO-52: what is left out comes back, whatever is the same as what.
        #[test]
        fn a_record_comes_back_as_it_was(
            words in prop::collection::vec(word(), 16),
            given in prop::collection::vec(any::<bool>(), 12),
            times in prop::collection::vec(0_i64..3, 5),
        ) {
            let mut entry = in_full();
            let word = |place: usize| words[place].clone();
            let given = |place: usize, word: String| given[place].then_some(word);
            let time = |place: usize| Timestamp::from_millis(times[place]);
            entry.at = time(0);
            let record = &mut entry.record;
            record.record_id = RecordId::from_string(word(0));
            record.opened_at = time(1);
            record.closed_at = given(0, String::new()).map(|_| time(2));
            record.approval_id = given(1, word(1)).map(ApprovalId::from_string);
            record.redacted = given(2, String::new()).is_some();
            record.answer = given(3, word(2)).map(Answer::text);
            let call = &mut record.call;
            call.envelope_version = word(3).into();
            call.call_id = CallId::from_string(word(4));
            call.run_id = RunId::from_string(word(5));
            call.trace_id = TraceId::from_string(word(6));
            call.capability_id = given(4, word(7)).map(CapabilityId::from_string);
            call.policy_decision_id = given(5, word(8)).map(DecisionId::from_string);
            call.mode_effective = given(6, String::new()).map(|_| ApprovalMode::Network);
            call.started_at = time(3);
            call.lineage.policy_hash = word(9);
            call.lineage.server = Some(Arc::new(ServerLineage { name: word(2), ..Default::default() }));
            let decision = record.decision.as_mut().unwrap();
            decision.policy_decision_id = DecisionId::from_string(word(10));
            decision.policy_hash = word(11);
            decision.reason = word(12);
            let result = record.result.as_mut().unwrap();
            result.call_id = CallId::from_string(word(13));
            result.summary = word(14);
            result.capability_id = given(7, word(15)).map(CapabilityId::from_string);
            result.policy_decision_id = given(8, word(8)).map(DecisionId::from_string);
            result.approval_id = given(9, word(1)).map(ApprovalId::from_string);
            result.facts = given(10, word(0)).into_iter().collect();
            if given(11, String::new()).is_none() {
                record.decision = None;
            }
            let Draft { columns, body } = draft(&entry);
            prop_assert_eq!(told(body.as_str()), Some(read(columns)));
            prop_assert_eq!(Entry::from_body(body.as_str()).unwrap(), entry);
        }
    }
}
