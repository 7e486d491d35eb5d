//! MCP servers over Streamable HTTP, of every revision that has it.
//!
//! Up to 2025-11-25 there is one conversation for all calls, with a session where the server wants
//! one; from 2026-07-28 on each request stands for itself. Legacy SSE belongs to a later issue.

mod answer;
mod listen;
mod net;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use async_trait::async_trait;
use auth::Credentials;
use http::{HeaderMap, HeaderValue, StatusCode};
use model::Fault;
use protocol::{Revision, headers, jsonrpc, peer};
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use tokio_util::task::AbortOnDropHandle;

use self::answer::answer_in;
use self::net::{Net, SESSION, VERSION};
use crate::connector::Bell;
use crate::errand::Errand;
use crate::mcp::{Age, Asking, Greeting, Mcp, Reply, Wire};

/// A server at an address.
pub type Http = Mcp<HttpWire>;

#[derive(Debug)]
pub struct HttpWire {
    net: Arc<Net>,
    age: Age,
    open: Mutex<Option<Arc<Conversation>>>,
    bell: StdMutex<Option<Bell>>,
    /// Resources somebody wants news of.
    followed: StdMutex<BTreeSet<String>>,
    listening: StdMutex<Option<AbortOnDropHandle<()>>>,
    underway: Arc<Underway>,
}

/// Calls under way by number, for what a server says on the stream that belongs to none.
pub(crate) type Underway = StdMutex<BTreeMap<i64, Errand>>;

/// What stays the same from one request to the next.
#[derive(Debug)]
pub(crate) struct Conversation {
    greeting: Arc<Greeting>,
    headers: HeaderMap,
}

impl Http {
    /// Checks address and credentials; nothing is contacted yet.
    pub fn new(url: &str, credentials: &Credentials, age: Age) -> Result<Self, Fault> {
        Ok(Self::over(HttpWire {
            net: Arc::new(Net::new(url, credentials)?),
            age,
            open: Mutex::new(None),
            bell: StdMutex::new(None),
            followed: StdMutex::default(),
            listening: StdMutex::new(None),
            underway: Arc::default(),
        }))
    }
}

#[async_trait]
impl Wire for HttpWire {
    async fn greet(&self) -> Result<Arc<Greeting>, Fault> {
        Ok(Arc::clone(&self.conversation().await?.greeting))
    }

    /// Asks within the conversation; a server that forgot it is introduced again, once.
    async fn ask(&self, asking: Asking<'_>) -> Result<Reply, Fault> {
        let conversation = self.conversation().await?;
        let asked = self.ask_in(&conversation, &asking).await?;
        let Asked::Forgotten = asked else { return asked.settled() };
        *self.open.lock().await = None;
        let conversation = self.conversation().await?;
        self.ask_in(&conversation, &asking).await?.settled()
    }

    async fn follow(&self, uri: &str, wanted: bool) -> Result<(), Fault> {
        let conversation = self.conversation().await?;
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let changed = if wanted { followed.insert(uri.to_owned()) } else { followed.remove(uri) };
        if !changed {
            return Ok(());
        }
        if !conversation.greeting.revision.is_modern() {
            let method = if wanted { "resources/subscribe" } else { "resources/unsubscribe" };
            let params = Map::from_iter([("uri".to_owned(), uri.into())]);
            self.ask(Asking::own(method, params)).await?;
        }
        *self.followed.lock().unwrap_or_else(PoisonError::into_inner) = followed;
        if conversation.greeting.revision.is_modern() {
            self.listen(&conversation);
        }
        Ok(())
    }

    fn attach(&self, bell: Bell) {
        *self.bell.lock().unwrap_or_else(PoisonError::into_inner) = Some(bell);
    }

    fn host(&self) -> Option<&str> {
        Some(self.net.host())
    }

    async fn close(&self) {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner).take();
        let open = self.open.lock().await.take();
        if let Some(conversation) = open.filter(|open| open.headers.contains_key(SESSION)) {
            self.net.end_session(&conversation.headers).await;
        }
    }
}

enum Asked {
    Answer(Reply),
    /// The server no longer knows our session.
    Forgotten,
}

impl Asked {
    fn settled(self) -> Result<Reply, Fault> {
        match self {
            Self::Answer(reply) => Ok(reply),
            Self::Forgotten => Err(answer::refused(StatusCode::NOT_FOUND)),
        }
    }
}

impl HttpWire {
    async fn conversation(&self) -> Result<Arc<Conversation>, Fault> {
        let mut slot = self.open.lock().await;
        if let Some(open) = slot.as_ref() {
            return Ok(Arc::clone(open));
        }
        let opened = Arc::new(self.begin().await?);
        *slot = Some(Arc::clone(&opened));
        self.listen(&opened);
        Ok(opened)
    }

    /// Finds out how old the server is, unless that was said.
    async fn begin(&self) -> Result<Conversation, Fault> {
        match self.age {
            Age::Pinned(revision) if revision.is_modern() => self.discover().await,
            Age::Pinned(revision) => self.introduce(revision).await,
            Age::Auto => match self.introduce(Revision::NEWEST_LEGACY).await {
                Err(fault) if is_too_modern(&fault) => self.discover().await,
                begun => begun,
            },
        }
    }

