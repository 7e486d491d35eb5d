//! How old a server is: asked in the order of the specification, newest first, and remembered.

use std::sync::{Arc, PoisonError};

use http::HeaderValue;
use model::{Code, Fault};
use protocol::{Revision, jsonrpc, peer};
use serde_json::{Map, Value};

use super::answer::{Desk, Who};
use super::net::{SESSION, VERSION};
use super::old::Stream;
use super::{Conversation, HttpWire, Road};
use crate::mcp::{Age, Asking, Greeting, offered};

impl HttpWire {
    /// Finds out how old the server is, unless that was said or is known.
    pub(super) async fn begin(&self) -> Result<Conversation, Fault> {
        let known = *self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = match (known, self.road, self.age) {
            (Some((Road::Old, revision)), ..) | (None, Road::Old, Age::Pinned(revision)) => {
                self.stream(revision).await
            }
            (Some((Road::Any, revision)), ..) | (None, Road::Any, Age::Pinned(revision)) => {
                self.greet_as(revision).await
            }
            (None, Road::Old, Age::Auto) => self.stream(Revision::V2024_11_05).await,
            (None, Road::Any, Age::Auto) => self.find_out().await,
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match &begun {
            Ok(open) => {
                let road = if open.stream.is_some() { Road::Old } else { Road::Any };
                *known = Some((road, open.greeting.revision));
            }
            // One that is not there may come back as another.
            Err(_) => *known = None,
        }
        begun
    }

    /// Newest first; then `initialize`; then, where there is nothing to post to, the old stream. A
    /// server that says which revisions it takes is taken at its word.
    async fn find_out(&self) -> Result<Conversation, Fault> {
        let recalled = self.recalled.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(revision) = recalled
            && let Ok(begun) = self.greet_as(revision).await
        {
            return Ok(begun);
        }
        let mut legacy = Revision::NEWEST_LEGACY;
        match self.discover().await {
            Err(fault) => match offered(&fault) {
                Some(revision) if revision.is_modern() => return self.discover().await,
                Some(revision) => legacy = revision,
                None if is_final(&fault) => return Err(fault),
                None => {}
            },
            begun => return begun,
        }
        match self.introduce(legacy).await {
            Err(fault) if has_no_post(&fault) => {
                // What is said of the stream says less than what was said of the address.
                self.stream(Revision::V2024_11_05).await.map_err(|_no_stream| fault)
            }
            begun => begun,
        }
    }

    async fn greet_as(&self, revision: Revision) -> Result<Conversation, Fault> {
        if revision.is_modern() {
            return self.discover().await;
        }
        match self.introduce(revision).await {
            Err(fault) if has_no_post(&fault) && revision == Revision::V2024_11_05 => {
                self.stream(revision).await.map_err(|_no_stream| fault)
            }
            begun => begun,
        }
    }

    async fn introduce(&self, revision: Revision) -> Result<Conversation, Fault> {
        let id = self.net.number();
        let frame = peer::initialize(id, revision);
        let response = self.net.post(self.net.headers(), frame).await?;
        let mut headers = self.net.headers().clone();
        if let Some(value) = response.headers().get(SESSION) {
            headers.insert(SESSION, value.clone());
        }
        let desk = Desk { net: &self.net, headers: &headers, who: Who::Call(None), bell: None };
        let result = desk.answer(response, id).await?.value;
        let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        let revision = version.parse().unwrap_or(Revision::UNNAMED_HTTP);
        if let Ok(value) = HeaderValue::from_str(version) {
            headers.insert(VERSION, value);
        }
        drop(self.net.post(&headers, peer::initialized()).await?);
        let greeting = Arc::new(Greeting::read(revision, &result));
        Ok(Conversation { greeting, headers, stream: None })
    }

    async fn discover(&self) -> Result<Conversation, Fault> {
        let revision = Revision::V2026_07_28;
        let mut headers = self.net.headers().clone();
        headers.insert(VERSION, HeaderValue::from_static(revision.as_str()));
        let nobody = Greeting::read(revision, &Value::Null);
        let bare = Arc::new(Conversation {
            greeting: Arc::new(nobody),
            headers: headers.clone(),
            stream: None,
        });
        let asking = Asking::own("server/discover", Map::new());
        let result = self.ask_in(&bare, &asking).await?.settled()?.value;
        let greeting = Arc::new(Greeting::discovered(&result)?);
        Ok(Conversation { greeting, headers, stream: None })
    }

    /// 2024-11-05: the stream first, then `initialize` over it.
    async fn stream(&self, revision: Revision) -> Result<Conversation, Fault> {
        let stream = Stream::open(&self.net, self.bell()).await?;
        let result = stream.ask(None, |id| peer::initialize(id, revision)).await?.value;
        let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        let revision = version.parse().unwrap_or(Revision::V2024_11_05);
        stream.tell(peer::initialized()).await?;
        let greeting = Arc::new(Greeting::read(revision, &result));
        Ok(Conversation { greeting, headers: self.net.headers().clone(), stream: Some(stream) })
    }
}

/// No other greeting would do better: nobody is there, we are not let in, or it is new and refuses.
fn is_final(fault: &Fault) -> bool {
    let refused = fault.upstream.as_ref().is_some_and(|error| {
        matches!(
            error.code,
            jsonrpc::UNSUPPORTED_VERSION | jsonrpc::HEADER_MISMATCH | jsonrpc::MISSING_CAPABILITY
        )
    });
    // Some answer what they do not know with a status of 500.
    let absent = fault.code == Code::UpstreamUnavailable && !fault.details.contains_key("status");
    refused || absent || fault.code == Code::AuthFailed
}

/// The address takes no messages.
fn has_no_post(fault: &Fault) -> bool {
    let status = fault.details.get("status").and_then(Value::as_u64);
    fault.upstream.is_none() && matches!(status, Some(400 | 404 | 405))
}
