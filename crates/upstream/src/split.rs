//! One server for each caller: its own process or conversation, so that what one caller did there is
//! nothing to another. Listing is done by one that is nobody's.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use model::call::ServerLineage;
use model::{Answer, Code, Fault, LogLevel, Method};
use policy::Permit;
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio::task::JoinSet;
use tokio_util::task::TaskTracker;

use crate::connector::{Bell, Connector, Offer, Ring};
use crate::errand::Errand;
use crate::limits;

type Make = Box<dyn Fn() -> Result<Arc<dyn Connector>, Fault> + Send + Sync>;

/// Connectors to the same server, one for each owner of calls.
pub struct Split {
    make: Make,
    common: Arc<dyn Connector>,
    own: Mutex<Owners>,
    owners_max: usize,
    bell: Mutex<Option<Bell>>,
    /// Those that are being closed to make room.
    leaving: TaskTracker,
}

#[derive(Default)]
struct Owners {
    all: BTreeMap<String, Arc<Own>>,
    /// How often any of them was asked for.
    uses: u64,
}

/// INVARIANT: whoever has something under way holds it, so one that only the map holds is at rest.
struct Own {
    connector: Arc<dyn Connector>,
    /// What it knows of its tools, it knows from listing them.
    listed: OnceCell<()>,
    /// Which of the uses was its last.
    used: AtomicU64,
}

impl Split {
    pub fn new(
        make: impl Fn() -> Result<Arc<dyn Connector>, Fault> + Send + Sync + 'static,
    ) -> Result<Self, Fault> {
        Ok(Self {
            common: make()?,
            make: Box::new(make),
            own: Mutex::default(),
            owners_max: limits::OWNERS_MAX,
            bell: Mutex::default(),
            leaving: TaskTracker::new(),
        })
    }

    /// The connector of one owner, made when first asked for. It is not closed while it is held.
    async fn of(&self, owner: &str) -> Result<Arc<Own>, Fault> {
        let own = self.find(owner)?;
        let listing = || async { own.connector.offer().await.map(drop) };
        own.listed.get_or_try_init(listing).await?;
        Ok(own)
    }

    fn find(&self, owner: &str) -> Result<Arc<Own>, Fault> {
        let mut owners = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        owners.uses += 1;
        let used = owners.uses;
        if let Some(own) = owners.all.get(owner) {
            own.used.store(used, Ordering::Relaxed);
            return Ok(Arc::clone(own));
        }
        if owners.all.len() >= self.owners_max {
            self.make_room(&mut owners)?;
        }
        let connector = (self.make)()?;
        if let Some(bell) = self.bell.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            connector.attach(of_owner(bell, Some(owner.to_owned())));
        }
        let own = Arc::new(Own { connector, listed: OnceCell::new(), used: AtomicU64::new(used) });
        owners.all.insert(owner.to_owned(), Arc::clone(&own));
        Ok(own)
    }

    /// Closes the one that was not used for longest, if any is at rest.
    fn make_room(&self, owners: &mut Owners) -> Result<(), Fault> {
        let at_rest = owners.all.iter().filter(|(_, own)| Arc::strong_count(own) == 1);
        let longest = at_rest.min_by_key(|(_, own)| own.used.load(Ordering::Relaxed));
        let longest = longest.map(|(owner, _)| owner.clone());
        let Some(own) = longest.and_then(|owner| owners.all.remove(&owner)) else {
            let message = "too many callers have this upstream to themselves";
            return Err(Fault::new(Code::RateLimited, message));
        };
        self.leaving.spawn(async move { own.connector.close().await });
        Ok(())
    }

    fn all(&self) -> Vec<Arc<dyn Connector>> {
        let owners = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let own = owners.all.values();
        own.map(|own| &own.connector).chain([&self.common]).map(Arc::clone).collect()
    }
}

/// What one owner's server tells of tasks and visits is that owner's; the one that is nobody's has none.
fn of_owner(bell: Bell, owner: Option<String>) -> Bell {
    Bell::new(move |ring| match ring {
        Ring::Task { .. } | Ring::Visited { .. } if owner.is_none() => {}
        Ring::Task { params, .. } => bell.ring(Ring::Task { owner: owner.clone(), params }),
        Ring::Visited { elicitation_id, .. } => {
            bell.ring(Ring::Visited { owner: owner.clone(), elicitation_id });
        }
        other => bell.ring(other),
    })
}

