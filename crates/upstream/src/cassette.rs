//! An upstream on tape: it answers what was recorded, in the order in which it was, and nothing else.
//!
//! For tests of people's own agents: no network, no clock, no chance. `toolgate records cassette`
//! makes the file.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use model::{Answer, Code, Fault, canonical};
use policy::Permit;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::connector::Connector;
use crate::errand::Errand;

pub const VERSION: &str = "toolgate.cassette.v1";

/// The file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tape {
    pub version: String,
    /// Definitions as the upstream gave them.
    pub tools: Vec<Value>,
    pub exchanges: Vec<Exchange>,
}

/// One call and its answer, without secrets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    pub tool: String,
    pub args: Value,
    pub answer: Answer,
}

/// Why a file cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum TapeError {
    #[error("not a cassette: {0}")]
    Json(#[from] serde_json::Error),
    #[error("a cassette of version `{0}`; this Toolgate plays `{VERSION}`")]
    Version(String),
}

#[derive(Debug)]
pub struct Cassette {
    tools: Vec<Value>,
    /// By tool and arguments: the answers in their order, and how many were given.
    answers: Mutex<BTreeMap<String, (Vec<Answer>, usize)>>,
}

impl Cassette {
    pub fn read(text: &str) -> Result<Self, TapeError> {
        let tape: Tape = serde_json::from_str(text)?;
        if tape.version != VERSION {
            return Err(TapeError::Version(tape.version));
        }
        let mut answers: BTreeMap<String, (Vec<Answer>, usize)> = BTreeMap::new();
        for Exchange { tool, args, answer } in tape.exchanges {
            answers.entry(place(&tool, &args)).or_default().0.push(answer);
        }
        Ok(Self { tools: tape.tools, answers: Mutex::new(answers) })
    }

    /// The next answer to this call; the last one again when there are no more.
    fn next(&self, tool: &str, args: &Value) -> Option<Answer> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let (recorded, given) = answers.get_mut(&place(tool, args))?;
        let answer = recorded.get(*given).or_else(|| recorded.last()).cloned();
        *given += 1;
        answer
    }
}

fn place(tool: &str, args: &Value) -> String {
    format!("{tool} {}", canonical::hash(args))
}

#[async_trait]
impl Connector for Cassette {
    fn protocol(&self) -> &'static str {
        "custom"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        Ok(self.tools.clone())
    }

    async fn call(&self, permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        self.next(permit.tool(), permit.arguments()).ok_or_else(|| {
            let message = "the cassette has no answer to this call; record it anew";
            Fault::new(Code::ReplayMiss, message).at(permit.tool())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tape(exchanges: &Value) -> String {
        json!({"version": VERSION, "tools": [], "exchanges": exchanges}).to_string()
    }

    #[test]
    fn answers_come_in_their_order_and_the_last_one_stays() {
        let said = |text: &str| json!({"tool": "t", "args": {"b": 1, "a": 2}, "answer": {"content": [text]}});
        let cassette = Cassette::read(&tape(&json!([said("one"), said("two")]))).unwrap();
        let next = |args: Value| cassette.next("t", &args).map(|answer| answer.content);
        assert_eq!(next(json!({"a": 2, "b": 1})), Some(vec![json!("one")]));
        assert_eq!(next(json!({"a": 2, "b": 1})), Some(vec![json!("two")]));
        assert_eq!(next(json!({"a": 2, "b": 1})), Some(vec![json!("two")]));
        assert_eq!(next(json!({"a": 3})), None);
    }

    #[test]
    fn what_is_no_cassette_is_refused() {
        let check = |text: &str, part: &str| {
            let error = Cassette::read(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        check("[]", "not a cassette");
        check(&tape(&json!([])).replace("v1", "v9"), "version `toolgate.cassette.v9`");
        check(&tape(&json!([])).replace("tools", "tolls"), "not a cassette");
    }
}
