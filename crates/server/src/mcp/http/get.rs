//! The stream on which clients up to 2025-11-25 hear of changes unasked.

use std::convert::Infallible;
use std::sync::Arc;

use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use gateway::Change;
use http::header::ACCEPT;
use http::{HeaderMap, StatusCode};
use protocol::sse;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use super::{SESSION, Shared, event_stream, has_sessions, only_post, post, refuse};
use crate::authenticate::authenticate;
use crate::limits;
use crate::memory::Stream;
use crate::sessions::Visit;
use crate::streams::StreamPlace;

/// Without a session there is nobody to tell anything: 2026-07-28 clients listen with a request.
pub(super) async fn get(shared: Arc<Shared>, headers: &HeaderMap) -> Response {
    let caller = match authenticate(&shared.mcp.doorkeeper, headers) {
        Ok(caller) => caller,
        Err(fault) => return refuse(&fault),
    };
    if let Err(response) = has_sessions(headers) {
        return response;
    }
    let Some(id) = headers.get(SESSION).and_then(|id| id.to_str().ok()) else {
        return only_post();
    };
    let accepts = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if !accepts.contains("text/event-stream") && !accepts.contains("*/*") {
        return (StatusCode::NOT_ACCEPTABLE, "send `Accept: text/event-stream`\n").into_response();
    }
    let id = id.to_owned();
    let Some(visit) = shared.sessions.find(&id, caller).await else {
        return post::unknown_session();
    };
    let place = match shared.mcp.streams.take(&visit.caller) {
        Ok(place) => place,
        Err(fault) => return refuse(&fault),
    };
    let state = Open {
        id,
        stream: visit.memory.open_stream(),
        muted: false,
        check_at: Instant::now() + limits::SESSION_TOLD,
        changes: shared.mcp.gateway.changes(),
        visit,
        shared,
        _place: place,
    };
    let events = unfold(state, async |mut state| {
        let event = state.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(event)), state))
    });
    event_stream(Body::from_stream(events))
}

struct Open {
    id: String,
    stream: Stream,
    /// A newer one told what was heard last.
    muted: bool,
    /// When it is to be asked again whether there is still a session.
    check_at: Instant,
    changes: broadcast::Receiver<Change>,
    visit: Visit,
    shared: Arc<Shared>,
    _place: StreamPlace,
}

impl Open {
    /// The next that is said; none once the gate stops or the session has ended.
    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            // Every arm is cancel safe: a change that was told is not lost when another arm wins.
            let change = tokio::select! {
                biased;
                () = self.shared.stop.cancelled() => return None,
                () = self.stream.ended() => return None,
                change = self.changes.recv() => Some(change),
                () = tokio::time::sleep(limits::KEEP_ALIVE) => None,
            };
            if Instant::now() >= self.check_at && !Box::pin(self.has_session()).await {
                return None;
            }
            let Some(change) = change else { return Some(sse::KEEP_ALIVE.to_vec()) };
            let frames = self.tell(change)?;
            if !frames.is_empty() {
                return Some(
                    frames.iter().flat_map(|frame| sse::write("message", frame)).collect(),
                );
            }
        }
    }

    /// Whoever listens uses its session. One that ended at another gate has ended here, too.
    async fn has_session(&mut self) -> bool {
        self.check_at = Instant::now() + limits::SESSION_TOLD;
        let caller = self.visit.caller.clone();
        self.shared.sessions.find(&self.id, caller).await.is_some()
    }

    fn tell(&mut self, change: Result<Change, RecvError>) -> Option<Vec<Vec<u8>>> {
        if !self.stream.is_newest() {
            self.muted = true;
            return Some(Vec::new());
        }
        // What was told to a newer one, while nobody noticed that it had gone, was told to nobody.
        let missed = std::mem::take(&mut self.muted).then_some(Err(RecvError::Lagged(1)));
        let heard = missed.into_iter().chain([change]);
        let told = heard.map(|heard| self.shared.mcp.unasked(&self.visit, heard));
        told.collect::<Option<Vec<_>>>().map(|told| told.concat())
    }
}
