//! What an upstream says before its answer, cleaned on its way to the client.

use std::sync::Arc;

use context::{Cleared, Redactor, pass};
use model::LogLevel;
use model::fault::WireError;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use upstream::Listener;

use crate::gateway::Gateway;
use crate::questions::{self, Judge};

/// One thing said in the course of a call.
#[derive(Debug)]
pub enum News {
    /// The fields of a progress notification, without a token.
    Progress(Cleared<Map<String, Value>>),
    Log(LogLevel, Cleared<Map<String, Value>>),
    Question(Question),
}

/// What the upstream wants to know from the client.
#[derive(Debug)]
pub struct Question {
    pub method: String,
    pub params: Cleared<Map<String, Value>>,
    /// Dropped unanswered, the upstream hears that nobody answers.
    pub reply: oneshot::Sender<Result<Value, WireError>>,
}

/// Cleans what it hears and queues it; says so when there is no room.
pub(crate) fn listener(
    gateway: &Gateway,
    news: &mpsc::Sender<News>,
    judge: Option<&Arc<Judge>>,
) -> Listener {
    let (redactor, news) = (gateway.settings.redactor.clone(), news.clone());
    let judge = judge.map(Arc::clone);
    Listener::new(move |heard| match judged(heard, judge.as_ref()) {
        Some(heard) => news.try_send(clean(heard, &redactor)).is_ok(),
        // Its upstream has been told already.
        None => true,
    })
}

/// What may be passed on. A question that may not is answered here.
fn judged(heard: upstream::News, judge: Option<&Arc<Judge>>) -> Option<upstream::News> {
    let upstream::News::Question(upstream::Question { method, params, reply }) = heard else {
        return Some(heard);
    };
    let judge = judge.ok_or_else(|| "the client answers nothing".to_owned());
    match judge.and_then(|judge| judge.judge(&method, &params).map(|()| judge)) {
        Ok(judge) => {
            let reply = questions::through(judge, &method, &params, reply);
            Some(upstream::News::Question(upstream::Question { method, params, reply }))
        }
        Err(why) => {
            if reply.send(Err(questions::refusal(&why))).is_err() {
                tracing::debug!("an upstream no longer waits for its answer");
            }
            None
        }
    }
}

fn clean(heard: upstream::News, redactor: &Redactor) -> News {
    match heard {
        upstream::News::Progress(progress) => {
            News::Progress(pass(progress_fields(progress), redactor))
        }
        upstream::News::Log { level, params } => News::Log(level, pass(params, redactor)),
        upstream::News::Question(upstream::Question { method, params, reply }) => {
            News::Question(Question { method, params: pass(params, redactor), reply })
        }
    }
}

fn progress_fields(progress: upstream::Progress) -> Map<String, Value> {
    let upstream::Progress { progress, total, message } = progress;
    let mut fields = Map::new();
    fields.insert("progress".to_owned(), number(progress));
    fields.extend(total.map(|total| ("total".to_owned(), number(total))));
    fields.extend(message.map(|message| ("message".to_owned(), message.into())));
    fields
}

/// Whole numbers stay whole.
fn number(value: f64) -> Value {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "within the range where f64 counts exactly"
    )]
    let whole = value as i64;
    #[expect(clippy::cast_precision_loss, reason = "within the range where f64 counts exactly")]
    let same = value.abs() < 9e15 && (whole as f64).to_bits() == value.to_bits();
    if same { whole.into() } else { value.into() }
}
