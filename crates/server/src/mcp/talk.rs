//! One call and what is said in its course: progress, log messages, questions to the client.

use std::sync::Arc;

use gateway::queue::{Receiver, queue};
use gateway::{CallRequest, Cleared, Done, Gateway, News, Question, Via, Watch, bound_to};
use model::{Fault, Method, SessionId};
use protocol::{Id, encode, jsonrpc};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{Mcp, Outlet, not_here};
use crate::limits;
use crate::parked::{Resumed, UnderWay};
use crate::reply::{self, Form, Said};
use crate::sessions::Visit;

impl Mcp {
    /// Makes the call and passes on what is said on the way.
    pub(super) async fn call(
        &self,
        id: &Id,
        visit: &Visit,
        mut request: Box<CallRequest>,
        token: Option<Value>,
        outlet: &Outlet<'_>,
    ) -> Said {
        let via = request.via;
        // What one of our own tools fetches is answered as a tool answers.
        let method = if via == Via::Argument { Method::CallTool } else { request.method.clone() };
        if method != Method::CallTool && !self.gateway.passes_all() {
            return reply::error(id, visit.revision, &not_here(&method));
        }
        let (mut call, questions) = match Resumed::take(&mut request, visit.client.rounds) {
            Err(fault) => return reply::error(id, visit.revision, &fault),
            Ok(None) => (self.begin(visit, request, token.is_some(), outlet), Vec::new()),
            Ok(Some(resumed)) => {
                let resuming = self.resume(visit, request, resumed, token.is_some(), outlet);
                match Box::pin(resuming).await {
                    Ok(call) => call,
                    Err(fault) => return reply::error(id, visit.revision, &fault),
                }
            }
        };
        let (gateway, asked) = (&self.gateway, Vec::new());
        let mut desk = Desk { visit, token, outlet, gateway, asked, questions };
        if outlet.cancel.is_cancelled() {
            desk.questions.clear();
        }
        while desk.questions.is_empty() {
            // No arm loses anything: `recv` is cancel safe and the call is only borrowed.
            tokio::select! {
                biased;
                // First, so that no flood of news keeps it waiting.
                () = outlet.cancel.cancelled(), if call.goes_on() => {
                    call.cancel.iter().for_each(CancellationToken::cancel);
                }
                Some(news) = call.heard.recv() => {
                    desk.pass_on(news);
                    desk.pass_on_all(&mut call.heard);
                }
                done = &mut call.making => {
                    desk.pass_on_all(&mut call.heard);
                    visit.memory.forget(&desk.asked);
                    let form = Form { method: &method, via, unknown_tool: self.unknown_tool };
                    // Nothing is waited for from here on, or every call would take room for its end.
                    return self.conclude(id, visit, &done, form);
                }
            }
        }
        Box::pin(self.park(id, visit, call, desk.questions)).await
    }

    fn conclude(&self, id: &Id, visit: &Visit, done: &Result<Done, Fault>, form: Form<'_>) -> Said {
        match done {
            Ok(done) => {
                note_visits(visit, done);
                reply::call(id, visit.revision, &self.server, done, form)
            }
            Err(fault) => reply::error(id, visit.revision, fault),
        }
    }

    fn begin(
        &self,
        visit: &Visit,
        request: Box<CallRequest>,
        progress: bool,
        outlet: &Outlet<'_>,
    ) -> UnderWay {
        let rounds = visit.client.rounds;
        // Only a call that can be put aside outlives the request it came with.
        let own = rounds.then(CancellationToken::new);
        let cancel = own.as_ref().unwrap_or(outlet.cancel).clone();
        let bound_to =
            if rounds && can_be_asked(visit) { bound_to(&request) } else { String::new() };
        let (news, heard) = queue(limits::NEWS_QUEUED);
        let watch = Watch { cancel, news: Some(news), progress };
        let gateway = Arc::clone(&self.gateway);
        let making = Box::pin(async move { Ok(gateway.call(request, watch).await) });
        UnderWay { making, heard, cancel: own, bound_to, rounds: 0 }
    }

