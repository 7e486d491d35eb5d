//! One call and what is said in its course: progress, log messages, questions to the client.

use gateway::{CallRequest, Cleared, News, Question, Via, Watch};
use model::Method;
use protocol::Id;
use protocol::encode;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::{Mcp, Outlet, not_here};
use crate::limits;
use crate::reply::{self, Said};
use crate::sessions::Visit;

impl Mcp {
    /// Makes the call and passes on what is said on the way.
    pub(super) async fn call(
        &self,
        id: &Id,
        visit: &Visit,
        request: CallRequest,
        token: Option<Value>,
        outlet: &Outlet,
    ) -> Said {
        let via = request.via;
        // What one of our own tools fetches is answered as a tool answers.
        let method = if via == Via::Argument { Method::CallTool } else { request.method.clone() };
        if method != Method::CallTool && !self.gateway.passes_all() {
            return reply::error(id, visit.revision, &not_here(&method));
        }
        let (news, mut heard) = mpsc::channel(limits::NEWS_QUEUED);
        let watch =
            Watch { cancel: outlet.cancel.clone(), news: Some(news), progress: token.is_some() };
        let mut call = Box::pin(self.gateway.call(request, watch));
        let mut desk = Desk { visit, token, outlet, asked: Vec::new() };
        let done = loop {
            // Neither arm loses anything: `recv` is cancel safe and the call is only borrowed.
            tokio::select! {
                biased;
                Some(news) = heard.recv() => desk.pass_on(news),
                done = &mut call => break done,
            }
        };
        while let Ok(news) = heard.try_recv() {
            desk.pass_on(news);
        }
        visit.memory.forget(&desk.asked);
        reply::call(id, visit.revision, &self.server, &done, &method, via)
    }
}

/// Where what is said in one call goes.
struct Desk<'a> {
    visit: &'a Visit,
    token: Option<Value>,
    outlet: &'a Outlet,
    asked: Vec<Id>,
}

impl Desk<'_> {
    fn pass_on(&mut self, news: News) {
        match news {
            News::Progress(fields) => self.progress(&fields),
            News::Log(level, params) => {
                if self.visit.wants_log(level) {
                    self.send(encode::notification("notifications/message", params.get()));
                }
            }
            News::Question(question) => self.ask(question),
        }
    }

    fn progress(&self, fields: &Cleared<Map<String, Value>>) {
        let Some(token) = &self.token else { return };
        let mut params = Map::new();
        params.insert("progressToken".to_owned(), token.clone());
        params.extend(fields.get().iter().map(|(key, value)| (key.clone(), value.clone())));
        self.send(encode::notification("notifications/progress", &params));
    }

    /// Older clients can be asked while they wait; newer ones cannot, and the question is given up.
    fn ask(&mut self, question: Question) {
        let Question { method, params, reply } = question;
        if self.visit.revision.is_modern() {
            return tracing::debug!(method, "a question to a client that cannot be asked");
        }
        let id = self.visit.memory.ask(reply);
        self.send(encode::request(&id, &method, params.get()));
        self.asked.push(id);
    }

    /// A slow client misses news; its call does not wait for it.
    fn send(&self, frame: Vec<u8>) {
        if self.outlet.frames.try_send(frame).is_err() {
            tracing::trace!("news dropped: the client is slow or gone");
        }
    }
}
