//! What changes while the gate runs: lists, followed resources, tasks. Heard from upstreams, told to
//! whoever listens.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use catalog::Entry;
use context::Cleared;
use model::limits::{CHANGES_KEPT, RINGS_KEPT};
use model::{
    CallId, Caller, Code, DecisionId, Fault, Listed, LogLevel, Method, TaskVerb, UpstreamName,
};
use policy::{Facts, Permit, Way};
use serde_json::{Map, Value};
use tokio::sync::{broadcast, mpsc};
use upstream::Ring;

use crate::browse::visible;
use crate::doubt::Doubts;
use crate::gateway::Gateway;
use crate::tasks;

/// Something a client may want to know.
#[derive(Clone, Debug)]
pub enum Change {
    List(Listed),
    Resource {
        uri: String,
    },
    /// In the words of the upstream's revision; with an owner, that one's task alone is meant.
    Task {
        upstream: UpstreamName,
        owner: Option<String>,
        params: Arc<Cleared<Map<String, Value>>>,
    },
    /// Somebody of this account has been where they were sent.
    Visited {
        account: String,
        elicitation_id: String,
    },
}

impl Change {
    /// The upstream's name for the task it is about.
    pub fn task_id(&self) -> Option<&str> {
        let Self::Task { params, .. } = self else { return None };
        params.get().get("taskId").and_then(Value::as_str)
    }
}

#[derive(Debug)]
pub(crate) struct Changes {
    told: broadcast::Sender<Change>,
    /// What each upstream rang for, until [`Gateway::watch`] takes it. One that rings without end
    /// drowns only itself, since little of that is told on.
    rings: std::sync::Mutex<Vec<(UpstreamName, mpsc::Receiver<Ring>)>>,
    ringing: BTreeMap<UpstreamName, mpsc::Sender<Ring>>,
    doubts: Doubts,
    followed: std::sync::Mutex<BTreeMap<Followed, Arc<Following>>>,
}

/// What somebody wants to hear of. A resource is the same for all; a task is somebody's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Followed {
    Resource(String),
    Task { account: String, id: String },
}

/// One of them, while somebody follows it: the permit under which, and how many do. Its lock is
/// held while the upstream is asked, so that an upstream which does not answer stops nobody else.
type Following = tokio::sync::Mutex<Option<(Permit, usize)>>;

