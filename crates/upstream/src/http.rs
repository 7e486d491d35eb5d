//! MCP servers over HTTP, of every revision.
//!
//! 2024-11-05 has one stream for all answers; up to 2025-11-25 there is one conversation for all
//! calls, with a session where the server wants one; from 2026-07-28 on each request stands for
//! itself. Which it is, is found out once, as the specification says.

mod answer;
mod challenge;
mod greet;
mod listen;
mod net;
mod old;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use auth::Credentials;
use http::{HeaderMap, HeaderValue, StatusCode};
use model::{Code, Fault};
use protocol::{Revision, headers, peer};
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use self::answer::{Desk, Who};
use self::net::{Net, SESSION};
use self::old::Stream;
use crate::connector::{Bell, Ring};
use crate::egress::Egress;
use crate::errand::Errand;
use crate::limits;
use crate::mcp::{Age, Asking, Followed, Greeting, Mcp, Reply, Wire, subscriptions};
use crate::patience::Patience;

/// A server at an address.
pub type Http = Mcp<HttpWire>;

#[derive(Debug)]
pub struct HttpWire {
    net: Arc<Net>,
    road: Road,
    age: Age,
    /// What the server turned out to be; asked about once.
    known: StdMutex<Option<(Road, Revision)>>,
    /// What it was before we were started; good for one try.
    recalled: StdMutex<Option<Revision>>,
    patience: StdMutex<Patience>,
    opened_before: AtomicBool,
    open: Mutex<Option<Arc<Conversation>>>,
    bell: StdMutex<Option<Bell>>,
    /// What somebody wants news of.
    followed: StdMutex<BTreeSet<Followed>>,
    /// Held by whoever changes what is followed.
    following: Mutex<()>,
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
    /// Where answers come in, if not in answer to each request.
    stream: Option<Stream>,
}

/// Which transport of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Road {
    /// Streamable HTTP, and the older one if the server has no other.
    #[default]
    Any,
    /// The older one, with a stream of its own.
    Old,
}

impl Http {
    /// Checks address and credentials; nothing is contacted yet.
    pub fn new(url: &str, credentials: &Credentials, age: Age) -> Result<Self, Fault> {
        Self::by(Road::Any, url, credentials, age)
    }

    pub fn by(road: Road, url: &str, credentials: &Credentials, age: Age) -> Result<Self, Fault> {
        Self::through(&Egress::Open, road, url, credentials, age)
    }

    /// The same, where not every address may be reached.
    pub fn through(
        egress: &Egress,
        road: Road,
        url: &str,
        credentials: &Credentials,
        age: Age,
    ) -> Result<Self, Fault> {
        Ok(Self::over(HttpWire::new(Net::new(url, credentials, egress)?, road, age)))
    }
}

#[async_trait]
impl Wire for HttpWire {
    async fn greet(&self) -> Result<Arc<Greeting>, Fault> {
        Ok(Arc::clone(&self.conversation().await?.greeting))
    }

    /// Asks within the conversation; a server that forgot it is introduced again, once.
    async fn ask(&self, asking: &Asking<'_>) -> Result<Reply, Fault> {
        let conversation = self.conversation().await?;
        let asked = self.ask_in(&conversation, asking).await?;
        let Asked::Forgotten = asked else { return asked.settled() };
        *self.open.lock().await = None;
        let conversation = self.conversation().await?;
        self.ask_in(&conversation, asking).await?.settled()
    }

