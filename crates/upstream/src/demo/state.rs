//! What the demo remembers, how it begins, and how it gets to disk and back.
//!
//! What the tools do with it stands in the files of the namespaces.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use model::{Answer, Timestamp};
use serde::{Deserialize, Serialize};

use super::calendar::Event;
use super::files::Document;
use super::payments::{Refund, Transaction};
use super::reports::Report;
use super::seed;
use super::tickets::Ticket;

/// The form of the state file. A file of another version is refused, never guessed at.
const VERSION: u32 = 1;
/// How long a repeated key gives the first answer again.
const CLAIM_MS: i64 = 24 * super::days::HOUR_MS;
/// Keys remembered at most; the oldest goes first.
const CLAIMS_MAX: usize = 1_000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    version: u32,
    pub(super) files: BTreeMap<String, Document>,
    pub(super) tickets: BTreeMap<String, Ticket>,
    pub(super) ticket_last: u32,
    pub(super) transactions: BTreeMap<String, Transaction>,
    pub(super) refunds: Vec<Refund>,
    pub(super) events: BTreeMap<String, Event>,
    pub(super) event_last: u32,
    pub(super) reports: BTreeMap<String, Report>,
    claims: BTreeMap<String, Claim>,
}

/// A key that was used, what for, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Claim {
    pub(super) args_hash: String,
    pub(super) at: Timestamp,
    pub(super) answer: Answer,
}

/// Why the demo could not start.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    #[error("cannot read the demo state file `{}`; make it a file you may read", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(
        "the demo state file `{}` is not valid state: {source}; move it away to start afresh",
        path.display()
    )]
    Corrupt { path: PathBuf, source: serde_json::Error },
    #[error(
        "the demo state file `{}` has version {found}, and this build reads version {VERSION}; \
         move it away to start afresh",
        path.display()
    )]
    Version { path: PathBuf, found: u32 },
}

impl State {
    /// A small company as it looks on the morning of `now`.
    pub(super) fn seeded(now: Timestamp) -> Self {
        let tickets = seed::tickets(now);
        let events = seed::events(now);
        Self {
            version: VERSION,
            files: seed::files(now),
            ticket_last: 1_000 + u32::try_from(tickets.len()).unwrap_or_default(),
            tickets,
            transactions: seed::transactions(now),
            refunds: Vec::new(),
            event_last: 2_000 + u32::try_from(events.len()).unwrap_or_default(),
            events,
            reports: BTreeMap::new(),
            claims: BTreeMap::new(),
        }
    }

    /// The state a former run left at `path`; nothing if there is no such file.
    pub(super) fn load(path: &Path) -> Result<Option<Self>, DemoError> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(DemoError::Unreadable { path: path.to_owned(), source }),
        };
        let corrupt = |source| DemoError::Corrupt { path: path.to_owned(), source };
        let Stamp { version: found } = serde_json::from_slice(&bytes).map_err(corrupt)?;
        if found != VERSION {
            return Err(DemoError::Version { path: path.to_owned(), found });
        }
        serde_json::from_slice(&bytes).map(Some).map_err(corrupt)
    }

    /// Puts the whole state at `path`, or leaves there what was there before.
    pub(super) fn save(&self, path: &Path) -> io::Result<()> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        let beside = path.with_file_name(name);
        let saved = self.write_new(&beside).and_then(|()| fs::rename(&beside, path));
        if saved.is_err()
            && let Err(error) = fs::remove_file(&beside)
        {
            tracing::debug!(path = %beside.display(), %error, "no temporary file to remove");
        }
        saved
    }

    fn write_new(&self, path: &Path) -> io::Result<()> {
        // A crash may have left one behind, perhaps with other rights.
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = private_file(path)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        file.sync_all()
    }

    pub(super) fn claim_of(&self, key: &str, now: Timestamp) -> Option<&Claim> {
        self.claims.get(key).filter(|claim| is_fresh(claim, now))
    }

    pub(super) fn remember(&mut self, key: String, claim: Claim) {
        let now = claim.at;
        self.claims.retain(|_, old| is_fresh(old, now));
        if self.claims.len() >= CLAIMS_MAX
            && let Some(oldest) = self.claims.iter().min_by_key(|(_, old)| old.at)
        {
            let oldest = oldest.0.clone();
            self.claims.remove(&oldest);
        }
        self.claims.insert(key, claim);
    }
}

/// The one field every version of the file has.
#[derive(Deserialize)]
struct Stamp {
    version: u32,
}

fn is_fresh(claim: &Claim, now: Timestamp) -> bool {
    now.as_millis().saturating_sub(claim.at.as_millis()) < CLAIM_MS
}

/// A new file only its owner may read.
fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
