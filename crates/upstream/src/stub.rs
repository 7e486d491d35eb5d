//! An upstream that lives in a list: its tools answer with what they were given (CW-79).

use async_trait::async_trait;
use model::{Answer, Fault};
use policy::Permit;
use serde_json::{Value, json};

use crate::connector::Connector;
use crate::errand::Errand;

/// Answers every call with the call itself, or with the `x-stub-answer` its definition carries.
#[derive(Clone, Debug)]
pub struct Stub {
    definitions: Vec<Value>,
}

/// The key in a definition under which a stub keeps a ready answer.
const ANSWER_KEY: &str = "x-stub-answer";

impl Stub {
    pub fn new(definitions: Vec<Value>) -> Self {
        Self { definitions }
    }

    fn ready_answer(&self, tool: &str) -> Option<Answer> {
        let definition = self.definitions.iter().find(|definition| definition["name"] == tool)?;
        serde_json::from_value(definition.get(ANSWER_KEY)?.clone()).ok()
    }
}

#[async_trait]
impl Connector for Stub {
    fn protocol(&self) -> &'static str {
        "custom"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        let without_answer = |definition: &Value| {
            let mut definition = definition.clone();
            if let Some(object) = definition.as_object_mut() {
                object.shift_remove(ANSWER_KEY);
            }
            definition
        };
        Ok(self.definitions.iter().map(without_answer).collect())
    }

    async fn call(&self, permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        let echo =
            || Answer::structured(json!({"tool": permit.tool(), "args": permit.arguments()}));
        Ok(self.ready_answer(permit.tool()).unwrap_or_else(echo))
    }
}
