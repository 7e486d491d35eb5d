//! One server for each caller: its own process or conversation, so that what one caller did there is
//! nothing to another. Listing is done by one that is nobody's.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use model::call::ServerLineage;
use model::{Answer, Code, Fault, LogLevel};
use policy::Permit;
use serde_json::{Map, Value};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;

use crate::connector::{Bell, Connector, Offer};
use crate::errand::Errand;
use crate::limits;

type Make = Box<dyn Fn() -> Result<Arc<dyn Connector>, Fault> + Send + Sync>;

/// Connectors to the same server, one for each owner of calls.
pub struct Split {
    make: Make,
    common: Arc<dyn Connector>,
    own: Mutex<BTreeMap<String, Arc<Own>>>,
    bell: Mutex<Option<Bell>>,
}

struct Own {
    connector: Arc<dyn Connector>,
    /// What it knows of its tools, it knows from listing them.
    listed: OnceCell<()>,
}

impl Split {
    pub fn new(
        make: impl Fn() -> Result<Arc<dyn Connector>, Fault> + Send + Sync + 'static,
    ) -> Result<Self, Fault> {
        let common = make()?;
        Ok(Self { make: Box::new(make), common, own: Mutex::default(), bell: Mutex::default() })
    }

    /// The connector of one owner, made when first asked for.
    async fn of(&self, owner: &str) -> Result<Arc<dyn Connector>, Fault> {
        let own = self.find(owner)?;
        let listing = || async { own.connector.offer().await.map(drop) };
        own.listed.get_or_try_init(listing).await?;
        Ok(Arc::clone(&own.connector))
    }

    fn find(&self, owner: &str) -> Result<Arc<Own>, Fault> {
        let mut all = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = all.get(owner) {
            return Ok(Arc::clone(own));
        }
        if all.len() >= limits::OWNERS_MAX {
            let message = "too many callers have this upstream to themselves";
            return Err(Fault::new(Code::RateLimited, message));
        }
        let own = Arc::new(Own { connector: (self.make)()?, listed: OnceCell::new() });
        if let Some(bell) = self.bell.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            own.connector.attach(bell);
        }
        all.insert(owner.to_owned(), Arc::clone(&own));
        Ok(own)
    }

    fn all(&self) -> Vec<Arc<dyn Connector>> {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.values().map(|own| &own.connector).chain([&self.common]).map(Arc::clone).collect()
    }
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
        self.of(&errand.owner).await?.call(permit, errand).await
    }

    async fn ask(&self, permit: &Permit, errand: &Errand) -> Result<Map<String, Value>, Fault> {
        self.of(&errand.owner).await?.ask(permit, errand).await
    }

    async fn follow(&self, permit: &Permit, wanted: bool) -> Result<(), Fault> {
        self.common.follow(permit, wanted).await
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

    fn introduced(&self) -> Option<ServerLineage> {
        self.common.introduced()
    }

    fn recall(&self, speaks: &str) {
        self.common.recall(speaks);
    }

    fn attach(&self, bell: Bell) {
        for connector in self.all() {
            connector.attach(bell.clone());
        }
        *self.bell.lock().unwrap_or_else(PoisonError::into_inner) = Some(bell);
    }

    async fn close(&self) {
        let mut closing = JoinSet::new();
        for connector in self.all() {
            closing.spawn(async move { connector.close().await });
        }
        closing.join_all().await;
    }
}
