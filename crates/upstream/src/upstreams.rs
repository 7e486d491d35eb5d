//! All upstreams of a gate, by name. The one place where a permit becomes a call.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use model::{Answer, Code, Fault, UpstreamName};
use policy::Permit;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::connector::Connector;
use crate::errand::Errand;
use crate::filter::Filter;
use crate::limits;

/// One upstream with the bounds its operator set.
#[derive(Clone, Debug)]
pub struct Member {
    pub connector: Arc<dyn Connector>,
    /// Overrides the gate's own call timeout.
    pub timeout: Option<Duration>,
    pub filter: Filter,
}

impl Member {
    pub fn new(connector: Arc<dyn Connector>) -> Self {
        Self { connector, timeout: None, filter: Filter::default() }
    }
}

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

    /// Asks every upstream for its tools, all at once; each answers or fails on its own.
    pub async fn list(&self) -> BTreeMap<UpstreamName, Result<Vec<Value>, Fault>> {
        let mut asking = JoinSet::new();
        for (name, member) in &self.members {
            let (name, member) = (name.clone(), member.clone());
            asking.spawn(async move { (name, list_in_time(&member).await) });
        }
        let mut lists = BTreeMap::new();
        while let Some(done) = asking.join_next().await {
            match done {
                Ok((name, list)) => drop(lists.insert(name, list)),
                Err(error) => tracing::error!(%error, "listing an upstream's tools broke off"),
            }
        }
        lists
    }

    /// Makes the call, within the errand's time and until its caller gives up.
    pub async fn call(&self, permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
        let Some(member) = self.members.get(permit.upstream()) else {
            return Err(Fault::new(Code::UpstreamUnavailable, "this upstream is not connected"));
        };
        errand.bound(member.connector.call(permit, errand)).await
    }

    pub async fn close(&self) {
        for member in self.members.values() {
            member.connector.close().await;
        }
    }
}

async fn list_in_time(member: &Member) -> Result<Vec<Value>, Fault> {
    let listing = tokio::time::timeout(limits::START_TIMEOUT, member.connector.list());
    let mut tools = listing.await.unwrap_or_else(|_elapsed| {
        let seconds = limits::START_TIMEOUT.as_secs();
        Err(Fault::new(Code::UpstreamTimeout, format!("no list of tools within {seconds} s")))
    })?;
    tools.retain(|definition| member.filter.admits(definition));
    Ok(tools)
}
