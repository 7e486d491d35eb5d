//! The running gate: what the stages share, how it is filled and how it stops.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use catalog::cost::{Choice, choose};
use catalog::{Catalogue, Menu, Mode, Naming};
use manifest::AdapterManifest;
use model::{Clock, Code, Fault, Generation, UpstreamName};
use policy::Rules;
use store::Store;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};
use upstream::Upstreams;

use crate::changes::Changes;
use crate::doubt::Doubts;
use crate::in_force::InForce;
use crate::listing::Prepared;
use crate::meaning::Meaning;
use crate::memory::Memory;
use crate::offers::Offers;
use crate::pace::Pace;
use crate::remarks::Told;
use crate::runs::Runs;
use crate::sessions::Kept;
use crate::settings::Settings;
use crate::shift::Shift;
use crate::sights::Sights;
use crate::tasks::Tasks;
use crate::visits::Visits;

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
    pub(crate) in_force: InForce,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) settings: Settings,
    pub(crate) pace: Pace,
    pub(crate) runs: Option<Arc<Runs>>,
    /// Rings whenever somebody has answered a question here.
    pub(crate) answered: Arc<Notify>,
    pub(crate) meaning: Arc<Meaning>,
    pub(crate) namespaces: BTreeMap<UpstreamName, String>,
    pub(crate) naming: Naming,
    pub(crate) current: RwLock<Current>,
    pub(crate) offers: Offers,
    pub(crate) doubts: Doubts,
    pub(crate) told: Told,
    pub(crate) prepared: Prepared,
    pub(crate) sights: Sights,
    pub(crate) memory: Memory,
    pub(crate) changes: Changes,
    pub(crate) tasks: Tasks,
    pub(crate) visits: Arc<Visits>,
    pub(crate) sessions: Kept,
    running: TaskTracker,
    /// What goes on for the store's sake until the last call has ended.
    tending: TaskTracker,
    stop: CancellationToken,
}

/// What is swapped whole by a refresh.
#[derive(Clone, Debug)]
pub(crate) struct Current {
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) choice: Choice,
}

impl Gateway {
    /// A gate with an empty catalogue; call [`Gateway::refresh`] before serving.
    pub fn new(parts: Parts) -> Self {
        let naming = parts.naming.among(parts.upstreams.names().count());
        let empty = Catalogue::build(Generation(0), Vec::new(), naming);
        let choice = choice(&parts.settings, &empty);
        let doubts = Doubts::new(parts.upstreams.names());
        let changes = Changes::new(parts.upstreams.names(), doubts.clone());
        parts.upstreams.attach(&changes.bell());
        let manifests = Arc::new(parts.manifests);
        Self {
            pace: Pace::new(parts.settings.calls_in_flight),
            runs: Runs::new(&parts.settings.runs, &parts.store).map(Arc::new),
            answered: Arc::default(),
            meaning: Arc::new(Meaning::new(&parts.settings, parts.clock.clone())),
            upstreams: parts.upstreams,
            namespaces: parts.namespaces,
            naming,
            in_force: InForce::new(parts.rules, Arc::clone(&manifests)),
            store: parts.store,
            clock: parts.clock,
            settings: parts.settings,
            current: RwLock::new(Current { catalogue: Arc::new(empty), choice }),
            offers: Offers::new(manifests),
            doubts,
            told: Told::default(),
            prepared: Prepared::default(),
            sights: Sights::default(),
            memory: Memory::default(),
            changes,
            tasks: Tasks::default(),
            visits: Arc::default(),
            sessions: Kept::default(),
            running: TaskTracker::new(),
            tending: TaskTracker::new(),
            stop: CancellationToken::new(),
        }
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

    /// Where something is done that nobody waits for but the gate's own end.
    pub(crate) fn aside(&self) -> Aside {
        Aside { running: self.running.clone(), stop: self.stop.clone() }
    }

    /// The same for the catalogue of this moment, waited for.
    pub async fn learn(&self) {
        self.meaning.learn(&self.catalogue()).await;
    }

    /// The catalogue of this moment. Hold on to it for the length of one call, not longer.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.current().catalogue)
    }

    /// The mode in force for the catalogue of this moment, and why it is.
    pub fn choice(&self) -> Choice {
        self.current().choice.clone()
    }

    pub fn mode(&self) -> Mode {
        self.current().choice.mode
    }

    /// The menu by which names in `tools/call` are read. A gate that may change its mode with its
    /// catalogue goes on understanding clients that hold the former list.
    pub fn reading(&self) -> Menu {
        let changes = self.settings.native_up_to_tokens.is_some();
        self.menu_in(if changes { self.settings.mode } else { self.mode() })
    }

    /// Whether what is not a tool is listed and passed on. A gate that may show everything natively
    /// does not take back what a client was told of.
    pub fn passes_all(&self) -> bool {
        self.mode() == Mode::Native || self.settings.native_up_to_tokens.is_some()
    }

    pub(crate) fn shown(&self) -> Menu {
        self.menu_in(self.mode())
    }

    const fn menu_in(&self, mode: Mode) -> Menu {
        let Settings { doors, also, max_cards, .. } = self.settings;
        Menu { mode, doors, also, max_cards }
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
        if let Some(spans) = &self.settings.spans {
            spans.flush().await;
        }
        self.upstreams.close().await;
        self.tending.close();
        self.tending.wait().await;
        self.store.close().await;
    }

    /// For whoever looks after the store beside the calls.
    pub fn shift(&self) -> Shift {
        Shift::new(self.stop.clone(), self.tending.token())
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

    fn current(&self) -> RwLockReadGuard<'_, Current> {
        self.current.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancelled when the gate will wait no longer.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.stop
    }
}

/// What goes on beside a call, until it is done or the gate waits no longer.
#[derive(Clone, Debug)]
pub(crate) struct Aside {
    running: TaskTracker,
    stop: CancellationToken,
}

impl Aside {
    pub(crate) fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.running.spawn(async move {
            stop.run_until_cancelled(work).await;
        });
    }
}

pub(crate) fn choice(settings: &Settings, catalogue: &Catalogue) -> Choice {
    let Some(tokens_max) = settings.native_up_to_tokens else {
        return Choice { mode: settings.mode, why: "as configured".to_owned() };
    };
    let clean = |list| context::menu(list, &settings.redactor).into_inner();
    match choose(catalogue, tokens_max, &clean) {
        choice @ Choice { mode: Mode::Native, .. } => choice,
        Choice { why, .. } => Choice { mode: settings.mode, why },
    }
}
