//! One life and death of the gate.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use model::Secret;
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::callers::{self, Call, Told};
use super::client::Heard;
use super::ending::Ending;
use super::gate::Gate;
use super::remains::{self, Outside};
use super::score::Score;
use super::twin::Twin;
use super::{Ledger, Plan, setup};

const WORKERS: u64 = 8;
/// How long a gate may still work after one of its writes has failed.
const AFTERMATH: Duration = Duration::from_millis(300);
/// When in the life of a gate its database is restarted.
const RESTART_AFTER: Duration = Duration::from_millis(250);
/// Calls of an earlier life that each worker makes again. Where gates share a database, another's key
/// counts as running until its lease ends, and each such call is waited for.
const AGAIN_ALONE: usize = 6;
const AGAIN_SHARED: usize = 1;
/// What a call hears whose record could not be written.
const UNRECORDED: &str = "STORE_UNAVAILABLE";
/// Payments that heard this and are to be made again.
const UNRECORDED_MAX: usize = 24;

/// One data folder, or one schema, and the calls made on it.
#[derive(Debug)]
pub struct Desk {
    home: Option<TempDir>,
    toolgate: PathBuf,
    pub(super) store: store::Config,
    restart: Option<String>,
    ledger: Arc<str>,
    effects: Effects,
    pub(super) acknowledged: BTreeSet<String>,
    /// Payments whose end nobody has heard, and some that were refused because nothing could be recorded.
    unsettled: VecDeque<String>,
    /// What a clerk has asked for in the last life.
    wired: BTreeSet<String>,
    pub(super) name: u64,
}

/// A way to ask the ledger.
#[derive(Clone)]
pub(super) struct Effects(Arc<dyn Fn() -> BTreeMap<String, u32> + Send + Sync>);

impl Effects {
    pub(super) fn now(&self) -> BTreeMap<String, u32> {
        (self.0)()
    }
}

impl std::fmt::Debug for Effects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Effects")
    }
}

impl Desk {
    pub async fn new(plan: &Plan, ledger: &Ledger, name: u64) -> Result<Self, String> {
        let home = tempfile::tempdir().map_err(|error| error.to_string())?;
        let url = plan.postgres.as_ref().map(|url| {
            let schema = format!("crash_{}_{name}", std::process::id());
            let separator = if url.contains('?') { '&' } else { '?' };
            Secret::new(format!("{url}{separator}options[search_path]={schema}"))
        });
        let store = store::Config { url, ..store::Config::folder(home.path().join("data")) };
        if let Some(url) = &store.url {
            store::testing::create_schema(url).await.map_err(|fault| fault.to_string())?;
        }
        let desk = Self {
            home: Some(home),
            toolgate: plan.toolgate.clone(),
            store,
            restart: plan.restart.clone(),
            ledger: ledger.url.as_str().into(),
            effects: Effects(Arc::new(ledger.handle())),
            acknowledged: BTreeSet::new(),
            unsettled: VecDeque::new(),
            wired: BTreeSet::new(),
            name,
        };
        setup::write(&desk.config_path(), &desk.ledger, desk.store.url.as_ref())?;
        Ok(desk)
    }

    /// Leaves the folder for whoever wants to look into it.
    pub fn keep_folder(&mut self) -> String {
        let kept = self.home.take().map(TempDir::keep);
        kept.map(|path| path.display().to_string()).unwrap_or_default()
    }

    pub async fn play(&mut self, round: u64, ending: &Ending) -> Result<Score, String> {
        let twin = match self.store.url {
            Some(_) => Some(Twin::start(&self.toolgate, &self.config_path()).await?),
            None => None,
        };
        let gate = self.start(ending).await?;
        let mut score = Score { deaths: 1, ..Score::default() };
        if gate.address.is_empty() {
            gate.has_passed(ending).await?;
            gate.kill().await?;
        } else {
            self.work(round, gate, twin, ending, &mut score).await?;
        }
        score.places.extend(ending.place());
        let new = format!("{}-{round}-", self.name);
        let effects = self.effects.now();
        let fresh = effects.keys().filter(|key| key.starts_with(&new)).count();
        score.effects = u64::try_from(fresh).unwrap_or(u64::MAX);
        self.check().await?;
        Ok(score)
    }

    pub(super) async fn start(&self, ending: &Ending) -> Result<Gate, String> {
        let config = self.config_path();
        Gate::start(&self.toolgate, &config, &self.store.dir, ending).await
    }

