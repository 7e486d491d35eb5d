//! The answer as a stream of events: news first, the answer last, comments against silence.

use std::convert::Infallible;

use axum_core::body::Body;
use axum_core::response::Response;
use bytes::Bytes;
use futures_util::stream::unfold;
use gateway::queue::Receiver;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use protocol::sse;
use tokio::sync::oneshot;
use tokio_util::sync::DropGuard;

use crate::limits;
use crate::reply::Said;

/// A call that has said something before its answer.
pub(super) struct Stream {
    pub(super) first: Vec<u8>,
    pub(super) news: Receiver<Vec<u8>>,
    pub(super) answer: oneshot::Receiver<Said>,
    /// Cancels the call when the client closes the stream, if it is a client that means it.
    pub(super) cancel_on_close: Option<DropGuard>,
}

pub(super) fn stream(stream: Stream) -> Response {
    let Stream { first, news, answer, cancel_on_close } = stream;
    let state = State { first: Some(first), news, answer: Some(answer), cancel_on_close };
    let events = unfold(state, async |mut state| {
        let event = state.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(event)), state))
    });
    event_stream(Body::from_stream(events))
}

/// A response that proxies must not hold back.
pub(in crate::mcp) fn event_stream(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

struct State {
    first: Option<Vec<u8>>,
    news: Receiver<Vec<u8>>,
    answer: Option<oneshot::Receiver<Said>>,
    cancel_on_close: Option<DropGuard>,
}

impl State {
    /// The next event; none after the answer.
    async fn next(&mut self) -> Option<Vec<u8>> {
        if let Some(first) = self.first.take() {
            return Some(sse::write("message", &first));
        }
        let answer = self.answer.as_mut()?;
        // Every arm is cancel safe: nothing that was sent is lost when another arm wins.
        tokio::select! {
            biased;
            Some(frame) = self.news.recv() => Some(sse::write("message", &frame)),
            said = answer => {
                self.answer = None;
                if let Some(guard) = self.cancel_on_close.take() {
                    guard.disarm();
                }
                said.ok().map(|said| sse::write("message", &said.bytes))
            }
            () = tokio::time::sleep(limits::KEEP_ALIVE) => Some(sse::KEEP_ALIVE.to_vec()),
        }
    }
}
