//! What a server says while it works: passed on to whoever is concerned, or answered here.

use model::fault::WireError;
use protocol::peer::{self, FromServer};
use protocol::{Id, RpcError};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::connector::{Bell, Ring};
use crate::errand::{Errand, Listener, News, Paused, Progress, Question};

/// What follows from a message that is no answer to a request of ours.
pub(crate) enum Heard {
    /// Nothing more to do.
    Done,
    /// The server waits; send it what comes of this.
    Asked {
        id: Id,
        method: String,
        answer: oneshot::Receiver<Result<Value, WireError>>,
        /// Until then the time of the call stands still.
        asking: Option<Paused>,
    },
    /// The server waits and nobody will answer.
    Unanswered { id: Id, method: String },
}

/// Passes on one message that came in the course of `errand`, or outside any.
pub(crate) fn hear(message: FromServer, errand: Option<&Errand>, bell: Option<&Bell>) -> Heard {
    let listener = errand.and_then(|errand| errand.news.as_ref());
    match message {
        FromServer::Progress { progress, total, message, rest, .. } => {
            tell(listener, News::Progress(Progress { progress, total, message, rest }));
        }
        FromServer::Log { level, params } => tell(listener, News::Log { level, params }),
        FromServer::Question { id, method, params } => {
            return question(id, method, params, errand);
        }
        FromServer::Changed(what) => ring(bell, Ring::Changed(what)),
        FromServer::Updated { uri } => ring(bell, Ring::Updated { uri }),
        FromServer::TaskNews { method, params } => ring(bell, Ring::Task { method, params }),
        FromServer::Visited { elicitation_id } => ring(bell, Ring::Visited { elicitation_id }),
        FromServer::Response { .. } | FromServer::Other => {}
    }
    Heard::Done
}

/// The bytes that answer a question, once it is answered or given up.
pub(crate) async fn reply(heard: Heard) -> Option<Vec<u8>> {
    match heard {
        Heard::Done => None,
        Heard::Unanswered { id, method } => Some(peer::reply(&id, &peer::unanswered(&method))),
        Heard::Asked { id, method, answer, asking } => {
            let outcome = match answer.await {
                Ok(Ok(result)) => Ok(result),
                Ok(Err(error)) => {
                    Err(RpcError { code: error.code, message: error.message, data: error.data })
                }
                Err(_nobody) => peer::unanswered(&method),
            };
            drop(asking);
            Some(peer::reply(&id, &outcome))
        }
    }
}

fn question(id: Id, method: String, params: Map<String, Value>, errand: Option<&Errand>) -> Heard {
    let taken = errand.filter(|errand| errand.client.can_answer(&method, &params));
    let Some(listener) = taken.and_then(|errand| errand.news.as_ref()) else {
        return Heard::Unanswered { id, method };
    };
    let (reply, answer) = oneshot::channel();
    let question = Question { method: method.clone(), params, reply };
    let asking = errand.map(|errand| errand.time.pause());
    if listener.tell(News::Question(question)) {
        Heard::Asked { id, method, answer, asking }
    } else {
        Heard::Unanswered { id, method }
    }
}

fn tell(listener: Option<&Listener>, news: News) {
    if listener.is_some_and(|listener| !listener.tell(news)) {
        tracing::trace!("news dropped: the listener is slow or gone");
    }
}

fn ring(bell: Option<&Bell>, what: Ring) {
    if let Some(bell) = bell {
        bell.ring(what);
    }
}
