//! What a server says while it works: passed on to whoever is concerned, or answered here.

use std::sync::Arc;

use model::fault::WireError;
use protocol::peer::{self, FromServer};
use protocol::{Id, RpcError};
use serde_json::{Map, Value};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::connector::{Bell, Ring};
use crate::errand::{Errand, News, Paused, Progress, Question};
use crate::limits;

/// Room for the questions of one server. A server that asks without end costs no more than that.
#[derive(Clone, Debug)]
pub(crate) struct Questions(Arc<Semaphore>);

impl Default for Questions {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(limits::QUESTIONS_OPEN_MAX)))
    }
}

/// Taken by a question until its answer is on its way.
pub(crate) type Place = OwnedSemaphorePermit;

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
        place: Place,
    },
    /// The server waits and nobody will answer.
    Unanswered { id: Id, method: String, place: Place },
}

/// Passes on one message that came in the course of `errand`, or outside any.
pub(crate) fn hear(
    message: FromServer,
    errand: Option<&Errand>,
    bell: Option<&Bell>,
    questions: &Questions,
) -> Heard {
    match message {
        FromServer::Progress { progress, total, message, rest, .. } => {
            tell(errand, News::Progress(Progress { progress, total, message, rest }));
        }
        FromServer::Log { level, params } => tell(errand, News::Log { level, params }),
        FromServer::Question { id, method, params } => {
            // Before anybody is asked: nobody is to answer what is not sent back.
            let Ok(place) = Arc::clone(&questions.0).try_acquire_owned() else {
                tracing::debug!(method, "an upstream asks more than it waits for");
                return Heard::Done;
            };
            return question(id, method, params, errand, place);
        }
        FromServer::Changed(what) => ring(bell, Ring::Changed(what)),
        FromServer::Updated { uri } => ring(bell, Ring::Updated { uri }),
        FromServer::TaskNews { params } => ring(bell, Ring::Task { owner: None, params }),
        FromServer::Visited { elicitation_id } => {
            ring(bell, Ring::Visited { owner: None, elicitation_id });
        }
        FromServer::Response { .. } | FromServer::Other => {}
    }
    Heard::Done
}

/// The bytes that answer a question, once it is answered or given up. Its place is free again when
/// they have been sent.
pub(crate) async fn reply(heard: Heard) -> Option<(Vec<u8>, Place)> {
    match heard {
        Heard::Done => None,
        Heard::Unanswered { id, method, place } => {
            Some((peer::reply(&id, &peer::unanswered(&method)), place))
        }
        Heard::Asked { id, method, answer, asking, place } => {
            let outcome = match answer.await {
                Ok(Ok(result)) => Ok(result),
                Ok(Err(error)) => {
                    Err(RpcError { code: error.code, message: error.message, data: error.data })
                }
                Err(_nobody) => peer::unanswered(&method),
            };
            drop(asking);
            Some((peer::reply(&id, &outcome), place))
        }
    }
}

fn question(
    id: Id,
    method: String,
    params: Map<String, Value>,
    errand: Option<&Errand>,
    place: Place,
) -> Heard {
    let taken = errand.filter(|errand| errand.client.can_answer(&method, &params));
    let Some(listener) = taken.and_then(|errand| errand.news.as_ref()) else {
        return Heard::Unanswered { id, method, place };
    };
    let (reply, answer) = oneshot::channel();
    let question = Question { method: method.clone(), params, reply };
    let asking = errand.map(|errand| errand.time.pause());
    if listener.tell(News::Question(question)) {
        Heard::Asked { id, method, answer, asking, place }
    } else {
        Heard::Unanswered { id, method, place }
    }
}

fn tell(errand: Option<&Errand>, news: News) {
    let Some((errand, listener)) = errand.and_then(|it| Some((it, it.news.as_ref()?))) else {
        return;
    };
    if !(errand.course.takes_news() && listener.tell(news)) {
        tracing::trace!("news dropped: too many, or the listener is slow or gone");
    }
}

fn ring(bell: Option<&Bell>, what: Ring) {
    if let Some(bell) = bell {
        bell.ring(what);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::errand::Listener;

    fn ask(questions: &Questions) -> Heard {
        let (id, method) = (Id::Number(1), "ping".to_owned());
        hear(FromServer::Question { id, method, params: Map::new() }, None, None, questions)
    }

    #[tokio::test]
    async fn a_server_that_asks_without_end_is_heard_up_to_a_bound() {
        let questions = Questions::default();
        let mut open: Vec<Heard> =
            (0..limits::QUESTIONS_OPEN_MAX).map(|_| ask(&questions)).collect();
        assert!(open.iter().all(|heard| matches!(heard, Heard::Unanswered { .. })));
        assert!(matches!(ask(&questions), Heard::Done));
        let answered = reply(open.pop().unwrap()).await.unwrap();
        assert!(matches!(ask(&questions), Heard::Done), "its answer is not yet sent");
        drop(answered);
        assert!(matches!(ask(&questions), Heard::Unanswered { .. }));
    }

    /// D9: however much is reported, and however quickly it is heard.
    #[tokio::test(start_paused = true)]
    async fn a_call_passes_on_so_much_of_a_flood() {
        let heard = Arc::<AtomicU32>::default();
        let counted = Arc::clone(&heard);
        let listener = Listener::new(move |_| counted.fetch_add(1, Ordering::SeqCst) < u32::MAX);
        let errand = Errand { news: Some(listener), ..Errand::quiet() };
        for _ in 0..limits::NEWS_PER_SECOND_MAX {
            for news in [
                FromServer::Progress {
                    id: 1,
                    progress: 1.0,
                    total: None,
                    message: None,
                    rest: Map::new(),
                },
                FromServer::Log { level: model::LogLevel::Info, params: Map::new() },
            ] {
                hear(news, Some(&errand), None, &Questions::default());
            }
        }
        assert_eq!(heard.load(Ordering::SeqCst), limits::NEWS_PER_SECOND_MAX);
    }
}