impl std::fmt::Debug for Split {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Split").field("common", &self.common).finish_non_exhaustive()
    }
}

#[async_trait]
impl Connector for Split {
    fn protocol(&self) -> &'static str {
        self.common.protocol()
    }

    fn endpoint_host(&self) -> Option<&str> {
        self.common.endpoint_host()
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        self.common.list().await
    }

    async fn offer(&self) -> Result<Offer, Fault> {
        self.common.offer().await
    }

    async fn call(&self, permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
        let own = self.of(&errand.owner).await?;
        own.connector.call(permit, errand).await
    }

    async fn ask(&self, permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
        let own = self.of(&errand.owner).await?;
        own.connector.ask(permit, errand).await
    }

    /// A resource is the same for all; a task is with the one that made it.
    async fn follow(&self, permit: &Permit, owner: &str, wanted: bool) -> Result<(), Fault> {
        if !matches!(permit.method(), Method::Task(_)) {
            return self.common.follow(permit, owner, wanted).await;
        }
        let own = self.of(owner).await?;
        own.connector.follow(permit, owner, wanted).await
    }

    async fn set_log_level(&self, level: LogLevel) {
        for connector in self.all() {
            connector.set_log_level(level).await;
        }
    }

    fn said(&self) -> Vec<String> {
        self.all().iter().flat_map(|connector| connector.said()).collect()
    }

    fn speaks(&self) -> Option<String> {
        self.common.speaks()
    }

    fn introduced(&self) -> Option<Arc<ServerLineage>> {
        self.common.introduced()
    }

    fn recall(&self, speaks: &str) {
        self.common.recall(speaks);
    }

    fn attach(&self, bell: Bell) {
        self.common.attach(of_owner(bell.clone(), None));
        let owners = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        for (owner, own) in &owners.all {
            own.connector.attach(of_owner(bell.clone(), Some(owner.clone())));
        }
        *self.bell.lock().unwrap_or_else(PoisonError::into_inner) = Some(bell);
    }

    async fn close(&self) {
        let mut closing = JoinSet::new();
        for connector in self.all() {
            closing.spawn(async move { connector.close().await });
        }
        closing.join_all().await;
        self.leaving.close();
        self.leaving.wait().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes that it was closed.
    #[derive(Debug)]
    struct Noting(Arc<AtomicU64>);

    #[async_trait]
    impl Connector for Noting {
        fn protocol(&self) -> &'static str {
            "custom"
        }

        async fn list(&self) -> Result<Vec<Value>, Fault> {
            Ok(Vec::new())
        }

        async fn call(&self, _permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
            Ok(Answer::text("done"))
        }

        async fn close(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn whoever_was_away_for_longest_makes_room_unless_it_has_something_under_way() {
        let closed = Arc::<AtomicU64>::default();
        let noted = Arc::clone(&closed);
        let made = Split::new(move || Ok(Arc::new(Noting(Arc::clone(&noted)))));
        let split = Split { owners_max: 2, ..made.unwrap() };
        let owners = || -> Vec<String> { split.own.lock().unwrap().all.keys().cloned().collect() };
        for owner in ["ann", "bob", "ann", "eve"] {
            split.of(owner).await.unwrap();
        }
        assert_eq!(owners(), ["ann", "eve"], "bob was away for longest");
        let busy = split.of("ann").await.unwrap();
        split.of("eve").await.unwrap();
        split.of("bob").await.unwrap();
        assert_eq!(owners(), ["ann", "bob"], "ann has something under way");
        let _also_busy = split.of("bob").await.unwrap();
        let refused = split.of("eve").await.map(drop).unwrap_err();
        assert_eq!(refused.code, Code::RateLimited);
        drop(busy);
        split.of("eve").await.unwrap();
        assert_eq!(owners(), ["bob", "eve"]);
        split.close().await;
        // Three made room; two and the one that is nobody's were closed at the end.
        assert_eq!(closed.load(Ordering::SeqCst), 6);
    }
}
