//! All upstreams of a gate, by name. The one place where a permit becomes a call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use model::{Answer, Code, Fault, LogLevel, UpstreamName};
use policy::Permit;

use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::breaker::Breaker;
use crate::connector::{Bell, Connector, Offer, Ring};
use crate::errand::Errand;
use crate::filter::Filter;
use crate::limits;

/// One upstream with the bounds its operator set.
#[derive(Clone, Debug)]
pub struct Member {
    pub connector: Arc<dyn Connector>,
    /// Overrides the gate's own call timeout.
    pub timeout: Option<Duration>,
    /// Overrides both, by the upstream's own names of tools.
    pub tool_timeouts: BTreeMap<String, Duration>,
    pub filter: Filter,
    pub breaker: Arc<Breaker>,
}

impl Member {
    pub fn new(connector: Arc<dyn Connector>) -> Self {
        Self {
            connector,
            timeout: None,
            tool_timeouts: BTreeMap::new(),
            filter: Filter::default(),
            breaker: Arc::default(),
        }
    }

    /// How long a call of this tool may take, where that is not as for all upstreams.
    pub fn timeout_of(&self, tool: &str) -> Option<Duration> {
        self.tool_timeouts.get(tool).copied().or(self.timeout)
    }
}

/// Questions under way to several upstreams.
pub type Asking = JoinSet<(UpstreamName, Result<Offer, Fault>)>;

#[derive(Clone, Debug, Default)]
pub struct Upstreams {
    members: BTreeMap<UpstreamName, Member>,
}

impl Upstreams {
    pub fn new(members: impl IntoIterator<Item = (UpstreamName, Member)>) -> Self {
        Self { members: members.into_iter().collect() }
    }

    pub fn names(&self) -> impl Iterator<Item = &UpstreamName> {
        self.members.keys()
    }

    pub fn member(&self, name: &UpstreamName) -> Option<&Member> {
        self.members.get(name)
    }

    /// Asks every upstream for what it has, all at once; each answers or fails on its own.
    pub async fn list(&self) -> BTreeMap<UpstreamName, Result<Offer, Fault>> {
        let mut asking = self.ask_each(self.members.keys());
        let mut lists = BTreeMap::new();
        while let Some(done) = asking.join_next().await {
            match done {
                Ok((name, list)) => drop(lists.insert(name, list)),
                Err(error) => tracing::error!(%error, "listing an upstream's tools broke off"),
            }
        }
        lists
    }

    /// The same, but whoever has not answered by then is no longer waited for once somebody has.
    pub async fn list_within(
        &self,
        patience: Duration,
    ) -> BTreeMap<UpstreamName, Result<Offer, Fault>> {
        let began = Instant::now();
        let mut asking = self.ask_each(self.members.keys());
        let mut lists: BTreeMap<UpstreamName, Result<Offer, Fault>> = BTreeMap::new();
        loop {
            let nothing = !lists.values().any(Result::is_ok);
            let until = if nothing { limits::START_TIMEOUT + patience } else { patience };
            match tokio::time::timeout_at(began + until, asking.join_next()).await {
                Ok(None) | Err(_) => break,
                Ok(Some(Ok((name, list)))) => drop(lists.insert(name, list)),
                Ok(Some(Err(error))) => tracing::error!(%error, "asking an upstream broke off"),
            }
        }
        for name in self.members.keys() {
            lists.entry(name.clone()).or_insert_with(|| Err(too_slow(patience)));
        }
        lists
    }

    /// What each of them lists, nothing included: for people who ask what it lists.
    pub async fn list_bare(&self) -> BTreeMap<UpstreamName, Result<Offer, Fault>> {
        let mut asking = JoinSet::new();
        for (name, member) in &self.members {
            let (name, member) = (name.clone(), member.clone());
            asking
                .spawn(async move { (name, list_in_time(&member).await.map(|(offer, _)| offer)) });
        }
        asking.join_all().await.into_iter().collect()
    }