    async fn follow(&self, what: Followed, wanted: bool) -> Result<(), Fault> {
        let conversation = self.conversation().await?;
        // One wish after the other: what was followed before must not be forgotten meanwhile.
        let _turn = self.following.lock().await;
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let changed = if wanted { followed.insert(what.clone()) } else { followed.remove(&what) };
        if !changed {
            return Ok(());
        }
        if !conversation.greeting.revision.is_modern() {
            for asking in subscriptions([&what], wanted) {
                self.ask(&asking).await?;
            }
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

    fn revision(&self) -> Option<Revision> {
        let known = *self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.map(|(_, revision)| revision)
    }

    fn recall(&self, revision: Revision) {
        *self.recalled.lock().unwrap_or_else(PoisonError::into_inner) = Some(revision);
    }

    async fn close(&self) {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner).take();
        let open = self.open.lock().await.take();
        if let Some(conversation) = open.filter(|open| open.headers.contains_key(SESSION)) {
            self.net.end_session(&conversation.headers).await;
        }
    }
}

impl Conversation {
    fn is_alive(&self) -> bool {
        self.stream.as_ref().is_none_or(Stream::is_alive)
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
    fn new(net: Net, road: Road, age: Age) -> Self {
        Self {
            net: Arc::new(net),
            road,
            age,
            known: StdMutex::default(),
            recalled: StdMutex::default(),
            patience: StdMutex::default(),
            opened_before: AtomicBool::new(false),
            open: Mutex::new(None),
            bell: StdMutex::new(None),
            followed: StdMutex::default(),
            following: Mutex::default(),
            listening: StdMutex::new(None),
            underway: Arc::default(),
        }
    }

    async fn conversation(&self) -> Result<Arc<Conversation>, Fault> {
        let mut slot = self.open.lock().await;
        if let Some(open) = slot.as_ref().filter(|open| open.is_alive()) {
            return Ok(Arc::clone(open));
        }
        let opened = Arc::new(Box::pin(self.begin_in_time()).await?);
        *slot = Some(Arc::clone(&opened));
        self.listen(&opened);
        if self.opened_before.swap(true, Ordering::AcqRel) {
            Box::pin(self.follow_again(&opened)).await;
            if let Some(bell) = self.bell() {
                bell.ring(Ring::Reopened);
            }
        }
        Ok(opened)
    }

    /// Up to 2025-11-25 a new session knows of nothing that the former was asked for.
    async fn follow_again(&self, conversation: &Arc<Conversation>) {
        let followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let modern = conversation.greeting.revision.is_modern();
        for asking in subscriptions(followed.iter().filter(|_| !modern), true) {
            let asked = self.ask_in(conversation, &asking);
            if !matches!(tokio::time::timeout(limits::STOP_GRACE, asked).await, Ok(Ok(_))) {
                tracing::debug!("an upstream was not asked again for news of a resource");
            }
        }
    }

    async fn begin_in_time(&self) -> Result<Conversation, Fault> {
        let patience = self.patience().now();
        let began = Instant::now();
        let Ok(begun) = tokio::time::timeout(patience, self.begin()).await else {
            self.patience().in_vain();
            return Err(too_slow(patience));
        };
        let opened = begun?;
        self.patience().greeted(began.elapsed());
        Ok(opened)
    }

    fn patience(&self) -> MutexGuard<'_, Patience> {
        self.patience.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask_in(
        &self,
        conversation: &Arc<Conversation>,
        asking: &Asking<'_>,
    ) -> Result<Asked, Fault> {
        if let Some(stream) = &conversation.stream {
            let frame = |id| asking.frame(id, conversation.greeting.revision);
            return stream.ask(asking.errand, frame).await.map(Asked::Answer);
        }
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
                let desk = Desk {
                    net: &self.net,
                    headers: &conversation.headers,
                    who: Who::Call(asking.errand),
                    bell: bell.as_ref(),
                };
                desk.answer(response, id).await.map(Asked::Answer)
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
        let Some(bell) = self.bell().filter(|_| conversation.stream.is_none()) else { return };
        let followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let work = listen::listen(
            Arc::clone(&self.net),
            Arc::clone(conversation),
            followed,
            listen::Ears { bell, underway: Arc::clone(&self.underway) },
        );
        let handle = AbortOnDropHandle::new(tokio::spawn(work));
        *self.listening.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
    }
}

fn request_headers<'c>(
    conversation: &'c Conversation,
    asking: &Asking<'_>,
) -> Result<Cow<'c, HeaderMap>, Fault> {
    if !conversation.greeting.revision.is_modern() {
        return Ok(Cow::Borrowed(&conversation.headers));
    }
    let mut all = conversation.headers.clone();
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
    Ok(Cow::Owned(all))
}

fn too_slow(patience: Duration) -> Fault {
    let seconds = patience.as_secs();
    Fault::new(Code::UpstreamUnavailable, format!("the upstream did not greet within {seconds} s"))
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

#[cfg(test)]
mod tests;
