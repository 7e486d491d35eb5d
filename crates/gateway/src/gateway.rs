//! The running gate: what the stages share, how it is filled and how it stops.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use catalog::cost::{Choice, choose};
use catalog::drift::DRIFT_RULE;
use catalog::{Catalogue, Extras, Menu, Mode, Naming, Source};
use manifest::AdapterManifest;
use model::{Clock, Code, Fault, Finding, Generation, UpstreamName};
use policy::Rules;
use serde_json::Value;
use store::Store;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};
use upstream::{Offer, Upstreams};

use crate::changes::Changes;
use crate::listing::Prepared;
use crate::meaning::Meaning;
use crate::memory::Memory;
use crate::pace::Pace;
use crate::pins;
use crate::sessions::Kept;
use crate::settings::Settings;
use crate::tasks::Tasks;

/// What a gate is made of.
#[derive(Debug)]
pub struct Parts {
    pub upstreams: Upstreams,
    pub manifests: BTreeMap<UpstreamName, Arc<AdapterManifest>>,
    pub namespaces: BTreeMap<UpstreamName, String>,
    pub naming: Naming,
    pub rules: Rules,
    pub store: Store,
    pub clock: Clock,
    pub settings: Settings,
}

/// The gate. Shared by every connection; holds no connection's state.
///
/// Upstreams are behind it and cannot be reached through it:
///
/// ```compile_fail,E0616
/// fn around(gateway: &toolgate_gateway::Gateway) {
///     let _ = &gateway.upstreams;
/// }
/// ```
#[derive(Debug)]
pub struct Gateway {
    pub(crate) upstreams: Upstreams,
    pub(crate) rules: Rules,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) settings: Settings,
    pub(crate) pace: Pace,
    pub(crate) meaning: Arc<Meaning>,
    manifests: BTreeMap<UpstreamName, Arc<AdapterManifest>>,
    namespaces: BTreeMap<UpstreamName, String>,
    naming: Naming,
    current: RwLock<Current>,
    /// One refresh at a time.
    refreshing: Mutex<Refreshing>,
    pub(crate) prepared: Prepared,
    pub(crate) memory: Memory,
    pub(crate) changes: Changes,
    pub(crate) tasks: Tasks,
    pub(crate) sessions: Kept,
    running: TaskTracker,
    stop: CancellationToken,
}

/// What is swapped whole by a refresh.
#[derive(Clone, Debug)]
struct Current {
    catalogue: Arc<Catalogue>,
    choice: Choice,
}

/// What a refresh found: how many tools there are, and which upstreams did not answer.
#[derive(Debug)]
pub struct Refreshed {
    pub generation: Generation,
    pub tools: usize,
    pub failures: Vec<(UpstreamName, Fault)>,
}

impl Gateway {
    /// A gate with an empty catalogue; call [`Gateway::refresh`] before serving.
    pub fn new(parts: Parts) -> Self {
        let empty = Catalogue::build(Generation(0), Vec::new(), parts.naming);
        let choice = choice(&parts.settings, &empty);
        let changes = Changes::new();
        parts.upstreams.attach(&changes.bell());
        Self {
            pace: Pace::new(parts.settings.calls_in_flight),
            meaning: Arc::new(Meaning::new(&parts.settings, parts.clock.clone())),
            upstreams: parts.upstreams,
            manifests: parts.manifests,
            namespaces: parts.namespaces,
            naming: parts.naming,
            rules: parts.rules,
            store: parts.store,
            clock: parts.clock,
            settings: parts.settings,
            current: RwLock::new(Current { catalogue: Arc::new(empty), choice }),
            refreshing: Mutex::default(),
            prepared: Prepared::default(),
            memory: Memory::default(),
            changes,
            tasks: Tasks::default(),
            sessions: Kept::default(),
            running: TaskTracker::new(),
            stop: CancellationToken::new(),
        }
    }