    async fn introduce(&self, revision: Revision) -> Result<Conversation, Fault> {
        let id = self.net.number();
        let frame = peer::initialize(id, revision);
        let response = self.net.post(&HeaderMap::new(), frame).await?;
        let mut headers = HeaderMap::new();
        if let Some(value) = response.headers().get(SESSION) {
            headers.insert(SESSION, value.clone());
        }
        let result = answer_in(&self.net, &headers, response, id, None, None).await?.value;
        let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        let revision = version.parse().unwrap_or(Revision::UNNAMED_HTTP);
        if let Ok(value) = HeaderValue::from_str(version) {
            headers.insert(VERSION, value);
        }
        drop(self.net.post(&headers, peer::initialized()).await?);
        Ok(Conversation { greeting: Arc::new(Greeting::read(revision, &result)), headers })
    }

    async fn discover(&self) -> Result<Conversation, Fault> {
        let revision = Revision::V2026_07_28;
        let mut headers = HeaderMap::new();
        headers.insert(VERSION, HeaderValue::from_static(revision.as_str()));
        let nobody = Greeting { revision, capabilities: Map::new(), instructions: None };
        let bare = Arc::new(Conversation { greeting: Arc::new(nobody), headers: headers.clone() });
        let asking = Asking::own("server/discover", Map::new());
        let result = self.ask_in(&bare, &asking).await?.settled()?.value;
        Ok(Conversation { greeting: Arc::new(Greeting::read(revision, &result)), headers })
    }

    async fn ask_in(
        &self,
        conversation: &Arc<Conversation>,
        asking: &Asking<'_>,
    ) -> Result<Asked, Fault> {
        let id = self.net.number();
        let modern = conversation.greeting.revision.is_modern();
        let mut guard = CancelOnDrop {
            net: &self.net,
            conversation,
            underway: &self.underway,
            id,
            // Newer servers take the closed connection for the wish to stop.
            armed: asking.errand.is_some() && !modern,
        };
        if let Some(errand) = asking.errand.filter(|_| !modern) {
            let mut underway = self.underway.lock().unwrap_or_else(PoisonError::into_inner);
            underway.insert(id, errand.clone());
        }
        let frame = asking.frame(id, conversation.greeting.revision);
        let headers = request_headers(conversation, asking)?;
        let response = self.net.post(&headers, frame).await;
        let outcome = match response {
            Ok(response)
                if response.status() == StatusCode::NOT_FOUND && headers.contains_key(SESSION) =>
            {
                Ok(Asked::Forgotten)
            }
            Ok(response) => {
                let bell = self.bell();
                let answer = answer_in(
                    &self.net,
                    &conversation.headers,
                    response,
                    id,
                    asking.errand,
                    bell.as_ref(),
                );
                answer.await.map(Asked::Answer)
            }
            Err(fault) => Err(fault),
        };
        guard.armed = false;
        outcome
    }

    fn bell(&self) -> Option<Bell> {
        self.bell.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Listens for changes from now on, in place of any listening before.
    fn listen(&self, conversation: &Arc<Conversation>) {
        let Some(bell) = self.bell() else { return };
        let uris = self.followed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let work = listen::listen(
            Arc::clone(&self.net),
            Arc::clone(conversation),
            uris.into_iter().collect(),
            listen::Ears { bell, underway: Arc::clone(&self.underway) },
        );
        let handle = AbortOnDropHandle::new(tokio::spawn(work));
        *self.listening.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
    }
}

fn request_headers(conversation: &Conversation, asking: &Asking<'_>) -> Result<HeaderMap, Fault> {
    let mut all = conversation.headers.clone();
    if !conversation.greeting.revision.is_modern() {
        return Ok(all);
    }
    let mut add = |name: &str, text: &str| {
        let name = http::HeaderName::from_bytes(name.as_bytes()).map_err(Fault::internal)?;
        all.insert(name, HeaderValue::from_str(text).map_err(Fault::internal)?);
        Ok::<(), Fault>(())
    };
    add(headers::METHOD, asking.method)?;
    if let Some(name) = asking.name {
        add(headers::NAME, &headers::encode(name))?;
    }
    for (name, text) in &asking.headers {
        add(name, text)?;
    }
    Ok(all)
}

/// The server says that it is newer than conversations.
fn is_too_modern(fault: &Fault) -> bool {
    fault.upstream.as_ref().is_some_and(|error| {
        matches!(
            error.code,
            jsonrpc::UNSUPPORTED_VERSION | jsonrpc::HEADER_MISMATCH | jsonrpc::METHOD_NOT_FOUND
        )
    })
}

/// Tells the server when a call is given up before its answer.
struct CancelOnDrop<'a> {
    net: &'a Arc<Net>,
    conversation: &'a Arc<Conversation>,
    underway: &'a Underway,
    id: i64,
    armed: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.underway.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        if self.armed {
            let frame = peer::cancelled(self.id, "the caller gave up");
            self.net.tell_soon(self.conversation.headers.clone(), frame);
        }
    }
}