    /// The call that waited here for this request, and what it still wants to know; or a new one that
    /// goes on with an upstream that waits for nobody.
    async fn resume(
        &self,
        visit: &Visit,
        mut request: Box<CallRequest>,
        mut resumed: Resumed,
        progress: bool,
        outlet: &Outlet<'_>,
    ) -> Result<(UnderWay, Vec<Question>), Fault> {
        let bound_to = bound_to(&request);
        if let Some(resumed_here) = self.parked.resume(&mut resumed, &visit.caller, &bound_to) {
            self.gateway.resume_round(&resumed.state, &visit.caller, &bound_to).await;
            return Ok(resumed_here);
        }
        let Resumed { state, responses } = resumed;
        self.gateway.open_round(&state, &mut request, responses).await?;
        Ok((self.begin(visit, request, progress, outlet), Vec::new()))
    }

    /// Puts the call aside and tells the client what is wanted of it first.
    async fn park(&self, id: &Id, visit: &Visit, call: UnderWay, questions: Vec<Question>) -> Said {
        let making = match call.rounds {
            0 => {
                let going_on = tokio::spawn(call.making);
                Box::pin(async move { going_on.await.unwrap_or_else(|e| Err(Fault::internal(e))) })
            }
            // It goes on by itself since it was put aside first.
            _ => call.making,
        };
        let call = UnderWay { making, ..call };
        let state = self.gateway.park_round(&visit.caller, &call.bound_to).await;
        match self.parked.park(call, &visit.caller, questions, state) {
            Ok(wanted) => encode::result(id, visit.revision, &self.server, wanted).into(),
            Err(fault) => reply::error(id, visit.revision, &fault),
        }
    }
}

/// Who is refused until they have been somewhere hears when that is over (2025-11-25).
fn note_visits(visit: &Visit, done: &Done) {
    let refused = done.refused.as_ref().map(Cleared::get);
    let refused = refused.filter(|said| said.code == jsonrpc::URL_ELICITATION_REQUIRED);
    let wanted = refused.and_then(|said| said.data.as_ref()?.get("elicitations")?.as_array());
    let names = wanted.into_iter().flatten().filter_map(|wanted| wanted["elicitationId"].as_str());
    names.for_each(|name| visit.memory.sent_away(name));
}

/// Without a skill to answer, nothing is asked and nothing put aside.
fn can_be_asked(visit: &Visit) -> bool {
    let questions = ["elicitation/create", "sampling/createMessage", "roots/list"];
    questions.iter().any(|method| visit.client.takes(method))
}

/// Where what is said in one call goes.
struct Desk<'a> {
    visit: &'a Visit,
    token: Option<Value>,
    outlet: &'a Outlet<'a>,
    gateway: &'a Gateway,
    asked: Vec<Id>,
    /// For a client that must ask again to answer them.
    questions: Vec<Question>,
}

impl Desk<'_> {
    fn pass_on_all(&mut self, heard: &mut Receiver<News>) {
        while let Some(news) = heard.try_recv() {
            self.pass_on(news);
        }
    }

    /// Of a request that was cancelled nothing is said any more; whoever asks hears that nobody answers.
    fn pass_on(&mut self, news: News) {
        if self.outlet.cancel.is_cancelled() {
            return;
        }
        match news {
            News::Progress(fields) => self.progress(&fields),
            News::Log(level, params) => {
                // Where the log is not among what is offered, nobody could turn it down either.
                if self.gateway.passes_all() && self.visit.wants_log(level) {
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

    /// Older clients are asked while they wait; newer ones by an answer that is not the last.
    fn ask(&mut self, question: Question) {
        if self.visit.client.rounds {
            return self.questions.push(question);
        }
        let Question { method, params, reply } = question;
        let id = self.visit.memory.ask(reply);
        let mut params = params.get().clone();
        // 2025-11-25 gives every visit a name; newer upstreams do not.
        if params.get("mode").is_some_and(|mode| mode == "url") {
            let name = params
                .entry("elicitationId")
                .or_insert_with(|| SessionId::random().as_str().into());
            name.as_str().into_iter().for_each(|name| self.visit.memory.sent_away(name));
        }
        self.send(encode::request(&id, &method, &params));
        self.asked.push(id);
    }

    /// A slow client misses news; its call does not wait for it.
    fn send(&self, frame: Vec<u8>) {
        if self.outlet.frames.try_send(frame).is_err() {
            tracing::trace!("news dropped: the client is slow or gone");
        }
    }
}
