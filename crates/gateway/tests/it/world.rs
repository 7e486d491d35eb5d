//! A gate over one upstream whose list a test can change and whose calls it can count.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use catalog::Naming;
use model::{
    Answer, Caller, Clock, Code, Fault, Listed, Method, Principal, Timestamp, UpstreamName,
};
use policy::{Permit, Rules};
use serde_json::{Value, json};
use store::{Config, Store};
use tempfile::TempDir;
use toolgate_gateway::{CallRequest, Done, Gateway, Parts, Settings, Via, Watch};
use upstream::{Connector, Errand, Member, Offer, Upstreams};

/// An upstream with tools that answer `done`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shelf {
    offer: Arc<Mutex<Offer>>,
    calls: Arc<AtomicUsize>,
}

impl Shelf {
    pub(crate) fn put(&self, list: Vec<Value>) {
        self.offer.lock().unwrap().tools = list;
    }

    /// What it has beside tools.
    pub(crate) fn put_beside(&self, prompts: Vec<Value>, resources: Vec<Value>) {
        let mut offer = self.offer.lock().unwrap();
        (offer.prompts, offer.resources) = (prompts, resources);
    }

    /// Says that its lists hold for so long.
    pub(crate) fn holds_for(&self, ttl: Duration) {
        self.offer.lock().unwrap().ttl = Some(ttl);
    }

    /// Fails to give these lists from now on.
    pub(crate) fn leave_out(&self, unheard: &[Listed]) {
        self.offer.lock().unwrap().unheard = unheard.iter().copied().collect();
    }

    /// Is spoken to in this revision from now on.
    pub(crate) fn speak(&self, revision: &str) {
        self.offer.lock().unwrap().speaks = Some(revision.to_owned());
    }

    pub(crate) fn put_templates(&self, templates: Vec<Value>) {
        self.offer.lock().unwrap().templates = templates;
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Connector for Shelf {
    fn protocol(&self) -> &'static str {
        "mcp"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        Ok(self.offer.lock().unwrap().tools.clone())
    }

    async fn offer(&self) -> Result<Offer, Fault> {
        Ok(self.offer.lock().unwrap().clone())
    }

    async fn call(&self, _permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        Ok(Answer::text("done"))
    }
}

pub(crate) struct World {
    pub(crate) gateway: Gateway,
    pub(crate) shelf: Shelf,
    pub(crate) store: Store,
    _home: TempDir,
}

impl World {
    /// A gate with these tools on the shelf.
    pub(crate) async fn new(list: Vec<Value>, change: impl FnOnce(&mut Settings)) -> Self {
        let home = tempfile::tempdir().unwrap();
        let clock = Clock::stopped(Timestamp::from_millis(1_768_471_200_000));
        let config = Config::folder(home.path().join("data"));
        let store = Box::pin(Store::open(&config, clock.clone())).await.unwrap();
        let shelf = Shelf::default();
        shelf.put(list);
        let name = UpstreamName::from_string("shelf");
        let mut settings = Settings::default();
        change(&mut settings);
        let gateway = Gateway::new(Parts {
            upstreams: Upstreams::new([(name, Member::new(Arc::new(shelf.clone())))]),
            manifests: BTreeMap::new(),
            namespaces: BTreeMap::new(),
            naming: Naming::Auto,
            rules: Rules::permit_all(),
            store: store.clone(),
            clock,
            settings,
        });
        let world = Self { gateway, shelf, store, _home: home };
        world.refresh().await;
        world
    }

    pub(crate) async fn refresh(&self) {
        let refreshed = Box::pin(self.gateway.refresh()).await;
        assert_eq!(refreshed.failures.len(), 0);
    }

    pub(crate) async fn execute(&self, tool: &str, args: Value) -> Done {
        let request = CallRequest { via: Via::Argument, ..CallRequest::new(alice(), tool, args) };
        Box::pin(self.gateway.call(request, Watch::default())).await
    }

    /// The fault of a request that is no call of a tool.
    pub(crate) async fn ask(&self, method: Method, name: &str) -> Option<Code> {
        let request = CallRequest { method, ..CallRequest::new(alice(), name, Value::Null) };
        let done = Box::pin(self.gateway.call(request, Watch::default())).await;
        done.fault.map(|fault| fault.code)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let menu = self.gateway.menu(&alice()).into_inner();
        menu.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

pub(crate) fn alice() -> Caller {
    Caller::new(Principal::user("alice"))
}

/// A tool with one required text parameter.
pub(crate) fn tool(name: &str) -> Value {
    json!({
        "name": name,
        "description": format!("Does {name}."),
        "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"], "additionalProperties": false},
    })
}
