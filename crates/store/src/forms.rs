//! Forms: what the entries of a tool have in common, said once beside the history.
//!
//! A form is named by its hash. The name stands in the entries, and so in the chain: a form cannot be
//! changed unnoticed. What was written once only may never come again and stays in its entry.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use model::{Fault, Timestamp, canonical};

use crate::database::{Connection, broken};
use crate::entry::{self, Draft};
use crate::limits;
use crate::lineage::{self, Ancestor};

const KIND: &str = "form";

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// What this process has written of late, by tool, the latest first.
#[derive(Debug, Default)]
pub(crate) struct Forms(Mutex<HashMap<String, Vec<Seen>>>);

#[derive(Debug)]
struct Seen {
    text: Vec<u8>,
    form: Option<Arc<Form>>,
}

impl Forms {
    /// The form with this text, unless it is new.
    pub(crate) fn meet(&self, tool: &str, text: &[u8]) -> Option<Arc<Form>> {
        let mut tools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !tools.contains_key(tool) {
            if tools.len() >= limits::FORM_TOOLS_MAX {
                tools.clear();
            }
            tools.insert(tool.to_owned(), Vec::new());
        }
        let seen = tools.get_mut(tool)?;
        let Some(place) = seen.iter().position(|seen| seen.text == text) else {
            seen.truncate(limits::FORMS_MAX - 1);
            seen.insert(0, Seen { text: text.to_vec(), form: None });
            return None;
        };
        seen.get_mut(..=place)?.rotate_right(1);
        let latest = seen.first_mut()?;
        if latest.form.is_none() {
            latest.form = Form::new(text).map(Arc::new);
        }
        latest.form.clone()
    }
}

impl Form {
    fn new(text: &[u8]) -> Option<Self> {
        let name = canonical::hash_bytes(text);
        Some(Self { name, text: str::from_utf8(text).ok()?.to_owned() })
    }
}

/// The forms that this process has put into the database, and when.
#[derive(Debug, Default)]
pub(crate) struct Noted(HashMap<String, Timestamp>);

impl Noted {
    /// The forms of these drafts that may not be there, or may soon be taken for disused.
    pub(crate) fn missing<'d>(
        &self,
        drafts: impl Iterator<Item = &'d Draft>,
        now: Timestamp,
    ) -> Vec<Arc<Form>> {
        let forms = drafts.filter_map(|draft| draft.form.as_ref());
        let unsure = forms.filter(|form| !self.is_fresh(form, now));
        let distinct: BTreeMap<&str, _> = unsure.map(|form| (form.name.as_str(), form)).collect();
        distinct.into_values().cloned().collect()
    }

    fn is_fresh(&self, form: &Form, now: Timestamp) -> bool {
        let fresh_ms = i64::try_from(limits::FORM_FRESH.as_millis()).unwrap_or(i64::MAX);
        let age_ms = |noted: &Timestamp| now.as_millis().saturating_sub(noted.as_millis());
        self.0.get(&form.name).is_some_and(|noted| (0..fresh_ms).contains(&age_ms(noted)))
    }

    pub(crate) fn note(&mut self, forms: &[Arc<Form>], now: Timestamp) {
        if self.0.len() + forms.len() > limits::FORMS_NOTED_MAX {
            self.forget();
        }
        self.0.extend(forms.iter().map(|form| (form.name.clone(), now)));
    }

    /// After a failure nobody knows what is there.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}

/// Puts forms, each once, beside the history, in the transaction of the entries that name them.
pub(crate) async fn keep(
    connection: &mut Connection,
    forms: &[Arc<Form>],
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    let ancestor = |form: &Arc<Form>| Ancestor {
        kind: KIND,
        hash: form.name.clone(),
        body: form.text.clone(),
    };
    lineage::keep(connection, &forms.iter().map(ancestor).collect::<Vec<_>>(), now).await
}

/// Forms on their way back to the entries that name them; the same one is rarely fetched twice.
#[derive(Debug, Default)]
pub(crate) struct Shelf(HashMap<String, Option<Arc<str>>>);

impl Shelf {
    /// The form that a body names, as it was written; none if it names none or it is not there.
    pub(crate) async fn form_of(
        &mut self,
        body: &str,
        connection: &mut Connection,
    ) -> Result<Option<Arc<str>>, Fault> {
        let Some(name) = entry::form_of(body) else { return Ok(None) };
        if let Some(known) = self.0.get(name) {
            return Ok(known.clone());
        }
        let found = lineage::find(connection, KIND, name).await.map_err(broken)?;
        let sound = found.filter(|text| canonical::hash_bytes(text.as_bytes()) == name);
        let form: Option<Arc<str>> = sound.map(Into::into);
        if self.0.len() >= limits::FORMS_READ_MAX {
            self.0.clear();
        }
        self.0.insert(name.to_owned(), form.clone());
        Ok(form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_again_becomes_a_form() {
        let forms = Forms::default();
        let met = |tool: &str, text: &str| forms.meet(tool, text.as_bytes()).is_some();
        assert_eq!([met("a", "x"), met("a", "y"), met("b", "x")], [false; 3]);
        assert_eq!([met("a", "x"), met("a", "y"), met("b", "x"), met("a", "x")], [true; 4]);
        assert_eq!(forms.meet("a", b"x"), forms.meet("b", b"x"));
    }

    #[test]
    fn what_was_not_written_for_long_is_forgotten() {
        let forms = Forms::default();
        forms.meet("a", b"x");
        for text in 1..limits::FORMS_MAX {
            forms.meet("a", text.to_string().as_bytes());
        }
        assert!(forms.meet("a", b"x").is_some(), "among the latest");
        for text in 0..limits::FORMS_MAX {
            forms.meet("a", format!("new {text}").as_bytes());
        }
        assert_eq!(forms.meet("a", b"x"), None);
        for tool in 0..limits::FORM_TOOLS_MAX {
            forms.meet(&format!("tool {tool}"), b"x");
        }
        assert_eq!(forms.meet("a", b"x"), None);
        assert!(forms.0.lock().unwrap().len() <= limits::FORM_TOOLS_MAX);
    }

    #[test]
    fn a_form_is_noted_anew_before_it_could_go() {
        let form = Arc::new(Form::new(b"x").unwrap());
        let (mut noted, at) = (Noted::default(), Timestamp::from_millis);
        let hour = i64::try_from(limits::FORM_FRESH.as_millis()).unwrap();
        noted.note(&[Arc::clone(&form)], at(hour));
        let check =
            |now: i64, fresh: bool| assert_eq!(noted.is_fresh(&form, at(now)), fresh, "{now}");
        check(hour, true);
        check(2 * hour - 1, true);
        check(2 * hour, false);
        check(hour - 1, false);
        assert!(limits::FORM_FRESH * 2 < limits::LINEAGE_MARGIN);
        noted.forget();
        assert!(!noted.is_fresh(&form, at(hour)));
    }
}