    /// Asks every upstream for its tools and swaps the catalogue whole (CW-76).
    ///
    /// Calls under way keep the generation they began with.
    pub async fn refresh(&self) -> Refreshed {
        let mut state = self.refreshing.lock().await;
        let mut failures = Vec::new();
        let mut offers = BTreeMap::new();
        for (name, list) in self.upstreams.list().await {
            match list {
                Ok(offer) => drop(offers.insert(name, Remembered::new(offer))),
                Err(fault) => failures.push((name, fault)),
            }
        }
        state.offers = offers;
        let (generation, tools, unchecked) = self.swap(&mut state).await;
        failures.extend(unchecked);
        self.learn_of(self.catalogue()).await;
        Refreshed { generation, tools, failures }
    }

    /// Asks one upstream again and swaps the catalogue; if it fails, what it listed before stays.
    pub(crate) async fn refresh_one(&self, name: &UpstreamName) {
        let mut state = self.refreshing.lock().await;
        match self.upstreams.list_one(name).await.map(Remembered::new) {
            Ok(offer) if state.offers.get(name) == Some(&offer) => {}
            Ok(offer) => {
                state.offers.insert(name.clone(), offer);
                self.swap(&mut state).await;
                self.learn_of(self.catalogue()).await;
            }
            Err(fault) => {
                tracing::warn!(upstream.name = name.as_str(), %fault, "its changed list is missing");
            }
        }
    }

    /// Lets tools go that were held back and have been accepted since.
    pub async fn release_accepted(&self) -> Result<(), Fault> {
        let drifted = |finding: &Finding| finding.rule == DRIFT_RULE;
        let catalogue = self.catalogue();
        if !catalogue.entries().iter().any(|tool| tool.quarantined().is_some_and(drifted)) {
            return Ok(());
        }
        let mut state = self.refreshing.lock().await;
        if self.store.pins_mark().await? != state.pins_mark {
            self.swap(&mut state).await;
            self.learn_of(self.catalogue()).await;
        }
        Ok(())
    }

    /// Swaps the catalogue for one made of the offers; tells of upstreams left out unchecked.
    async fn swap(
        &self,
        state: &mut Refreshing,
    ) -> (Generation, usize, Vec<(UpstreamName, Fault)>) {
        state.last += 1;
        let generation = Generation(state.last);
        let offers = state.offers.iter();
        let mut sources: Vec<Source> =
            offers.map(|(name, offer)| self.source(name.clone(), offer.recall())).collect();
        let held = pins::hold(self, &mut sources).await;
        state.pins_mark = self.store.pins_mark().await.unwrap_or_default();
        let former = self.catalogue();
        let catalogue = former.rebuild_holding(generation, sources, self.naming, held.tools);
        let tools = catalogue.entries().len();
        let choice = choice(&self.settings, &catalogue);
        let current = Current { catalogue: Arc::new(catalogue), choice };
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = current;
        (generation, tools, held.failures)
    }

    /// Learns the meanings of a catalogue; where others must be waited for, beside what goes on.
    pub(crate) async fn learn_of(&self, catalogue: Arc<Catalogue>) {
        if !self.meaning.is_remote() {
            return self.meaning.learn(&catalogue).await;
        }
        let (meaning, stop) = (Arc::clone(&self.meaning), self.stop.clone());
        self.running.spawn(async move {
            // Given up when the gate closes: nothing is lost that the next start does not learn.
            stop.run_until_cancelled(meaning.learn(&catalogue)).await;
        });
    }

    /// The same for the catalogue of this moment, waited for.
    pub async fn learn(&self) {
        self.meaning.learn(&self.catalogue()).await;
    }

    /// What is declared about an upstream.
    pub(crate) fn manifest(&self, upstream: &UpstreamName) -> Option<&AdapterManifest> {
        self.manifests.get(upstream).map(Arc::as_ref)
    }

