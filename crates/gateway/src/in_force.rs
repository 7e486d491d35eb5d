//! The rules and the manifests in force: swapped whole, while calls under way keep those they began
//! with. What should be in force and cannot be leaves what was, and is told of.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use manifest::AdapterManifest;
use model::{Listed, UpstreamName};
use policy::Rules;

use crate::changes::Change;
use crate::gateway::Gateway;

#[derive(Debug)]
pub(crate) struct InForce {
    rules: RwLock<Arc<Rules>>,
    manifests: RwLock<Arc<Manifests>>,
    trouble: RwLock<Trouble>,
}

/// What is declared about each upstream.
pub(crate) type Manifests = BTreeMap<UpstreamName, Arc<AdapterManifest>>;

/// Why what should be in force is not.
#[derive(Debug, Default)]
struct Trouble {
    rules: Option<String>,
    manifests: Option<String>,
}

impl InForce {
    pub(crate) fn new(rules: Rules, manifests: Arc<Manifests>) -> Self {
        Self {
            rules: RwLock::new(Arc::new(rules)),
            manifests: RwLock::new(manifests),
            trouble: RwLock::default(),
        }
    }

    /// Beside the catalogue that was made with them.
    pub(crate) fn swap_manifests(&self, manifests: &Arc<Manifests>) {
        let mut held = self.manifests.write().unwrap_or_else(PoisonError::into_inner);
        *held = Arc::clone(manifests);
    }
}

impl Gateway {
    /// The rules of this moment. Hold on to them for the length of one call, not longer.
    pub fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.in_force.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts other rules in force. Lists made under the former ones are not shown again, and clients
    /// are told to look anew.
    pub fn swap_rules(&self, rules: Rules) {
        let changed = rules.hash() != self.rules().hash();
        if changed {
            *self.in_force.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
        }
        self.trouble(|trouble| trouble.rules = None);
        if changed {
            self.tell_of_lists();
        }
    }

    /// Notes that rules could not be put in force; the former ones stay.
    pub fn keep_rules(&self, trouble: String) {
        self.trouble(|kept| kept.rules = Some(trouble));
    }

    /// Why the rules in force are not those the operator wrote last.
    pub fn rules_trouble(&self) -> Option<String> {
        self.trouble(|trouble| trouble.rules.clone())
    }

    /// What is declared about an upstream.
    pub(crate) fn manifest(&self, upstream: &UpstreamName) -> Option<Arc<AdapterManifest>> {
        let held = self.in_force.manifests.read().unwrap_or_else(PoisonError::into_inner);
        held.get(upstream).map(Arc::clone)
    }

    /// Puts other manifests in force, with a catalogue made by them of what upstreams listed last.
    pub async fn swap_manifests(&self, manifests: BTreeMap<UpstreamName, Arc<AdapterManifest>>) {
        let changed = self.rebuild_with(Arc::new(manifests)).await;
        // Whoever hears that all is well is judged by what was written last.
        self.trouble(|trouble| trouble.manifests = None);
        if changed {
            self.tell_of_lists();
        }
    }

    /// Notes that manifests could not be put in force; the former ones stay.
    pub fn keep_manifests(&self, trouble: String) {
        self.trouble(|kept| kept.manifests = Some(trouble));
    }

    /// Why the manifests in force are not those the operator wrote last.
    pub fn manifests_trouble(&self) -> Option<String> {
        self.trouble(|trouble| trouble.manifests.clone())
    }

    fn trouble<T>(&self, with: impl FnOnce(&mut Trouble) -> T) -> T {
        with(&mut self.in_force.trouble.write().unwrap_or_else(PoisonError::into_inner))
    }

    fn tell_of_lists(&self) {
        for what in [Listed::Tools, Listed::Prompts, Listed::Resources] {
            self.tell(Change::List(what));
        }
    }
}