    /// Asks some of them, all at once, for what they have; their answers as they come.
    pub fn ask_each<'a>(&self, names: impl Iterator<Item = &'a UpstreamName>) -> Asking {
        let mut asking = JoinSet::new();
        for name in names {
            let (upstreams, name) = (self.clone(), name.clone());
            asking.spawn(async move {
                let list = upstreams.list_one(&name).await;
                (name, list)
            });
        }
        asking
    }

    /// Asks one upstream for what it has.
    pub async fn list_one(&self, name: &UpstreamName) -> Result<Offer, Fault> {
        let member = self.members.get(name).ok_or_else(not_connected)?;
        let list = list_in_time(member).await;
        let list = list.and_then(|(offer, listed)| something(&offer, listed).map(|()| offer));
        if list.is_ok() {
            member.breaker.answered();
        }
        list
    }

    /// Tells `hear` of every change from now on, with the name of the upstream.
    pub fn attach(&self, hear: &Arc<dyn Fn(UpstreamName, Ring) + Send + Sync>) {
        for (name, member) in &self.members {
            let (name, hear) = (name.clone(), Arc::clone(hear));
            member.connector.attach(Bell::new(move |ring| hear(name.clone(), ring)));
        }
    }

    /// Makes the call, within the errand's time and until its caller gives up.
    pub async fn call(&self, permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
        let member = self.members.get(permit.upstream()).ok_or_else(not_connected)?;
        errand.bound(member.breaker.guard(member.connector.call(permit, errand))).await
    }

    /// Does what the permit allows where that is no call of a tool.
    pub async fn ask(&self, permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
        let member = self.members.get(permit.upstream()).ok_or_else(not_connected)?;
        errand.bound(member.breaker.guard(member.connector.ask(permit, errand))).await
    }

    /// Asks for news of the permit's resource or of the owner's task, or for no more of it.
    pub async fn follow(&self, permit: &Permit, owner: &str, wanted: bool) -> Result<(), Fault> {
        let member = self.members.get(permit.upstream()).ok_or_else(not_connected)?;
        Errand::quiet().bound(member.connector.follow(permit, owner, wanted)).await
    }

    /// Tells these of them which log messages are wanted.
    pub async fn set_log_level(&self, level: LogLevel, of: &BTreeSet<UpstreamName>) {
        for (_, member) in self.members.iter().filter(|(name, _)| of.contains(*name)) {
            let told = member.connector.set_log_level(level);
            if tokio::time::timeout(limits::STOP_GRACE, told).await.is_err() {
                tracing::debug!("an upstream did not take a log level in time");
            }
        }
    }

    /// Closes all of them at once.
    pub async fn close(&self) {
        let mut closing = JoinSet::new();
        for member in self.members.values() {
            let connector = Arc::clone(&member.connector);
            closing.spawn(async move { connector.close().await });
        }
        closing.join_all().await;
    }
}

fn too_slow(patience: Duration) -> Fault {
    let message = format!("it has not answered within {patience:?}; see `startup.wait_ms`");
    Fault::new(Code::UpstreamTimeout, message)
}

fn not_connected() -> Fault {
    Fault::new(Code::UpstreamUnavailable, "this upstream is not connected")
}

/// What it offers, and how many tools it listed before the filter.
async fn list_in_time(member: &Member) -> Result<(Offer, usize), Fault> {
    let listing = tokio::time::timeout(limits::START_TIMEOUT, member.connector.offer());
    let mut offer = listing.await.unwrap_or_else(|_elapsed| {
        let seconds = limits::START_TIMEOUT.as_secs();
        Err(Fault::new(Code::UpstreamTimeout, format!("no list of tools within {seconds} s")))
    })?;
    let listed = offer.tools.len();
    offer.tools = member.filter.apply(offer.tools);
    Ok((offer, listed))
}

/// An upstream that offers nothing is a mistake somewhere, and its operator should hear of it. What it
/// offered before stays, marked stale and pinned as it was: had it gone for a moment's mistake, all of
/// it would have to be accepted anew.
fn something(offer: &Offer, listed: usize) -> Result<(), Fault> {
    let others = [&offer.resources, &offer.templates, &offer.prompts];
    if !offer.tools.is_empty() || others.iter().any(|list| !list.is_empty()) {
        return Ok(());
    }
    Err(Fault::new(
        Code::UpstreamError,
        match listed {
            0 => "it lists no tools, resources or prompts".to_owned(),
            _ => format!("`include` and `exclude` leave none of its {listed} tools"),
        },
    ))
}
