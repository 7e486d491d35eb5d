//! Telling clients of changes: as one long answer, or unasked, as their revision has it.

use gateway::{Change, Gateway};
use model::Listed;
use protocol::decode::Interest;
use protocol::tasks::{self, SUBSCRIPTION};
use protocol::{Id, Revision, encode};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast::error::RecvError;

use super::{Carrier, Mcp, Outlet};
use crate::limits;
use crate::reply::Said;
use crate::sessions::Visit;

impl Mcp {
    /// 2026-07-28: says what will be told, then tells it until the client has heard enough.
    pub(super) async fn listen(
        &self,
        id: &Id,
        visit: &Visit,
        wanted: Interest,
        outlet: &Outlet<'_>,
    ) -> Said {
        let mut changes = self.gateway.changes();
        let honoured = self.honour(visit, wanted).await;
        let meta = json!({SUBSCRIPTION: id});
        let about = honoured_json(&honoured);
        let ack = json!({"notifications": about, "_meta": meta});
        let mut open = outlet.frames.send(encode::notification(ACKNOWLEDGED, &ack)).await.is_ok();
        while open {
            // Losing `recv` loses nothing: it is cancel safe.
            let change = tokio::select! {
                biased;
                () = outlet.cancel.cancelled() => break,
                () = outlet.stop.cancelled() => break,
                change = changes.recv() => change,
            };
            let frames = match change {
                Ok(change) if !self.gateway.concerns(&visit.caller, &change) => Vec::new(),
                Ok(change) => {
                    frame(visit.revision, &change, &honoured, &meta).into_iter().collect()
                }
                // Whoever missed changes is told that everything may have changed.
                Err(RecvError::Lagged(_)) => all_lists(visit.revision, &honoured, &meta),
                Err(RecvError::Closed) => break,
            };
            // A client that does not read is not waited for.
            open = frames.into_iter().all(|frame| outlet.frames.try_send(frame).is_ok());
        }
        if outlet.carrier == Carrier::Shared && !outlet.cancel.is_cancelled() {
            // Nothing but words can say here that there will be no more.
            let over = encode::notification(CANCELLED, &json!({"requestId": id}));
            super::deliver(outlet.frames, over).await;
        }
        for uri in &honoured.uris {
            self.unfollow(visit, uri).await;
        }
        for id in &honoured.task_ids {
            if let Err(fault) = self.gateway.follow_task(&visit.caller, id, false).await {
                tracing::debug!(%fault, "an upstream was not told that nobody follows any more");
            }
        }
        let mut result = Map::new();
        result.insert("_meta".to_owned(), meta);
        encode::result(id, visit.revision, &self.server, result).into()
    }

    /// Up to 2025-11-25: the frames that tell this client of what was heard, as far as it is its
    /// concern; none when nothing will be heard any more.
    pub(super) fn unasked(
        &self,
        visit: &Visit,
        heard: Result<Change, RecvError>,
    ) -> Option<Vec<Vec<u8>>> {
        match heard {
            Ok(Change::Visited { account, elicitation_id }) => {
                Some(visited(visit, &account, &elicitation_id).into_iter().collect())
            }
            Ok(change) if !self.gateway.concerns(&visit.caller, &change) => Some(Vec::new()),
            Ok(change) => {
                let honoured = self.promised(visit, change.task_id());
                Some(frame(visit.revision, &change, &honoured, &Value::Null).into_iter().collect())
            }
            // Whoever missed changes is told that everything may have changed.
            Err(RecvError::Lagged(_)) => {
                Some(all_lists(visit.revision, &self.promised(visit, None), &Value::Null))
            }
            Err(RecvError::Closed) => None,
        }
    }

    /// What a client may count on hearing of, and the task of its own that is in question.
    fn promised(&self, visit: &Visit, task: Option<&str>) -> Interest {
        let promised = visit.memory.promised();
        let capabilities = promised.unwrap_or_else(|| self.gateway.capabilities(false));
        Interest {
            tools: declares(&capabilities, "tools"),
            prompts: declares(&capabilities, "prompts"),
            resources: declares(&capabilities, "resources"),
            uris: visit.memory.followed(),
            task_ids: task.map(str::to_owned).into_iter().collect(),
        }
    }

