//! What an upstream says before its answer, cleaned on its way to the client.

use context::{Cleared, Redactor, pass};
use model::LogLevel;
use model::fault::WireError;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use upstream::Listener;

use crate::gateway::Gateway;

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
pub(crate) fn listener(gateway: &Gateway, news: &mpsc::Sender<News>) -> Listener {
    let (redactor, news) = (gateway.settings.redactor.clone(), news.clone());
    Listener::new(move |heard| news.try_send(clean(heard, &redactor)).is_ok())
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