    /// The catalogue of this moment. Hold on to it for the length of one call, not longer.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.current().catalogue
    }

    /// The mode in force for the catalogue of this moment, and why it is.
    pub fn choice(&self) -> Choice {
        self.current().choice
    }

    pub fn mode(&self) -> Mode {
        self.current().choice.mode
    }

    /// The menu by which names in `tools/call` are read. A gate that may change its mode with its
    /// catalogue goes on understanding clients that hold the former list.
    pub fn reading(&self) -> Menu {
        let changes = self.settings.native_up_to_tokens.is_some();
        let mode = if changes { self.settings.mode } else { self.mode() };
        Menu { mode, ..self.shown() }
    }

    /// Whether what is not a tool is listed and passed on. A gate that may show everything natively
    /// does not take back what a client was told of.
    pub fn passes_all(&self) -> bool {
        self.mode() == Mode::Native || self.settings.native_up_to_tokens.is_some()
    }

    pub(crate) fn shown(&self) -> Menu {
        let Settings { doors, also, max_cards, .. } = self.settings;
        Menu { mode: self.mode(), doors, also, max_cards }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Stops: refuses new calls, lets running ones finish, cancels what is left at the deadline.
    pub async fn close(&self, deadline: Duration) {
        self.running.close();
        if tokio::time::timeout(deadline, self.running.wait()).await.is_err() {
            tracing::warn!(
                calls.running = self.running.len(),
                "deadline reached: cancelling calls"
            );
            self.stop.cancel();
            self.running.wait().await;
        }
        self.stop.cancel();
        self.upstreams.close().await;
        self.store.close().await;
    }

    /// Counts a call as running, unless the gate is closing.
    pub(crate) fn enter(&self) -> Result<TaskTrackerToken, Fault> {
        // Counted first: a gate that closes between the two lines then waits for this call.
        let running = self.running.token();
        if self.running.is_closed() {
            return Err(Fault::new(Code::ShuttingDown, "the gate is closing; try again soon"));
        }
        Ok(running)
    }

    fn current(&self) -> Current {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Cancelled when the gate will wait no longer.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.stop
    }

    fn source(&self, name: UpstreamName, offer: Offer) -> Source {
        let member = self.upstreams.member(&name);
        Source {
            protocol: member.map_or("custom", |member| member.connector.protocol()),
            namespace: self.namespaces.get(&name).cloned(),
            manifest: self.manifests.get(&name).map(Arc::clone),
            upstream: name,
            definitions: offer.tools,
            extras: Extras {
                resources: offer.resources,
                templates: offer.templates,
                prompts: offer.prompts,
                capabilities: offer.capabilities,
                instructions: offer.instructions,
            },
        }
    }
}

/// What a refresh starts from.
#[derive(Debug, Default)]
struct Refreshing {
    /// The number of the last generation.
    last: u64,
    /// Of the pins the last generation was held against.
    pins_mark: (i64, i64),
    offers: BTreeMap<UpstreamName, Remembered>,
}

/// An offer while nobody looks at it. Tools are the bulk of it, and text is a quarter of the size
/// of values.
#[derive(Debug, PartialEq)]
struct Remembered {
    tools: String,
    rest: Offer,
}

impl Remembered {
    fn new(mut offer: Offer) -> Self {
        let tools = Value::Array(std::mem::take(&mut offer.tools)).to_string();
        Self { tools, rest: offer }
    }

    fn recall(&self) -> Offer {
        // INVARIANT: written by `new` from values.
        Offer { tools: serde_json::from_str(&self.tools).unwrap_or_default(), ..self.rest.clone() }
    }
}

fn choice(settings: &Settings, catalogue: &Catalogue) -> Choice {
    let Some(tokens_max) = settings.native_up_to_tokens else {
        return Choice { mode: settings.mode, why: "as configured".to_owned() };
    };
    let clean = |list| context::menu(list, &settings.redactor).into_inner();
    match choose(catalogue, tokens_max, &clean) {
        choice @ Choice { mode: Mode::Native, .. } => choice,
        Choice { why, .. } => Choice { mode: settings.mode, why },
    }
}
