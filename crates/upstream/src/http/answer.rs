//! Finds the answer to a request in what a server sends back: one JSON text, or a stream.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Response, StatusCode};
use hyper::body::Incoming;
use model::{Code, Fault};
use protocol::Revision;
use protocol::peer::{self, FromServer};
use protocol::sse::{Event, Events};

use super::challenge;
use super::net::{Net, VERSION};
use crate::connector::Bell;
use crate::errand::Errand;
use crate::http_client;
use crate::limits;
use crate::mcp::Reply;
use crate::mcp::talk::{self, Heard};
use crate::multiplex::concerned;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// What messages of one response are held against.
pub(super) struct Desk<'a> {
    pub(super) net: &'a Arc<Net>,
    /// Under which what the server asks is answered.
    pub(super) headers: &'a HeaderMap,
    pub(super) who: Who<'a>,
    pub(super) bell: Option<&'a Bell>,
}

impl Desk<'_> {
    /// The answer to request `id`. What else the server says on the way is passed on.
    pub(super) async fn answer(
        &self,
        response: Response<Incoming>,
        id: i64,
    ) -> Result<Reply, Fault> {
        let status = response.status();
        if let Who::Call(Some(errand)) = self.who {
            errand.note_status(status.as_u16());
        }
        if !status.is_success() {
            if let Some(fault) = challenge::step_up(status, response.headers()) {
                return Err(fault);
            }
            let bytes = http_client::read_body(response.into_body()).await.unwrap_or_default();
            return Err(refusal(status, &bytes, id));
        }
        if !streams(&response) {
            let bytes = http_client::read_body(response.into_body()).await?;
            return self.whole(&bytes, id);
        }
        Box::pin(self.streamed(response, id)).await
    }

    async fn streamed(&self, mut stream: Response<Incoming>, id: i64) -> Result<Reply, Fault> {
        let mut left = limits::CALL_BYTES_MAX;
        loop {
            let (outcome, events) = self.stream(stream.into_body(), id, &mut left).await;
            let outcome = match outcome {
                Ok(Some(outcome)) => return outcome,
                Ok(None) => Err(no_answer()),
                Err(fault) => Err(fault),
            };
            // A server that names its events goes on with them elsewhere (up to 2025-11-25).
            let Some(last_id) = events.last_id().filter(|_| self.resumes()) else { return outcome };
            let Some(next) = self.resume(last_id, events.retry()).await? else { return outcome };
            stream = next;
        }
    }

    /// Our answer on one stream, of which so many bytes are read; none if it ends without.
    async fn stream(
        &self,
        mut body: Incoming,
        id: i64,
        left: &mut usize,
    ) -> (Result<Option<Picked>, Fault>, Events) {
        let mut events = Events::new(limits::MESSAGE_BYTES_MAX);
        let read = async {
            while let Some(chunk) = http_client::next_chunk(&mut body).await? {
                *left = left.checked_sub(chunk.len()).ok_or_else(says_too_much)?;
                let complete = events.push(&chunk).map_err(|error| {
                    Fault::new(Code::UpstreamError, "the upstream's stream is unusable")
                        .logging(error)
                })?;
                if let Some(outcome) = self.pick_from(&complete, id)? {
                    return Ok(Some(outcome));
                }
            }
            self.pick_from(events.finish().as_slice(), id)
        };
        (read.await, events)
    }

    fn pick_from(&self, events: &[Event], id: i64) -> Result<Option<Picked>, Fault> {
        for event in events.iter().filter(|event| !event.data.is_empty()) {
            if let Some(outcome) = self.pick(event.data.as_bytes(), id)? {
                return Ok(Some(outcome));
            }
        }
        Ok(None)
    }

    /// One text, or several with a line each.
    fn whole(&self, bytes: &[u8], id: i64) -> Result<Reply, Fault> {
        let picked = self.pick(bytes, id).or_else(|fault| {
            let mut events = Events::new(limits::MESSAGE_BYTES_MAX);
            let mut lines = events.push(bytes).unwrap_or_default();
            lines.extend(events.finish());
            if lines.len() < 2 { Err(fault) } else { self.pick_from(&lines, id) }
        })?;
        picked.unwrap_or_else(|| Err(no_answer()))
    }

    fn resumes(&self) -> bool {
        let modern = Revision::V2026_07_28.as_str();
        self.headers.get(VERSION).is_none_or(|version| version != modern)
    }

    /// The rest of a stream that broke off, once the server wants to be asked for it.
    async fn resume(
        &self,
        last_id: &str,
        retry: Option<Duration>,
    ) -> Result<Option<Response<Incoming>>, Fault> {
        let Ok(last_id) = HeaderValue::from_str(last_id) else { return Ok(None) };
        let pause = retry.unwrap_or(limits::RESUME_PAUSE).max(limits::RESUME_PAUSE_MIN);
        tokio::time::sleep(pause).await;
        let mut headers = self.headers.clone();
        headers.insert(LAST_EVENT_ID, last_id);
        let response = self.net.get(&headers).await?;
        Ok((response.status().is_success() && streams(&response)).then_some(response))
    }
}

