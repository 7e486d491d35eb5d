//! What changes while the server runs, and who hears of it: a session over its own stream, a
//! listener since 2026-07-28 over the request it keeps open.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{SubscriptionContext, SubscriptionSendError};
use rmcp::{Peer, RoleServer, ServiceError};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, Receiver};

pub(super) const WATCHED_URI: &str = "test://watched-resource";

/// News kept for a slow listener.
const NEWS_MAX: usize = 64;

#[derive(Debug, Clone, Copy)]
pub(super) enum Change {
    Tools,
    Prompts,
    Resources,
    WatchedResource,
}

/// How often each list changed; the number shows in the list, so that a new list is a new list.
pub(super) struct Changes {
    pub(super) tools: AtomicU32,
    pub(super) prompts: AtomicU32,
    pub(super) resources: AtomicU32,
    news: broadcast::Sender<Change>,
}

impl Default for Changes {
    fn default() -> Self {
        let (news, _) = broadcast::channel(NEWS_MAX);
        Self { tools: 0.into(), prompts: 0.into(), resources: 0.into(), news }
    }
}

impl Changes {
    pub(super) fn follow(&self) -> Receiver<Change> {
        self.news.subscribe()
    }

    pub(super) fn make(&self, change: Change) {
        match change {
            Change::Tools => Some(&self.tools),
            Change::Prompts => Some(&self.prompts),
            Change::Resources => Some(&self.resources),
            Change::WatchedResource => None,
        }
        .map(|count| count.fetch_add(1, Ordering::Relaxed));
        // Nobody listening is no error.
        drop(self.news.send(change));
    }
}

/// The resources that one session wants to hear of.
#[derive(Default)]
pub(super) struct Watched(Mutex<BTreeSet<String>>);

impl Watched {
    pub(super) fn add(&self, uri: String) {
        self.0.lock().expect("no panic while watching").insert(uri);
    }

    pub(super) fn remove(&self, uri: &str) {
        self.0.lock().expect("no panic while watching").remove(uri);
    }

    fn contains(&self, uri: &str) -> bool {
        self.0.lock().expect("no panic while watching").contains(uri)
    }
}

/// Tells a session every change until it ends.
pub(super) async fn tell_session(
    peer: Peer<RoleServer>,
    mut news: Receiver<Change>,
    watched: std::sync::Arc<Watched>,
) {
    while let Some(change) = next(&mut news).await {
        let told: Result<(), ServiceError> = match change {
            Change::Tools => peer.notify_tool_list_changed().await,
            Change::Prompts => peer.notify_prompt_list_changed().await,
            Change::Resources => peer.notify_resource_list_changed().await,
            Change::WatchedResource if watched.contains(WATCHED_URI) => {
                let update = ResourceUpdatedNotificationParam::new(WATCHED_URI);
                peer.notify_resource_updated(update).await
            }
            Change::WatchedResource => Ok(()),
        };
        if told.is_err() {
            break;
        }
    }
}

/// Tells a listener the changes that it asked for until it goes.
pub(super) async fn tell_listener(cx: &SubscriptionContext, mut news: Receiver<Change>) {
    let sink = cx.sink();
    loop {
        let change = tokio::select! {
            () = cx.cancelled() => break,
            change = next(&mut news) => change,
        };
        let told = match change {
            None => break,
            Some(Change::Tools) => sink.notify_tool_list_changed().await,
            Some(Change::Prompts) => sink.notify_prompt_list_changed().await,
            Some(Change::Resources) => sink.notify_resource_list_changed().await,
            Some(Change::WatchedResource) => sink.notify_resource_updated(WATCHED_URI).await,
        };
        match told {
            Ok(()) | Err(SubscriptionSendError::NotificationNotAccepted(_)) => {}
            Err(_) => break,
        }
    }
}

async fn next(news: &mut Receiver<Change>) -> Option<Change> {
    loop {
        match news.recv().await {
            Ok(change) => return Some(change),
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return None,
        }
    }
}
