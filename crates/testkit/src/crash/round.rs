//! One life and death of the gate, and the look at what is left.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use model::{Clock, Record, RecordStatus, Secret};
use serde_json::json;
use store::{RecordFilter, Store, failpoint};
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::client::{Heard, call};
use super::gate::{Ending, Gate};
use super::twin::Twin;
use super::{Dice, Ledger, Plan};

const WORKERS: u64 = 8;
/// How long a gate lives that nobody kills sooner.
const LIFE: Duration = Duration::from_millis(1_200);
/// Blocks that a new database needs, and a little for calls.
const CRAMPED_BLOCKS: u64 = 700;

/// What was seen, over all rounds.
#[derive(Clone, Debug, Default)]
pub struct Score {
    pub acknowledged: u64,
    pub effects: u64,
    pub unheard: u64,
    pub faults: BTreeMap<String, u64>,
    pub deaths: u64,
}

impl Score {
    pub(super) fn add(&mut self, other: &Self) {
        self.acknowledged += other.acknowledged;
        self.effects += other.effects;
        self.unheard += other.unheard;
        self.deaths += other.deaths;
        for (code, count) in &other.faults {
            *self.faults.entry(code.clone()).or_default() += count;
        }
    }
}

/// One data folder, or one schema, and the calls made on it.
#[derive(Debug)]
pub struct Desk {
    home: Option<TempDir>,
    toolgate: PathBuf,
    store: store::Config,
    restart: Option<String>,
    ledger: Arc<str>,
    effects: Effects,
    acknowledged: BTreeSet<String>,
    name: u64,
}

