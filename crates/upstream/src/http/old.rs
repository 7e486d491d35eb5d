//! The transport of 2024-11-05: one stream on which the server speaks, and an address it names there
//! for what we say.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::Uri;
use hyper::body::Incoming;
use model::{Code, Fault};
use protocol::peer;
use protocol::sse::Events;
use tokio_util::task::AbortOnDropHandle;

use super::answer::{refused, streams};
use super::net::Net;
use crate::connector::{Bell, Ring};
use crate::errand::Errand;
use crate::http_client;
use crate::limits;
use crate::mcp::Reply;
use crate::mcp::talk::{self, Heard};
use crate::multiplex::Pending;

/// The stream, and who waits for what on it.
#[derive(Debug)]
pub(super) struct Stream {
    net: Arc<Net>,
    to: Uri,
    pending: Arc<Pending>,
    alive: Arc<AtomicBool>,
    _reading: AbortOnDropHandle<()>,
}

impl Stream {
    /// Opens the stream and waits for the address.
    pub(super) async fn open(net: &Arc<Net>, bell: Option<Bell>) -> Result<Self, Fault> {
        let response = net.get(net.headers()).await?;
        if !response.status().is_success() {
            return Err(refused(response.status()));
        }
        if !streams(&response) {
            let message = "the upstream speaks neither Streamable HTTP nor the older HTTP with SSE";
            return Err(Fault::new(Code::UpstreamError, message));
        }
        let mut body = response.into_body();
        let mut events = Events::new(limits::MESSAGE_BYTES_MAX);
        let to =
            tokio::time::timeout(limits::ENDPOINT_TIMEOUT, endpoint(net, &mut body, &mut events))
                .await
                .unwrap_or_else(|_elapsed| Err(no_address("names no address")))?;
        let (pending, alive) = (Arc::<Pending>::default(), Arc::new(AtomicBool::new(true)));
        let ear = Ear {
            net: Arc::clone(net),
            to: to.clone(),
            pending: Arc::clone(&pending),
            alive: Arc::clone(&alive),
            bell,
        };
        let reading = AbortOnDropHandle::new(tokio::spawn(ear.read(body, events)));
        Ok(Self { net: Arc::clone(net), to, pending, alive, _reading: reading })
    }

    pub(super) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// Sends one request and waits for its answer on the stream. Losing this future cancels it.
    pub(super) async fn ask(
        &self,
        errand: Option<&Errand>,
        frame: impl FnOnce(i64) -> Vec<u8>,
    ) -> Result<Reply, Fault> {
        let (net, to) = (Arc::clone(&self.net), self.to.clone());
        let cancel = move |id| {
            net.tell_soon_at(to.clone(), peer::cancelled(id, "the caller gave up"));
        };
        let ticket = self.pending.enter(errand, cancel)?;
        // INVARIANT: `alive` falls before everybody waiting is told, so whoever comes later sees it.
        if !self.is_alive() {
            return Err(gone());
        }
        self.tell(frame(ticket.id)).await?;
        ticket.answer().await
    }

    pub(super) async fn tell(&self, frame: Vec<u8>) -> Result<(), Fault> {
        let response = self.net.post_at(&self.to, frame).await?;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(refused(status)),
        }
    }
}

/// Reads up to the event that says where to send.
async fn endpoint(net: &Net, body: &mut Incoming, events: &mut Events) -> Result<Uri, Fault> {
    while let Some(chunk) = http_client::next_chunk(body).await? {
        let complete =
            events.push(&chunk).map_err(|error| no_address("is unusable").logging(error))?;
        let named = complete.iter().find(|event| event.name.as_deref() == Some("endpoint"));
        if let Some(event) = named {
            return resolve(net.uri(), event.data.trim())
                .ok_or_else(|| no_address("names an address that is not its own"));
        }
    }
    Err(no_address("ends before it names an address"))
}

/// The address relative to the stream's own; only on the same server.
pub(super) fn resolve(base: &Uri, named: &str) -> Option<Uri> {
    let (scheme, authority) = (base.scheme()?, base.authority()?);
    if named.starts_with("//") {
        return None;
    }
    if named.contains("://") {
        let uri: Uri = named.parse().ok()?;
        let same = uri.scheme() == Some(scheme) && uri.authority() == Some(authority);
        return same.then_some(uri);
    }
    let path = if named.starts_with('/') {
        named.to_owned()
    } else {
        let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{folder}/{named}")
    };
    let uri = Uri::builder().scheme(scheme.clone()).authority(authority.clone());
    uri.path_and_query(path).build().ok()
}

struct Ear {
    net: Arc<Net>,
    to: Uri,
    pending: Arc<Pending>,
    alive: Arc<AtomicBool>,
    bell: Option<Bell>,
}

impl Ear {
    async fn read(self, mut body: Incoming, mut events: Events) {
        while let Ok(Some(chunk)) = http_client::next_chunk(&mut body).await {
            let Ok(complete) = events.push(&chunk) else { break };
            for event in complete.iter().filter(|event| !event.data.is_empty()) {
                self.take(event.data.as_bytes());
            }
        }
        // Whoever is told opens the next one at once.
        drop((body, events));
        self.alive.store(false, Ordering::Release);
        self.pending.fail_all();
        if let Some(bell) = &self.bell {
            bell.ring(Ring::Lost);
        }
    }

    fn take(&self, bytes: &[u8]) {
        let Ok(messages) = peer::read(bytes) else {
            return tracing::debug!("noise on an upstream's stream");
        };
        for message in messages {
            let heard = self.pending.deliver(message, self.bell.as_ref());
            if matches!(heard, Heard::Done) {
                continue;
            }
            let (net, to) = (Arc::clone(&self.net), self.to.clone());
            tokio::spawn(async move {
                if let Some((frame, _place)) = talk::reply(heard).await {
                    net.tell_at(&to, frame).await;
                }
            });
        }
    }
}

fn no_address(why: &str) -> Fault {
    Fault::new(Code::UpstreamError, format!("the upstream's stream {why}"))
}

fn gone() -> Fault {
    Fault::new(Code::UpstreamUnavailable, "the upstream's stream has ended")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_only_on_the_same_server() {
        let check = |named: &str, wanted: Option<&str>| {
            let base: Uri = "http://a.example:8000/x/sse".parse().unwrap();
            let got = resolve(&base, named).map(|uri| uri.to_string());
            assert_eq!(got.as_deref(), wanted, "{named}");
        };
        check("/messages/?s=1", Some("http://a.example:8000/messages/?s=1"));
        check("messages?s=1", Some("http://a.example:8000/x/messages?s=1"));
        check("http://a.example:8000/m", Some("http://a.example:8000/m"));
        check("http://b.example:8000/m", None);
        check("https://a.example:8000/m", None);
        check("http://a.example/m", None);
        check("//b.example/m", None);
    }
}
