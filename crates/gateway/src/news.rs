//! What an upstream says before its answer, cleaned on its way to the client.

use std::sync::Arc;

use context::{Cleared, Redactor, pass};
use model::fault::WireError;
use model::{Code, Fault, LogLevel};
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use upstream::Listener;

use crate::gateway::Gateway;
use crate::questions::{self, Due, Judge, Patience};
use crate::queue::Sender;

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
    news: &Sender<News>,
    judge: Option<&Arc<Judge>>,
) -> Listener {
    let (redactor, news) = (gateway.settings.redactor.clone(), news.clone());
    let judge = judge.map(Arc::clone);
    let aside = judge.as_ref().filter(|judge| judge.takes_time()).map(|_| gateway.aside());
    Listener::new(move |heard| {
        let upstream::News::Question(question) = heard else {
            return news.try_send(clean(heard, &redactor)).is_ok();
        };
        let judged = judge.as_ref().ok_or_else(|| Fault::new(Code::UpstreamError, UNASKED));
        let weighed = judged.and_then(|judge| {
            judge.weigh(&question.method, &question.params).map(|due| (judge, due))
        });
        match weighed {
            Ok((judge, due)) if judge.is_free(&due) => {
                news.try_send(clean(passed_on(judge, question), &redactor)).is_ok()
            }
            Ok((judge, due)) => {
                let Some(aside) = &aside else { return false };
                let (judge, news, redactor) = (Arc::clone(judge), news.clone(), redactor.clone());
                aside.run(async move { in_time(&judge, due, question, &news, &redactor).await });
                true
            }
            Err(fault) => {
                refuse(question.reply, &fault);
                true
            }
        }
    })
}

const UNASKED: &str = "the client answers nothing";

/// A question that somebody must count or look at first. Nobody looks longer than its upstream waits.
async fn in_time(
    judge: &Arc<Judge>,
    due: Due,
    mut question: upstream::Question,
    news: &Sender<News>,
    redactor: &Redactor,
) {
    let upstream::Question { method, params, reply } = &mut question;
    // If the upstream gives up, the question of a person stays open and nothing was passed on.
    let settled = tokio::select! {
        settled = judge.settle(due, method, params, Patience::Wait) => settled,
        () = reply.closed() => return,
    };
    match settled {
        Ok(()) => {
            if news.try_send(clean(passed_on(judge, question), redactor)).is_err() {
                tracing::debug!("the client does not listen, and an upstream hears no answer");
            }
        }
        Err(fault) => refuse(question.reply, &fault),
    }
}

/// As the client is asked, with the judge between its answer and the upstream.
fn passed_on(judge: &Arc<Judge>, question: upstream::Question) -> upstream::News {
    let upstream::Question { method, params, reply } = question;
    let params = judge.asked(&method, params);
    let reply = questions::through(judge, &method, &params, reply);
    upstream::News::Question(upstream::Question { method, params, reply })
}

fn refuse(reply: oneshot::Sender<Result<Value, WireError>>, fault: &Fault) {
    if reply.send(Err(questions::refusal(&fault.message))).is_err() {
        tracing::debug!("an upstream no longer waits for its answer");
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
    let upstream::Progress { progress, total, message, rest } = progress;
    let mut fields = Map::new();
    fields.insert("progress".to_owned(), number(progress));
    fields.extend(total.map(|total| ("total".to_owned(), number(total))));
    fields.extend(message.map(|message| ("message".to_owned(), message.into())));
    fields.extend(rest);
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
