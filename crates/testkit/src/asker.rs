//! An upstream with one tool, `ask`, that asks the client one thing after another and notes what it
//! hears.

use async_trait::async_trait;
use model::fault::WireError;
use model::{Answer, Fault};
use policy::Permit;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use upstream::{Connector, Errand, News, Question};

use crate::notes::Notes;

#[derive(Clone, Debug)]
pub struct Asker {
    questions: Vec<(String, Map<String, Value>)>,
    heard: Notes<Result<Value, WireError>>,
}

impl Asker {
    pub fn new(questions: Vec<(&str, Value)>) -> Self {
        let each = questions.into_iter().map(|(method, params)| {
            (method.to_owned(), params.as_object().cloned().unwrap_or_default())
        });
        Self { questions: each.collect(), heard: Notes::default() }
    }

    /// What each question was answered with.
    pub fn heard(&self) -> Vec<Result<Value, WireError>> {
        self.heard.all()
    }
}

#[async_trait]
impl Connector for Asker {
    fn protocol(&self) -> &'static str {
        "custom"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        Ok(vec![crate::tool("ask", json!({}))])
    }

    async fn call(&self, _permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
        for (method, params) in &self.questions {
            let (reply, answer) = oneshot::channel();
            let (method, params) = (method.clone(), params.clone());
            let question = News::Question(Question { method, params, reply });
            if errand.news.as_ref().is_some_and(|news| news.tell(question))
                && let Ok(said) = answer.await
            {
                self.heard.push(said);
            }
        }
        Ok(Answer::text("asked"))
    }
}
