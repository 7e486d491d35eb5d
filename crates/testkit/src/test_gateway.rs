//! A gate in one line: upstreams, manifests, a policy, settings, and a clock that stands still.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::Naming;
use gateway::{Gateway, Parts, Settings};
use manifest::AdapterManifest;
use model::{Clock, Timestamp, UpstreamName};
use policy::Rules;
use serde_json::Value;
use store::{Config, Store};
use upstream::demo::Demo;
use upstream::{Connector, Member, Upstreams};

use crate::world::World;

/// The hour at which every test begins: 2026-01-15T10:00:00Z.
pub const START: Timestamp = Timestamp::from_millis(1_768_471_200_000);

#[derive(Debug)]
pub struct TestGateway {
    members: Vec<(UpstreamName, Member)>,
    manifests: BTreeMap<UpstreamName, Arc<AdapterManifest>>,
    rules: Rules,
    settings: Settings,
    clock: Clock,
}

impl Default for TestGateway {
    fn default() -> Self {
        Self::new()
    }
}

impl TestGateway {
    /// No upstreams, everything permitted, default settings.
    pub fn new() -> Self {
        Self {
            members: Vec::new(),
            manifests: BTreeMap::new(),
            rules: Rules::permit_all(),
            settings: Settings::default(),
            clock: Clock::stopped(START),
        }
    }

    #[must_use]
    pub fn upstream(mut self, name: &str, connector: impl Connector + 'static) -> Self {
        self.members.push((UpstreamName::from_string(name), Member::new(Arc::new(connector))));
        self
    }

    /// With bounds of its operator's on one upstream.
    #[must_use]
    pub fn member(mut self, name: &str, change: impl FnOnce(&mut Member)) -> Self {
        let mut all = self.members.iter_mut();
        let (_, member) = all.find(|(one, _)| one.as_str() == name).expect("it was put in before");
        change(member);
        self
    }

    /// The built-in demo as upstream `demo`, with its manifest.
    #[must_use]
    pub fn demo(self) -> Self {
        let demo = Demo::new(self.clock.clone(), None).expect("the demo starts");
        let manifest = serde_json::from_str(Demo::manifest()).expect("its manifest is JSON");
        self.upstream("demo", demo).manifest("demo", manifest)
    }

    #[must_use]
    pub fn manifest(mut self, upstream: &str, manifest: Value) -> Self {
        let manifest = manifest::from_value(manifest).expect("the manifest is sound");
        self.manifests.insert(UpstreamName::from_string(upstream), Arc::new(manifest));
        self
    }

    /// Cedar text in place of "everything is permitted".
    #[must_use]
    pub fn policy(mut self, text: &str) -> Self {
        self.rules = Rules::parse("test", text).expect("the policy is sound");
        self
    }

    #[must_use]
    pub fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Opens the store in a folder of its own and asks the upstreams for their tools.
    pub async fn start(self) -> World {
        Box::pin(self.start_in(tempfile::tempdir().expect("a temporary folder"))).await
    }

    /// The same in a folder where a gate was before.
    pub(crate) async fn start_in(self, home: tempfile::TempDir) -> World {
        let config = Config::folder(home.path().join("data"));
        let opening = Box::pin(Store::open(&config, self.clock.clone()));
        let store = opening.await.expect("the store opens");
        let gateway = Gateway::new(Parts {
            upstreams: Upstreams::new(self.members),
            manifests: self.manifests,
            namespaces: BTreeMap::new(),
            naming: Naming::Auto,
            rules: self.rules,
            store: store.clone(),
            clock: self.clock.clone(),
            settings: self.settings,
        });
        let refreshed = Box::pin(gateway.refresh()).await;
        World { gateway: Arc::new(gateway), clock: self.clock, store, refreshed, home }
    }
}
