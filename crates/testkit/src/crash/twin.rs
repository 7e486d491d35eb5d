//! A second gate on the same PostgreSQL: it lives on when the first one dies.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use super::client::{Heard, call};
use super::ending::Ending;
use super::gate::Gate;

/// How long the survivor may take until it answers as before.
const PATIENCE: Duration = Duration::from_secs(20);

/// The survivor. Only the database is shared with the other gate; its folder is its own.
#[derive(Debug)]
pub(super) struct Twin {
    gate: Gate,
    _folder: TempDir,
}

impl Twin {
    pub(super) async fn start(toolgate: &Path, config: &Path) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let data = folder.path().join("data");
        let gate = Gate::start(toolgate, config, &data, &Ending::Killed(PATIENCE)).await?;
        if gate.address.is_empty() {
            return Err("a second replica did not start".to_owned());
        }
        Ok(Self { gate, _folder: folder })
    }

    pub(super) fn address(&self) -> &str {
        &self.gate.address
    }

    /// Calls with this key until there is an answer; then the survivor dies, too.
    pub(super) async fn goes_on(self, key: &str) -> Result<(), String> {
        let answered = tokio::time::timeout(PATIENCE, async {
            while call(&self.gate.address, "pay", json!({"key": key})).await != Heard::Ok {
                tokio::task::yield_now().await;
            }
        });
        let answered = answered.await;
        self.gate.kill().await?;
        answered.map_err(|_late| "the other replica did not go on".to_owned())
    }
}
