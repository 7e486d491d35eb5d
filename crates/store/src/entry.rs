//! One line of history as it is stored: a body in JSON, and columns that repeat parts of it.
//!
//! Most bodies name a form, which stands elsewhere and says what many entries have in common.

mod lean;
mod object;
mod told;

use std::sync::Arc;

use model::{Fault, ItemKey, Principal, Record, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::forms::{Form, Forms};
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

impl Columns<String> {
    pub(crate) fn shared(self) -> Columns<Text> {
        let Self { record_id, call_id, phase, at, tool, status, principal, run_id } = self;
        let [record_id, call_id, phase, tool, status, principal, run_id] =
            [record_id, call_id, phase, tool, status, principal, run_id].map(Text::from);
        Columns { record_id, call_id, phase, at, tool, status, principal, run_id }
    }
}

/// An entry that waits for its place in the chain.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) columns: Columns<Text>,
    pub(crate) body: Text,
    /// What the body names, and must be there before it.
    pub(crate) form: Option<Arc<Form>>,
}

impl Draft {
    /// Written by whoever closes or opens the record, so that the one writer need not.
    pub(crate) fn new(
        (phase, at): (Phase, Timestamp),
        record: &Record,
        forms: &Forms,
    ) -> Result<Self, Fault> {
        let broken = |error: &dyn std::fmt::Display| Fault::internal(format!("entry: {error}"));
        let columns = columns(phase, at, record);
        let mut bytes = Vec::with_capacity(limits::BODY_BYTES);
        let mut common = Vec::with_capacity(limits::FORM_BYTES);
        let written = lean::write(&mut bytes, &mut common, (phase, at), record);
        written.map_err(|error| broken(&error))?;
        // What is not a tool has the name that a caller made up.
        let form = match record.call.item_key {
            Some(_) => forms.meet(columns.tool.as_str(), &common),
            None => None,
        };
        lean::end(&mut bytes, form.as_ref().map(|form| form.name.as_str()), &common);
        let body = str::from_utf8(&bytes).map_err(|error| broken(&error))?;
        Ok(Self { columns, body: body.into(), form })
    }

    /// What goes into the chain.
    pub(crate) fn parts(&self) -> (&Columns<Text>, &Text) {
        (&self.columns, &self.body)
    }
}

/// The name of the form without which this body cannot be read.
pub(crate) fn form_of(body: &str) -> Option<&str> {
    lean::form_of(body)
}

impl Entry {
    /// Reads a body with the form that it names.
    pub(crate) fn from_body(body: &str, form: Option<&str>) -> Result<Self, Fault> {
        let broken = |error: serde_json::Error| Fault::internal(format!("entry: {error}"));
        let mut entry: Map<String, Value> = serde_json::from_str(body).map_err(broken)?;
        // Older ones say everything, and what they do not say is not so.
        match entry.get("version").and_then(Value::as_str) {
            Some(lean::VERSION) => {
                let form = match (entry.swap_remove("form"), form) {
                    (Some(Value::Object(form)), _) => form,
                    (_, Some(form)) => serde_json::from_str(form).map_err(broken)?,
                    (_, None) => return Err(Fault::internal("entry: its form is not there")),
                };
                lean::fill(&mut entry, form);
                lean::complete(&mut entry);
            }
            Some(lean::FORMLESS) => lean::complete(&mut entry),
            _ => {}
        }
        serde_json::from_value(Value::Object(entry)).map_err(broken)
    }
}

