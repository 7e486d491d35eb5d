//! The look at what is left: records, effects, artifacts and chain, held against what was heard.

use std::collections::{BTreeMap, BTreeSet};

use model::{Clock, Handle, Record, RecordId, RecordStatus};
use store::{ClaimState, Reader, RecordFilter, Store};

/// What the history says.
#[derive(Debug, Default)]
struct Remains {
    /// Records that were closed, and those with an entry that stands there twice.
    closed: BTreeSet<RecordId>,
    begun: BTreeSet<RecordId>,
    doubled: Vec<RecordId>,
    opened: BTreeSet<String>,
    completed: BTreeSet<String>,
    /// What was too long to be answered, and for whom it is kept.
    artifacts: Vec<(String, Handle)>,
}

/// What was heard and seen outside the gate.
pub(super) struct Outside<'a> {
    /// Every key of this folder begins so.
    pub(super) prefix: &'a str,
    pub(super) effects: &'a BTreeMap<String, u32>,
    pub(super) acknowledged: &'a BTreeSet<String>,
}

/// Whether all of it fits together; the first that does not is named.
pub(super) async fn check(config: &store::Config, outside: &Outside<'_>) -> Result<(), String> {
    let store = Store::open(config, Clock::System).await.map_err(|error| error.to_string())?;
    let report = store.verify_chain().await.map_err(|fault| fault.to_string())?;
    if report.damage.is_some() {
        return Err(format!("the chain does not verify: {report:?}"));
    }
    let remains = read(&store).await?;
    // Read after the entries: whoever closes a record settles its key with it.
    let held = held_for_nobody(&store, &remains).await?;
    if let Some(record_id) = held {
        return Err(format!("`{record_id}` is closed, and its key counts as running"));
    }
    // Without a bucket, what a second replica has kept lies in that replica's own folder.
    let within_reach = if config.url.is_none() { remains.artifacts.as_slice() } else { &[] };
    for (who, handle) in within_reach {
        let reader = Reader { principal: who, session: None };
        let found = store.artifact(handle.as_str(), reader).await;
        if found.map_err(|fault| format!("artifact {handle}: {fault:?}"))?.is_none() {
            return Err(format!("`{handle}` is on record and not there"));
        }
    }
    store.close().await;
    remains.held_against(outside)
}

impl Remains {
    fn held_against(&self, outside: &Outside<'_>) -> Result<(), String> {
        if let Some(record_id) = self.doubled.first() {
            return Err(format!("an entry of `{record_id}` was written twice"));
        }
        let mine = outside.effects.iter().filter(|(key, _)| key.starts_with(outside.prefix));
        for (key, times) in mine {
            if *times > 1 {
                return Err(format!("`{key}` took effect {times} times"));
            }
            if !self.opened.contains(key) {
                return Err(format!("`{key}` took effect without an opening entry"));
            }
        }
        match outside.acknowledged.iter().find(|key| !self.completed.contains(*key)) {
            Some(key) => Err(format!("`{key}` was acknowledged and has no record")),
            None => Ok(()),
        }
    }

    fn add(&mut self, record: Record) {
        let side =
            if record.status == RecordStatus::Open { &mut self.begun } else { &mut self.closed };
        if !side.insert(record.record_id.clone()) {
            self.doubled.push(record.record_id.clone());
        }
        let Some(key) = record.call.args.get("key").and_then(|key| key.as_str()) else { return };
        match record.status {
            RecordStatus::Open => drop(self.opened.insert(key.to_owned())),
            RecordStatus::Completed => drop(self.completed.insert(key.to_owned())),
            _ => {}
        }
        let who = record.call.principal_chain.first().map(model::Principal::account);
        let kept = record.result.into_iter().flat_map(|result| result.artifacts);
        self.artifacts.extend(kept.map(|kept| (who.clone().unwrap_or_default(), kept.handle)));
    }
}

async fn held_for_nobody(store: &Store, remains: &Remains) -> Result<Option<RecordId>, String> {
    let claims = store.claims(None).await.map_err(|fault| fault.to_string())?;
    let running = |state| matches!(state, ClaimState::Claimed | ClaimState::Dispatched);
    let mut held = claims.into_iter().filter(|line| running(line.state));
    Ok(held.find(|line| remains.closed.contains(&line.record_id)).map(|line| line.record_id))
}

async fn read(store: &Store) -> Result<Remains, String> {
    let (mut remains, mut last) = (Remains::default(), 0);
    loop {
        let page = store.export(&RecordFilter::default(), last).await;
        let page = page.map_err(|fault| fault.to_string())?;
        let Some(end) = page.last().map(|entry| entry.seq) else { return Ok(remains) };
        for entry in &page {
            let (_, record) = entry.read().map_err(|fault| fault.to_string())?;
            remains.add(record);
        }
        last = end;
    }
}