/// What a server answered to a request of ours.
type Picked = Result<Reply, Fault>;

/// Whose call the messages belong to.
pub(super) enum Who<'a> {
    Call(Option<&'a Errand>),
    /// They do not say: one of these, if it is clear which.
    AnyOf(&'a BTreeMap<i64, Errand>),
}

impl Desk<'_> {
    /// Our answer among what a server sent, if it is there; the rest is passed on.
    pub(super) fn pick(&self, bytes: &[u8], id: i64) -> Result<Option<Picked>, Fault> {
        let messages = peer::read(bytes).map_err(|refusal| {
            Fault::new(Code::UpstreamError, "the upstream's answer is not JSON-RPC")
                .logging(refusal.error.message)
        })?;
        let mut answer = None;
        for message in messages {
            match message {
                FromServer::Response { id: got, outcome, written } if got == id => {
                    let reply = outcome.map(|value| Reply { value, written });
                    answer = Some(reply.map_err(peer::call_fault));
                }
                other => self.pass_on(other),
            }
        }
        Ok(answer)
    }

    fn pass_on(&self, message: FromServer) {
        let errand = match self.who {
            Who::Call(errand) => errand,
            Who::AnyOf(underway) => concerned(underway.values(), &message),
        };
        let heard = talk::hear(message, errand, self.bell, self.net.questions());
        if matches!(heard, Heard::Done) {
            return;
        }
        let (net, headers) = (Arc::clone(self.net), self.headers.clone());
        tokio::spawn(async move {
            if let Some((frame, _place)) = talk::reply(heard).await {
                net.tell(&headers, frame).await;
            }
        });
    }
}

fn says_too_much() -> Fault {
    let most = limits::CALL_BYTES_MAX >> 20;
    let message = format!("the upstream streamed more than {most} MiB in the course of one call");
    Fault::new(Code::UpstreamError, message)
}

/// Newer servers say why in the body; what others say is for the log.
fn refusal(status: StatusCode, body: &[u8], id: i64) -> Fault {
    let said = peer::read(body).ok().into_iter().flatten().find_map(|message| match message {
        FromServer::Response { id: got, outcome: Err(error), .. } if got == id => Some(error),
        _ => None,
    });
    match said {
        // Whatever else is said: who is not let in is not let in.
        Some(error) if status != StatusCode::UNAUTHORIZED => peer::call_fault(error),
        _ => refused(status).logging(model::fault::one_line(&String::from_utf8_lossy(body), 400)),
    }
}

pub(super) fn refused(status: StatusCode) -> Fault {
    let code = match status.as_u16() {
        401 | 403 => Code::AuthFailed,
        408 | 504 => Code::UpstreamTimeout,
        429 | 500..=599 => Code::UpstreamUnavailable,
        _ => Code::UpstreamError,
    };
    let hint = match status.as_u16() {
        300..=399 => "; it points elsewhere, and nobody follows it there",
        401 => "; it wants credentials in its `headers`, or other ones",
        403 => "; the credentials in its `headers` do not suffice",
        404 | 405 => "; is the path of its address right?",
        _ => "",
    };
    Fault::new(code, format!("the upstream answered with status {}{hint}", status.as_u16()))
        .with("status", status.as_u16())
}

/// Whether messages come one by one: as events, or as lines.
pub(super) fn streams(response: &Response<Incoming>) -> bool {
    let kind = content_type(response);
    // Nearly every answer is of this kind, and to search it costs more than to compare it.
    kind != "application/json"
        && (kind.starts_with("text/event-stream")
            || kind.contains("ndjson")
            || kind.contains("jsonl"))
}

fn content_type(response: &Response<Incoming>) -> &str {
    response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn no_answer() -> Fault {
    Fault::new(Code::UpstreamError, "the upstream ended its answer without answering")
}
