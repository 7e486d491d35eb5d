//! The stream on which a server tells of changes: opened once, opened again when it breaks.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use model::Fault;
use protocol::sse::Events;

use super::answer::{Desk, Who, streams};
use super::net::Net;
use super::{Conversation, Underway};
use crate::connector::{Bell, Ring};
use crate::http_client;
use crate::limits;
use crate::mcp::{Followed, wish};

/// Listens for as long as the task lives, or until the server says it has nothing to tell.
pub(super) async fn listen(
    net: Arc<Net>,
    conversation: Arc<Conversation>,
    followed: BTreeSet<Followed>,
    ears: Ears,
) {
    let mut pause = limits::LISTEN_PAUSE_MIN;
    let mut so_far = SoFar::default();
    loop {
        match once(&net, &conversation, &followed, &ears, &mut so_far).await {
            Ok(Ended::NotOffered) if so_far.offered => {
                // It has forgotten us, and what it offers may be something else by now.
                return ears.bell.ring(Ring::Lost);
            }
            Ok(Ended::NotOffered) => return tracing::debug!("an upstream tells of no changes"),
            Ok(Ended::Broken { heard: true }) => pause = limits::LISTEN_PAUSE_MIN,
            Ok(Ended::Broken { heard: false }) => {
                pause = Duration::min(pause * 2, limits::LISTEN_PAUSE_MAX);
            }
            Err(_) => {
                so_far.was_away = true;
                pause = Duration::min(pause * 2, limits::LISTEN_PAUSE_MAX);
            }
        }
        tokio::time::sleep(pause).await;
    }
}

/// What became of the tries before.
#[derive(Default)]
struct SoFar {
    /// It has told of changes.
    offered: bool,
    /// Nobody was there the last time.
    was_away: bool,
}

/// Who is told what is heard.
pub(super) struct Ears {
    pub(super) bell: Bell,
    pub(super) underway: Arc<Underway>,
}

enum Ended {
    NotOffered,
    Broken { heard: bool },
}

async fn once(
    net: &Arc<Net>,
    conversation: &Conversation,
    followed: &BTreeSet<Followed>,
    ears: &Ears,
    so_far: &mut SoFar,
) -> Result<Ended, Fault> {
    let modern = conversation.greeting.revision.is_modern();
    let id = net.number();
    let response = if modern {
        net.post(
            &listen_headers(conversation),
            wish(&conversation.greeting, followed).frame(id, conversation.greeting.revision),
        )
        .await?
    } else {
        net.get(&conversation.headers).await?
    };
    if !response.status().is_success() || !streams(&response) {
        return Ok(Ended::NotOffered);
    }
    if std::mem::replace(so_far, SoFar { offered: true, was_away: false }).was_away {
        ears.bell.ring(Ring::Reopened);
    }
    let mut events = Events::new(limits::MESSAGE_BYTES_MAX);
    let mut body = response.into_body();
    let mut heard = false;
    while let Ok(Some(chunk)) = http_client::next_chunk(&mut body).await {
        let Ok(complete) = events.push(&chunk) else { break };
        for event in complete.iter().filter(|event| !event.data.is_empty()) {
            heard = true;
            let underway = ears.underway.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let desk = Desk {
                net,
                headers: &conversation.headers,
                who: Who::AnyOf(&underway),
                bell: Some(&ears.bell),
            };
            match desk.pick(event.data.as_bytes(), id) {
                Ok(None) => {}
                Ok(Some(_ended)) => return Ok(Ended::Broken { heard }),
                Err(fault) => tracing::debug!(%fault, "noise on a stream of changes"),
            }
        }
    }
    Ok(Ended::Broken { heard })
}

fn listen_headers(conversation: &Conversation) -> HeaderMap {
    let mut headers = conversation.headers.clone();
    headers.insert(
        http::HeaderName::from_static(protocol::headers::METHOD),
        HeaderValue::from_static("subscriptions/listen"),
    );
    headers
}