impl Changes {
    pub(crate) fn new<'a>(
        upstreams: impl Iterator<Item = &'a UpstreamName>,
        doubts: Doubts,
    ) -> Self {
        let (mut ringing, mut rings) = (BTreeMap::new(), Vec::new());
        for name in upstreams {
            let (sender, receiver) = mpsc::channel(RINGS_KEPT);
            ringing.insert(name.clone(), sender);
            rings.push((name.clone(), receiver));
        }
        Self {
            told: broadcast::Sender::new(CHANGES_KEPT),
            rings: std::sync::Mutex::new(rings),
            ringing,
            doubts,
            followed: std::sync::Mutex::default(),
        }
    }

    /// Where upstreams ring.
    pub(crate) fn bell(&self) -> Arc<dyn Fn(UpstreamName, Ring) + Send + Sync> {
        let (ringing, doubts) = (self.ringing.clone(), self.doubts.clone());
        Arc::new(move |upstream, ring| {
            doubts.hear(&upstream, &ring);
            let taken = ringing.get(&upstream).is_some_and(|rings| rings.try_send(ring).is_ok());
            if !taken {
                tracing::debug!("a change was not taken in: too many at once, or after the end");
            }
        })
    }

    fn following(&self, it: &Followed) -> Arc<Following> {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(followed.entry(it.clone()).or_default())
    }

    /// Forgets what nobody follows, unless somebody is about to.
    fn let_go(&self, it: &Followed, following: Arc<Following>) {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        let unfollowed = following.try_lock().is_ok_and(|followed| followed.is_none());
        drop(following);
        // INVARIANT: whoever waits for the lock holds it as well, and took it from this map.
        if unfollowed && followed.get(it).is_some_and(|kept| Arc::strong_count(kept) == 1) {
            followed.remove(it);
        }
    }

    pub(crate) fn take_rings(&self) -> Vec<(UpstreamName, mpsc::Receiver<Ring>)> {
        std::mem::take(&mut *self.rings.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Gateway {
    /// Tells of changes from now on.
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.told.subscribe()
    }

    pub(crate) fn tell(&self, change: Change) {
        if self.changes.told.send(change).is_err() {
            tracing::trace!("a change nobody listens for");
        }
    }

    /// Follows a resource for one more listener, or for one less.
    pub async fn follow(&self, caller: &Caller, uri: &str, wanted: bool) -> Result<(), Fault> {
        self.follow_it(caller, Followed::Resource(uri.to_owned()), wanted).await
    }

    /// The same for a task of this caller's.
    pub async fn follow_task(&self, caller: &Caller, id: &str, wanted: bool) -> Result<(), Fault> {
        tasks::meet(self, caller, id).await?;
        let account = caller.principal.account();
        self.follow_it(caller, Followed::Task { account, id: id.to_owned() }, wanted).await
    }

    async fn follow_it(&self, caller: &Caller, it: Followed, wanted: bool) -> Result<(), Fault> {
        let permit = match &it {
            _ if !wanted => None,
            Followed::Resource(uri) => Some(self.read_permit(caller, uri)?),
            Followed::Task { id, .. } => Some(self.task_permit(caller, id)?),
        };
        let owner = caller.principal.account();
        let following = self.changes.following(&it);
        let mut followed = following.lock().await;
        let told = self.follow_one(&mut followed, permit, &owner).await;
        drop(followed);
        self.changes.let_go(&it, following);
        told
    }

    /// With a permit for one more, without one for one less.
    async fn follow_one(
        &self,
        followed: &mut Option<(Permit, usize)>,
        permit: Option<Permit>,
        owner: &str,
    ) -> Result<(), Fault> {
        match (followed.as_mut(), permit) {
            (Some((_, count)), Some(_)) => *count += 1,
            (Some((_, count)), None) if *count > 1 => *count -= 1,
            (None, Some(permit)) => {
                if !matches!(permit.method(), Method::Task(_)) {
                    self.tells_of_changes(&permit.key().upstream)?;
                }
                self.upstreams.follow(&permit, owner, true).await?;
                *followed = Some((permit, 1));
            }
            (Some(_), None) => {
                // A gate that closes ends its conversations anyway.
                let last = followed.take().filter(|_| !self.stopping().is_cancelled());
                if let Some((permit, _)) = last {
                    self.upstreams.follow(&permit, owner, false).await?;
                }
            }
            (None, None) => {}
        }
        Ok(())
    }

    /// An upstream is asked for news only if it says that it has them, and its manifest does not say
    /// otherwise.
    fn tells_of_changes(&self, upstream: &UpstreamName) -> Result<(), Fault> {
        let subscribe = |features: &Map<String, Value>| {
            features.get("resources").and_then(|resources| resources.get("subscribe")?.as_bool())
        };
        let catalogue = self.catalogue();
        let stand = catalogue.shelf().upstreams().get(upstream);
        let said = stand.and_then(|stand| subscribe(&stand.capabilities)) == Some(true);
        let declared = self.manifest(upstream).and_then(|it| subscribe(&it.server_features));
        if said && declared != Some(false) {
            return Ok(());
        }
        let message = format!("`{upstream}` does not tell of changes to its resources");
        Err(Fault::new(Code::MethodNotFound, message))
    }

    /// Asks upstreams for log messages down to this level. What is not wanted by a client is left
    /// out on its way there.
    ///
    /// An upstream of which this caller sees nothing hears nothing of it.
    pub async fn set_log_level(&self, caller: &Caller, level: LogLevel) {
        self.upstreams.set_log_level(level, &self.seen_upstreams(caller)).await;
    }

    /// The upstreams that have something this caller may know of.
    pub(crate) fn seen_upstreams(&self, caller: &Caller) -> BTreeSet<UpstreamName> {
        let catalogue = self.catalogue();
        let shelf = catalogue.shelf();
        let lists = [shelf.prompts(), shelf.resources(), shelf.templates(), catalogue.entries()];
        let mut seen = BTreeSet::new();
        let rules = self.rules();
        let sees = self.viewing(&rules, caller);
        for entry in lists.into_iter().flatten() {
            let upstream = &entry.item.key.upstream;
            if !seen.contains(upstream) && sees(entry) {
                seen.insert(upstream.clone());
            }
        }
        seen
    }

    /// Whether this caller may hear of a resource.
    pub fn may_hear(&self, caller: &Caller, uri: &str) -> bool {
        let found = self.catalogue().shelf().resource(uri);
        found.is_some_and(|entry| entry.quarantined().is_none() && visible(self, caller, &entry))
    }

    /// Whether a change is this caller's to hear of. Lists and resources are the same for all; a
    /// task is its owner's, as far as this gate has met it, and nobody's who has another of that name.
    pub fn concerns(&self, caller: &Caller, change: &Change) -> bool {
        let Change::Task { upstream, owner, .. } = change else { return true };
        let home = change.task_id().and_then(|id| self.tasks.home(id, caller));
        home.is_some_and(|home| home.tool.upstream == *upstream)
            && owner.as_ref().is_none_or(|owner| *owner == caller.principal.account())
    }

    /// Whether somebody follows this resource, and follows it at this upstream.
    pub(crate) fn is_followed(&self, upstream: &UpstreamName, uri: &str) -> bool {
        let it = Followed::Resource(uri.to_owned());
        let followed = self.changes.followed.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(following) = followed.get(&it) else { return false };
        // Looked at where nobody else can let it go: who holds it would keep it from being forgotten.
        if let Ok(known) = following.try_lock() {
            return known.as_ref().is_some_and(|(permit, _)| permit.key().upstream == *upstream);
        }
        drop(followed);
        // Somebody is about to, or about to stop.
        let entry = self.catalogue().shelf().resource(uri);
        entry.is_some_and(|entry| entry.item.key.upstream == *upstream)
    }

    fn read_permit(&self, caller: &Caller, uri: &str) -> Result<Permit, Fault> {
        let unknown = || Fault::new(Code::ResourceNotFound, "unknown resource").at(uri);
        let entry = self.catalogue().shelf().resource(uri).ok_or_else(unknown)?;
        let params = Map::from_iter([("uri".to_owned(), uri.into())]);
        self.permit(caller, &entry, &Method::ReadResource, &params).ok_or_else(unknown)
    }

    fn task_permit(&self, caller: &Caller, id: &str) -> Result<Permit, Fault> {
        let unknown = || Fault::new(Code::TaskNotFound, "unknown task").at(id);
        let tool = self.tasks.home(id, caller).ok_or_else(unknown)?.tool;
        let catalogue = self.catalogue();
        let entry = catalogue.entries().iter().find(|entry| entry.item.key == tool);
        let params = Map::from_iter([("taskId".to_owned(), id.into())]);
        let method = Method::Task(TaskVerb::Get);
        self.permit(caller, entry.ok_or_else(unknown)?, &method, &params).ok_or_else(unknown)
    }

    /// Leave to hear of something, if this caller may see it and nobody need be asked.
    fn permit(
        &self,
        caller: &Caller,
        entry: &Entry,
        method: &Method,
        params: &Map<String, Value>,
    ) -> Option<Permit> {
        let away = self.check_origin(caller, &entry.item.key.upstream).is_err();
        if away || entry.quarantined().is_some() || !visible(self, caller, entry) {
            return None;
        }
        let now = self.clock.now();
        let facts = Facts {
            call_id: &CallId::fresh(now),
            decision_id: &DecisionId::fresh(now),
            caller,
            method,
            item: &entry.item,
            capability: None,
            declared: entry.declared,
            args: &Value::Null,
            written: None,
            params,
            intent: None,
            spent: None,
            at: now,
        };
        match policy::decide(&self.rules(), &facts).way {
            Way::Go(permit) => Some(permit),
            Way::Ask(_) | Way::No(_) => None,
        }
    }
}