    /// Holds what is left against what was heard.
    pub(super) async fn check(&self) -> Result<(), String> {
        let prefix = format!("{}-", self.name);
        let effects = self.effects.now();
        let outside =
            Outside { prefix: &prefix, effects: &effects, acknowledged: &self.acknowledged };
        remains::check(&self.store, &outside).await
    }

    pub(super) fn effects(&self) -> BTreeMap<String, u32> {
        self.effects.now()
    }

    /// Eight payers and a clerk, or eight who only read, until the gate dies.
    async fn work(
        &mut self,
        round: u64,
        gate: Gate,
        twin: Option<Twin>,
        ending: &Ending,
        score: &mut Score,
    ) -> Result<(), String> {
        let mut callers = JoinSet::new();
        let name = format!("{}-{round}-", self.name);
        for worker in 0..WORKERS {
            // Two workers share each key, so that the same call comes twice: at two gates, if there
            // are two.
            let second = twin.as_ref().filter(|_| worker % 2 == 1).map(Twin::address);
            let address = second.unwrap_or(&gate.address).to_owned();
            let again = self.unheard_of();
            score.again += u64::try_from(again.len()).unwrap_or_default();
            if ending.wants_reads() {
                callers.spawn(callers::reader(address, again, name.clone(), worker));
            } else {
                callers.spawn(callers::payer(address, again, name.clone(), worker));
            }
        }
        if !ending.wants_reads() {
            let again = std::mem::take(&mut self.wired).into_iter().collect();
            let address = gate.address.clone();
            callers.spawn(callers::clerk(address, again, name.clone(), self.store.clone()));
        }
        let survivor = format!("{name}survivor");
        let death = async {
            die(gate, ending).await?;
            match twin {
                Some(twin) => twin.goes_on(&survivor).await.map(|()| Some(survivor)),
                None => Ok(None),
            }
        };
        let restarted = self.restart_database();
        let (told, died, restarted) = tokio::join!(callers.join_all(), death, restarted);
        restarted?;
        self.acknowledged.extend(died?);
        for told in told {
            self.hear(told, score);
        }
        Ok(())
    }

    /// What one worker is to make again.
    fn unheard_of(&mut self) -> Vec<String> {
        let most = if self.store.url.is_some() { AGAIN_SHARED } else { AGAIN_ALONE };
        let some = self.unsettled.len().min(most);
        self.unsettled.drain(..some).collect()
    }

    fn hear(&mut self, told: Told, score: &mut Score) {
        for (call, heard) in told {
            if call.tool == callers::WIRE {
                score.allowed += u64::from(heard == Heard::Ok);
                self.wired.insert(call.key.clone());
            }
            match heard {
                Heard::Ok => {
                    score.acknowledged += 1;
                    self.acknowledged.insert(call.key);
                }
                Heard::Fault(code) => {
                    // While the database is gone, every call hears it.
                    if code == UNRECORDED && self.unsettled.len() < UNRECORDED_MAX {
                        self.unsettled(call);
                    }
                    *score.faults.entry(code).or_default() += 1;
                }
                Heard::Nothing => {
                    score.unheard += 1;
                    self.unsettled(call);
                }
            }
        }
    }

    fn unsettled(&mut self, call: Call) {
        if call.tool == callers::PAY && !self.unsettled.contains(&call.key) {
            self.unsettled.push_back(call.key);
        }
    }

    async fn restart_database(&self) -> Result<(), String> {
        let Some(restart) = &self.restart else { return Ok(()) };
        tokio::time::sleep(RESTART_AFTER).await;
        let status = tokio::process::Command::new("bash").arg("-c").arg(restart).output().await;
        let output = status.map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("`{restart}`: {}", String::from_utf8_lossy(&output.stderr)))
    }

    fn config_path(&self) -> PathBuf {
        let home = self.home.as_ref().map(|home| home.path().to_owned()).unwrap_or_default();
        home.join("toolgate.json")
    }
}

/// By chance after its time; else where it was told to, and only there.
async fn die(gate: Gate, ending: &Ending) -> Result<(), String> {
    if let Ending::Killed(life) = ending {
        tokio::time::sleep(*life).await;
    }
    let passed = gate.has_passed(ending).await;
    if let Ending::Failing(..) = ending {
        tokio::time::sleep(AFTERMATH).await;
    }
    gate.kill().await?;
    passed
}
