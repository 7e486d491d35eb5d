//! Finds the answer to a request in what a server sends back: one JSON text, or a stream.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, Response, StatusCode};
use hyper::body::Incoming;
use model::{Code, Fault};
use protocol::peer::{self, FromServer};
use protocol::sse::Events;

use super::net::Net;
use crate::connector::Bell;
use crate::errand::Errand;
use crate::http_client;
use crate::limits;
use crate::mcp::Reply;
use crate::mcp::talk::{self, Heard};
use crate::multiplex::concerned;

/// The answer to request `id`. What else the server says on the way is passed on, and what it asks
/// is answered under `headers`.
pub(super) async fn answer_in(
    net: &Arc<Net>,
    headers: &HeaderMap,
    response: Response<Incoming>,
    id: i64,
    errand: Option<&Errand>,
    bell: Option<&Bell>,
) -> Result<Reply, Fault> {
    let status = response.status();
    let streams = content_type(&response).starts_with("text/event-stream");
    let mut body = response.into_body();
    let desk = Desk { net, headers, who: Who::Call(errand), bell };
    if !status.is_success() {
        let bytes = http_client::read_body(body).await.unwrap_or_default();
        return Err(refusal(status, &bytes, id));
    }
    if !streams {
        let bytes = http_client::read_body(body).await?;
        return desk.pick(&bytes, id)?.unwrap_or_else(|| Err(no_answer()));
    }
    let mut events = Events::new(limits::MESSAGE_BYTES_MAX);
    while let Some(chunk) = http_client::next_chunk(&mut body).await? {
        let complete = events.push(&chunk).map_err(|error| {
            Fault::new(Code::UpstreamError, "the upstream's stream is unusable").logging(error)
        })?;
        for event in complete.iter().filter(|event| !event.data.is_empty()) {
            if let Some(outcome) = desk.pick(event.data.as_bytes(), id)? {
                return outcome;
            }
        }
    }
    Err(no_answer())
}

/// What messages of one response are held against.
pub(super) struct Desk<'a> {
    pub(super) net: &'a Arc<Net>,
    pub(super) headers: &'a HeaderMap,
    pub(super) who: Who<'a>,
    pub(super) bell: Option<&'a Bell>,
}

/// Whose call the messages belong to.
pub(super) enum Who<'a> {
    Call(Option<&'a Errand>),
    /// They do not say: one of these, if it is clear which.
    AnyOf(&'a BTreeMap<i64, Errand>),
}

impl Desk<'_> {
    /// Our answer among what a server sent, if it is there; the rest is passed on.
    pub(super) fn pick(
        &self,
        bytes: &[u8],
        id: i64,
    ) -> Result<Option<Result<Reply, Fault>>, Fault> {
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
        let heard = talk::hear(message, errand, self.bell);
        if matches!(heard, Heard::Done) {
            return;
        }
        let (net, headers) = (Arc::clone(self.net), self.headers.clone());
        tokio::spawn(async move {
            if let Some(frame) = talk::reply(heard).await {
                net.tell(&headers, frame).await;
            }
        });
    }
}

/// Newer servers say why in the body; what others say is for the log.
fn refusal(status: StatusCode, body: &[u8], id: i64) -> Fault {
    let said = peer::read(body).ok().into_iter().flatten().find_map(|message| match message {
        FromServer::Response { id: got, outcome: Err(error), .. } if got == id => Some(error),
        _ => None,
    });
    match said {
        Some(error) => peer::call_fault(error),
        None => {
            refused(status).logging(model::fault::one_line(&String::from_utf8_lossy(body), 400))
        }
    }
}

pub(super) fn refused(status: StatusCode) -> Fault {
    let code = match status.as_u16() {
        401 | 403 => Code::AuthFailed,
        408 | 504 => Code::UpstreamTimeout,
        429 | 500..=599 => Code::UpstreamUnavailable,
        _ => Code::UpstreamError,
    };
    Fault::new(code, format!("the upstream answered with status {}", status.as_u16()))
        .with("status", status.as_u16())
}

pub(super) fn content_type(response: &Response<Incoming>) -> &str {
    response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn no_answer() -> Fault {
    Fault::new(Code::UpstreamError, "the upstream ended its answer without answering")
}