/// A way to ask the ledger.
#[derive(Clone)]
struct Effects(Arc<dyn Fn() -> BTreeMap<String, u32> + Send + Sync>);

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
        let effects = ledger.handle();
        let desk = Self {
            home: Some(home),
            toolgate: plan.toolgate.clone(),
            store,
            restart: plan.restart.clone(),
            ledger: ledger.url.as_str().into(),
            effects: Effects(Arc::new(effects)),
            acknowledged: BTreeSet::new(),
            name,
        };
        desk.write_config()?;
        Ok(desk)
    }

    /// Leaves the folder for whoever wants to look into it.
    pub fn keep_folder(&mut self) -> String {
        let kept = self.home.take().map(TempDir::keep);
        kept.map(|path| path.display().to_string()).unwrap_or_default()
    }

    pub async fn play(&mut self, round: u64, dice: &mut Dice) -> Result<Score, String> {
        let ending = ending(dice);
        let twin = match self.store.url {
            Some(_) => Some(Twin::start(&self.toolgate, &self.config_path()).await?),
            None => None,
        };
        let gate = self.start(&ending).await?;
        let mut score = Score::default();
        if gate.address.is_empty() {
            gate.kill().await?;
        } else {
            self.work(round, gate, twin, &ending, &mut score).await?;
        }
        score.deaths = 1;
        self.look(&format!("{}-{round}-", self.name), &mut score).await?;
        Ok(score)
    }

    /// Calls are refused with a typed fault while there is no room, and go on once there is.
    pub async fn full_disk(&mut self) -> Result<(), String> {
        if self.store.url.is_some() {
            return Ok(());
        }
        let home = tempfile::tempdir().map_err(|error| error.to_string())?;
        self.store.dir = home.path().join("data");
        self.acknowledged.clear();
        self.name = u64::MAX;
        let mut gate = self.start(&Ending::Cramped(CRAMPED_BLOCKS)).await?;
        let mut refused = None;
        for number in 0..2_000 {
            let key = format!("{}-full-{number}", self.name);
            match call(&gate.address, "pay", json!({"key": key})).await {
                Heard::Ok => drop(self.acknowledged.insert(key)),
                Heard::Fault(code) => {
                    refused = Some(code);
                    break;
                }
                Heard::Nothing => return Err("the gate fell silent on a full disk".to_owned()),
            }
        }
        if refused.as_deref() != Some("STORE_UNAVAILABLE") {
            return Err(format!("a full disk was told as {refused:?}"));
        }
        gate.more_room().await?;
        let key = format!("{}-room", self.name);
        if call(&gate.address, "pay", json!({"key": key})).await != Heard::Ok || gate.is_dead() {
            return Err("the gate did not go on when there was room again".to_owned());
        }
        self.acknowledged.insert(key);
        gate.kill().await?;
        self.look("", &mut Score::default()).await
    }

    async fn start(&self, ending: &Ending) -> Result<Gate, String> {
        let config = self.config_path();
        Gate::start(&self.toolgate, &config, &self.store.dir, ending).await
    }

    /// Eight callers until the gate dies, which it does at the latest when its time is over.
    async fn work(
        &mut self,
        round: u64,
        gate: Gate,
        twin: Option<Twin>,
        ending: &Ending,
        score: &mut Score,
    ) -> Result<(), String> {
        let life = match ending {
            Ending::Killed(life) => *life,
            _ => LIFE,
        };
        let mut callers = JoinSet::new();
        for worker in 0..WORKERS {
            // Two workers share each key, so that the same call comes twice: at two gates, if there
            // are two.
            let second = twin.as_ref().filter(|_| worker % 2 == 1).map(Twin::address);
            let (address, name) = (second.unwrap_or(&gate.address).to_owned(), self.name);
            callers.spawn(async move {
                let mut heard = Vec::new();
                for number in 0.. {
                    let key = format!("{name}-{round}-{}-{number}", worker / 2);
                    let answer = call(&address, "pay", json!({"key": key})).await;
                    let silent = answer == Heard::Nothing;
                    heard.push((key, answer));
                    if silent {
                        break;
                    }
                }
                heard
            });
        }
        let survivor = format!("{}-{round}-survivor", self.name);
        let death = async {
            tokio::time::sleep(life).await;
            gate.kill().await?;
            match twin {
                Some(twin) => twin.goes_on(&survivor).await.map(|()| Some(survivor)),
                None => Ok(None),
            }
        };
        let restarted = self.restart_database(life / 2);
        let (heard, died, restarted) = tokio::join!(callers.join_all(), death, restarted);
        restarted?;
        self.acknowledged.extend(died?);
        for (key, heard) in heard.into_iter().flatten() {
            match heard {
                Heard::Ok => {
                    self.acknowledged.insert(key);
                    score.acknowledged += 1;
                }
                Heard::Fault(code) => *score.faults.entry(code).or_default() += 1,
                Heard::Nothing => score.unheard += 1,
            }
        }
        Ok(())
    }

    async fn restart_database(&self, after: Duration) -> Result<(), String> {
        let Some(restart) = &self.restart else { return Ok(()) };
        tokio::time::sleep(after).await;
        let status = tokio::process::Command::new("bash").arg("-c").arg(restart).output().await;
        let output = status.map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("`{restart}`: {}", String::from_utf8_lossy(&output.stderr)))
    }

    async fn look(&self, new: &str, score: &mut Score) -> Result<(), String> {
        let store = Store::open(&self.store, Clock::System).await;
        let store = store.map_err(|error| error.to_string())?;
        let report = store.verify_chain().await.map_err(|fault| fault.to_string())?;
        if report.damage.is_some() {
            return Err(format!("the chain does not verify: {report:?}"));
        }
        let (opened, completed) = read(&store).await?;
        store.close().await;
        let prefix = format!("{}-", self.name);
        for (key, times) in (self.effects.0)() {
            let mine = key.starts_with(&prefix);
            if mine && times > 1 {
                return Err(format!("`{key}` took effect {times} times"));
            }
            if mine && !opened.contains(&key) {
                return Err(format!("`{key}` took effect without an opening entry"));
            }
            score.effects += u64::from(key.starts_with(new));
        }
        match self.acknowledged.iter().find(|key| !completed.contains(*key)) {
            Some(key) => Err(format!("`{key}` was acknowledged and has no record")),
            None => Ok(()),
        }
    }

    fn config_path(&self) -> PathBuf {
        let home = self.home.as_ref().map(|home| home.path().to_owned()).unwrap_or_default();
        home.join("toolgate.json")
    }

    fn write_config(&self) -> Result<(), String> {
        let pay = crate::capability(
            "ledger.pay",
            "pay",
            json!({
                "class": "act", "approval_mode": "network",
                "idempotency": {"required": true, "arg": "key"},
            }),
        );
        let look = crate::capability("ledger.look", "look", json!({}));
        let config = self.config_path();
        let manifest = config.with_file_name("ledger.json");
        let mut settings = json!({
            "mode": "native",
            "upstreams": {"ledger": {"url": &*self.ledger, "manifest": manifest}},
            "limits": {"calls_per_minute": 1_000_000, "in_flight_wait_ms": 2_000},
            "records": {"checkpoint_seconds": 1},
        });
        if let Some(url) = &self.store.url {
            settings["store"] = url.reveal().into();
        }
        let write = |path: &PathBuf, text: String| {
            std::fs::write(path, text).map_err(|error| error.to_string())
        };
        write(&manifest, crate::manifest([pay, look]).to_string())?;
        write(&config, settings.to_string())
    }
}

fn ending(dice: &mut Dice) -> Ending {
    let count = 1 + dice.below(12);
    match dice.below(3) {
        0 => Ending::Killed(Duration::from_millis(20 + dice.below(500))),
        1 => Ending::At(dice.pick(&failpoint::PLACES).unwrap_or("batch.written"), count),
        _ => {
            let places = ["batch.begun", "batch.written", "batch.committed"];
            Ending::Failing(dice.pick(&places).unwrap_or("batch.written"), count)
        }
    }
}

/// The keys that have an opening entry, and those whose call was completed.
async fn read(store: &Store) -> Result<(BTreeSet<String>, BTreeSet<String>), String> {
    let (mut opened, mut completed) = (BTreeSet::new(), BTreeSet::new());
    let mut last = 0;
    loop {
        let page = store.export(&RecordFilter::default(), last).await;
        let page = page.map_err(|fault| fault.to_string())?;
        let Some(end) = page.last().map(|entry| entry.seq) else { break };
        for entry in &page {
            let (_, record): (_, Record) = entry.read().map_err(|fault| fault.to_string())?;
            let Some(key) = record.call.idempotency_key else { continue };
            match record.status {
                RecordStatus::Open => drop(opened.insert(key)),
                RecordStatus::Completed => drop(completed.insert(key)),
                _ => {}
            }
        }
        last = end;
    }
    Ok((opened, completed))
}
