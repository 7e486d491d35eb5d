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
use tokio_util::sync::CancellationToken;

use super::{SESSION, Shared, event_stream, only_post, post, refuse};
use crate::authenticate::authenticate;
use crate::limits;
use crate::mcp::Mcp;
use crate::sessions::Visit;
use crate::streams::StreamPlace;

/// Without a session there is nobody to tell anything: 2026-07-28 clients listen with a request.
pub(super) async fn get(shared: Arc<Shared>, headers: &HeaderMap) -> Response {
    let caller = match authenticate(&shared.mcp.doorkeeper, headers) {
        Ok(caller) => caller,
        Err(fault) => return refuse(&fault),
    };
    let Some(id) = headers.get(SESSION).and_then(|id| id.to_str().ok()) else {
        return only_post();
    };
    let accepts = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if !accepts.contains("text/event-stream") && !accepts.contains("*/*") {
        return (StatusCode::NOT_ACCEPTABLE, "send `Accept: text/event-stream`\n").into_response();
    }
    let Some(visit) = shared.sessions.find(id, caller).await else {
        return post::unknown_session();
    };
    let place = match shared.mcp.streams.take(&visit.caller) {
        Ok(place) => place,
        Err(fault) => return refuse(&fault),
    };
    let state = Open {
        number: visit.memory.open_stream(),
        changes: shared.mcp.gateway.changes(),
        mcp: Arc::clone(&shared.mcp),
        visit,
        stop: shared.stop.clone(),
        _place: place,
    };
    let events = unfold(state, async |mut state| {
        let event = state.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(event)), state))
    });
    event_stream(Body::from_stream(events))
}

struct Open {
    number: u64,
    changes: broadcast::Receiver<Change>,
    mcp: Arc<Mcp>,
    visit: Visit,
    stop: CancellationToken,
    _place: StreamPlace,
}

impl Open {
    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            // Every arm is cancel safe: a change that was told is not lost when another arm wins.
            let change = tokio::select! {
                biased;
                () = self.stop.cancelled() => return None,
                change = self.changes.recv() => change,
                () = tokio::time::sleep(limits::KEEP_ALIVE) => return Some(sse::KEEP_ALIVE.to_vec()),
            };
            if !self.visit.memory.is_newest(self.number) {
                continue;
            }
            let frames = self.mcp.unasked(&self.visit, change)?;
            if !frames.is_empty() {
                return Some(
                    frames.iter().flat_map(|frame| sse::write("message", frame)).collect(),
                );
            }
        }
    }
}