    async fn honour(&self, visit: &Visit, mut wanted: Interest) -> Interest {
        let capabilities = self.gateway.capabilities(true);
        if !self.gateway.passes_all() {
            wanted = Interest { tools: wanted.tools, ..Interest::default() };
        }
        let mut uris = Vec::new();
        for uri in first_of(wanted.uris) {
            match self.gateway.follow(&visit.caller, &uri, true).await {
                Ok(()) => uris.push(uri),
                Err(fault) => tracing::debug!(%fault, "a resource cannot be followed"),
            }
        }
        let mut task_ids = Vec::new();
        for id in first_of(wanted.task_ids) {
            match Box::pin(self.gateway.follow_task(&visit.caller, &id, true)).await {
                Ok(()) => task_ids.push(id),
                Err(fault) => tracing::debug!(%fault, "a task cannot be followed"),
            }
        }
        Interest {
            tools: wanted.tools && declares(&capabilities, "tools"),
            prompts: wanted.prompts && declares(&capabilities, "prompts"),
            resources: wanted.resources && declares(&capabilities, "resources"),
            uris,
            task_ids,
        }
    }

    async fn unfollow(&self, visit: &Visit, uri: &str) {
        let gateway: &Gateway = &self.gateway;
        if let Err(fault) = gateway.follow(&visit.caller, uri, false).await {
            tracing::debug!(%fault, "an upstream was not told that nobody follows any more");
        }
    }
}

/// As many as one client may listen for; the rest is not among what is acknowledged.
fn first_of(wanted: Vec<String>) -> impl Iterator<Item = String> {
    wanted.into_iter().take(limits::FOLLOWED_PER_CLIENT_MAX)
}

/// Only the client whose person was sent there hears that they have been there.
fn visited(visit: &Visit, account: &str, elicitation_id: &str) -> Option<Vec<u8>> {
    let theirs = visit.caller.principal.account() == account;
    let told = theirs && visit.memory.came_back(elicitation_id);
    told.then(|| encode::notification(VISITED, &json!({"elicitationId": elicitation_id})))
}

const VISITED: &str = "notifications/elicitation/complete";
const CANCELLED: &str = "notifications/cancelled";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

fn declares(capabilities: &Map<String, Value>, feature: &str) -> bool {
    let feature = capabilities.get(feature).and_then(|feature| feature.get("listChanged"));
    feature.and_then(Value::as_bool).unwrap_or_default()
}

fn honoured_json(honoured: &Interest) -> Value {
    let mut about = Map::new();
    for (key, told) in [
        ("toolsListChanged", honoured.tools),
        ("promptsListChanged", honoured.prompts),
        ("resourcesListChanged", honoured.resources),
    ] {
        if told {
            about.insert(key.to_owned(), true.into());
        }
    }
    if !honoured.uris.is_empty() {
        about.insert("resourceSubscriptions".to_owned(), json!(honoured.uris));
    }
    if !honoured.task_ids.is_empty() {
        about.insert("taskIds".to_owned(), json!(honoured.task_ids));
    }
    about.into()
}

/// The notification of a change for whoever listens for this, marked with `meta` where it belongs
/// to a subscription.
fn frame(
    revision: Revision,
    change: &Change,
    honoured: &Interest,
    meta: &Value,
) -> Option<Vec<u8>> {
    let (method, mut params) = match change {
        Change::List(Listed::Tools) if honoured.tools => (TOOLS, Map::new()),
        Change::List(Listed::Prompts) if honoured.prompts => (PROMPTS, Map::new()),
        Change::List(Listed::Resources | Listed::Templates) if honoured.resources => {
            (RESOURCES, Map::new())
        }
        Change::Resource { uri } if honoured.uris.contains(uri) => {
            (UPDATED, Map::from_iter([("uri".to_owned(), uri.clone().into())]))
        }
        Change::Task { params, .. } => {
            let id = change.task_id()?;
            honoured.task_ids.iter().any(|mine| mine == id).then_some(())?;
            tasks::news(revision, params.get())
        }
        Change::List(_) | Change::Resource { .. } | Change::Visited { .. } => return None,
    };
    if !meta.is_null() {
        params.insert("_meta".to_owned(), meta.clone());
    }
    Some(encode::notification(method, &params))
}

const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";
const UPDATED: &str = "notifications/resources/updated";

fn all_lists(revision: Revision, honoured: &Interest, meta: &Value) -> Vec<Vec<u8>> {
    let lists = [Listed::Tools, Listed::Prompts, Listed::Resources].map(Change::List);
    lists.iter().filter_map(|change| frame(revision, change, honoured, meta)).collect()
}
