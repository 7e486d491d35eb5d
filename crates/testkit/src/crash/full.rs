//! A disk that is full: calls are refused with a typed fault while there is no room, what was made
//! without room is on record once there is, and service goes on by itself.

use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;

use super::callers::PAY;
use super::client::{Heard, call};
use super::ending::Ending;
use super::round::Desk;

/// Blocks that a new database needs, and a little for calls.
const CRAMPED_BLOCKS: u64 = 700;
/// Callers at once, so that some are under way when the room ends.
const CALLERS: u64 = 8;
const CALLS_MAX: u64 = 2_000;
/// How long closings that came late may take.
const PATIENCE: Duration = Duration::from_secs(20);

impl Desk {
    pub async fn full_disk(&mut self) -> Result<(), String> {
        if self.store.url.is_some() {
            return Ok(());
        }
        let home = tempfile::tempdir().map_err(|error| error.to_string())?;
        self.store.dir = home.path().join("data");
        self.acknowledged.clear();
        self.name = u64::MAX;
        let mut gate = self.start(&Ending::Cramped(CRAMPED_BLOCKS)).await?;
        let mut callers = JoinSet::new();
        for worker in 0..CALLERS {
            callers.spawn(until_full(gate.address.clone(), format!("{}-{worker}-", self.name)));
        }
        for (made, refused) in callers.join_all().await {
            self.acknowledged.extend(made);
            let (key, code) =
                refused.ok_or("the gate fell silent on a full disk, or never filled it")?;
            if code != "STORE_UNAVAILABLE" {
                return Err(format!("a full disk was told as {code}"));
            }
            // Whether it was made shows in the ledger; what was made must be on record in the end.
            if self.effects().contains_key(&key) {
                self.acknowledged.insert(key);
            }
        }
        gate.more_room().await?;
        let key = format!("{}-room", self.name);
        if call(&gate.address, PAY, json!({"key": key})).await != Heard::Ok || gate.is_dead() {
            return Err("the gate did not go on when there was room again".to_owned());
        }
        self.acknowledged.insert(key);
        self.catches_up().await?;
        gate.kill().await?;
        self.check().await
    }

    /// Waits until everything that took effect is closed on record.
    async fn catches_up(&self) -> Result<(), String> {
        let caught_up = tokio::time::timeout(PATIENCE, async {
            while self.check().await.is_err() {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        });
        match caught_up.await {
            Ok(()) => Ok(()),
            Err(_late) => self.check().await,
        }
    }
}

/// The keys that were acknowledged, and the first that was refused, with its code.
async fn until_full(address: String, name: String) -> (Vec<String>, Option<(String, String)>) {
    let mut made = Vec::new();
    for number in 0..CALLS_MAX {
        let key = format!("{name}{number}");
        match call(&address, PAY, json!({"key": key})).await {
            Heard::Ok => made.push(key),
            Heard::Fault(code) => return (made, Some((key, code))),
            Heard::Nothing => break,
        }
    }
    (made, None)
}