fn columns(phase: Phase, at: Timestamp, record: &Record) -> Columns<Text> {
    let call = &record.call;
    Columns {
        record_id: record.record_id.text().into(),
        call_id: call.call_id.text().into(),
        phase: Text::Word(phase.as_str()),
        at: at.as_millis(),
        tool: tool(record).into(),
        status: Text::Word(record.status.as_str()),
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
    use model::call::ServerLineage;
    use model::{
        Answer, ApprovalId, ApprovalMode, CallId, CapabilityId, Code, DecisionId, RecordId, RunId,
        TraceId,
    };
    use proptest::prelude::*;

    use super::*;

    /// As the first version wrote it: everything in full.
    const IN_FULL: &str = include_str!("entry/in_full.json");

    /// As the second version wrote it: nothing twice, and without a form.
    const FORMLESS: &str = include_str!("entry/formless.json");

    fn in_full() -> Entry {
        Entry::from_body(IN_FULL, None).unwrap()
    }

    fn draft(entry: &Entry, forms: &Forms) -> Draft {
        Draft::new((entry.phase, entry.at), &entry.record, forms).unwrap()
    }

    /// With its form in it, as the first of its kind.
    fn body(entry: &Entry) -> Text {
        draft(entry, &Forms::default()).body
    }

    fn form(draft: &Draft) -> Option<&str> {
        draft.form.as_ref().map(|form| form.text.as_str())
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
        let result = Entry::from_body(&without, None).unwrap().record.result.unwrap();
        assert_eq!(result.capability_id, None, "it is not taken from the call");
        let columns = draft(&in_full(), &Forms::default()).columns;
        assert_eq!(told(IN_FULL, None), Some(read(columns)));
    }

    #[test]
    fn an_entry_of_the_second_version_has_no_form() {
        assert_eq!(Entry::from_body(FORMLESS, None).unwrap(), in_full());
        assert_eq!((form_of(FORMLESS), form_of(IN_FULL)), (None, None));
        assert_eq!(told(FORMLESS, None), told(IN_FULL, None));
    }

    #[test]
    fn what_calls_of_a_tool_have_in_common_is_said_once() {
        let forms = Forms::default();
        let first = draft(&in_full(), &forms);
        let mut other = in_full();
        other.record.call.args = serde_json::json!({"text": "another"});
        other.record.call.session_id = Some(model::SessionId::from_string("s"));
        other.record.call.principal_chain = vec![Principal::user("somebody else")];
        let second = draft(&other, &forms);
        assert_eq!((form(&first), form_of(first.body.as_str())), (None, None));
        let text = form(&second).unwrap();
        assert!(first.body.as_str().ends_with(&format!(r#","form":{text}}}"#)), "{first:?}");
        assert_eq!(form_of(second.body.as_str()), second.form.as_ref().map(|it| it.name.as_str()));
        assert!(second.body.as_str().len() * 2 < FORMLESS.len(), "{second:?}");
        assert_eq!(Entry::from_body(second.body.as_str(), Some(text)).unwrap(), other);
        assert!(Entry::from_body(second.body.as_str(), None).is_err(), "its form is missing");
        assert_eq!(told(second.body.as_str(), None), None);
    }

    /// Anybody can call tools that do not exist by as many names as they like.
    #[test]
    fn what_is_no_tool_has_no_form() {
        let (forms, mut entry) = (Forms::default(), in_full());
        entry.record.call.item_key = None;
        for _ in 0..3 {
            let draft = draft(&entry, &forms);
            assert_eq!(draft.form, None);
            assert_eq!(Entry::from_body(draft.body.as_str(), None).unwrap(), entry);
        }
    }

    #[test]
    fn a_body_that_is_none_is_refused() {
        for body in ["", "{}", "7", r#"{"version":"toolgate.entry.v2"}"#, r#"{"record":{}}"#] {
            assert_eq!(Entry::from_body(body, None).unwrap_err().code, Code::Internal, "{body}");
        }
        let lean = body(&in_full());
        for cut in
            lean.as_str().char_indices().step_by(7).map(|(end, _)| lean.as_str().split_at(end).0)
        {
            assert!(Entry::from_body(cut, None).is_err(), "{cut}");
        }
        for form in [r#""f""#, "7", "{}", r#"{"call":7,"stages":{}}"#] {
            let odd = format!(r#"{{"version":"toolgate.entry.v3","record":{{}},"form":{form}}}"#);
            assert!(Entry::from_body(&odd, None).is_err(), "{odd}");
            assert!(Entry::from_body(&odd, Some("no JSON")).is_err(), "{odd}");
        }
        let odd = r#"{"version":"toolgate.entry.v2","phase":"close","record":{"record_id":7,
            "call":[],"decision":{},"result":{},"answer":{"content":{}}}}"#;
        assert!(Entry::from_body(odd, None).is_err());
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
            let forms = Forms::default();
            // Once with its form in it, once with the name of it.
            for named in [false, true] {
                let draft = draft(&entry, &forms);
                let (body, form) = (draft.body.as_str(), form(&draft));
                prop_assert_eq!((form.is_some(), form_of(body).is_some()), (named, named));
                prop_assert_eq!(told(body, form), Some(read(draft.columns.clone())));
                prop_assert_eq!(&Entry::from_body(body, form).unwrap(), &entry);
            }
        }
    }
}
