//! The configuration of every gate that is to die: a ledger behind it, and what its tools are.

use std::path::Path;

use model::Secret;
use serde_json::json;

use super::callers::{LOOK, PAY, WIRE};

/// Writes the configuration, and the ledger's manifest beside it.
pub(super) fn write(config: &Path, ledger: &str, store: Option<&Secret>) -> Result<(), String> {
    let pay = json!({
        "class": "act", "approval_mode": "network",
        "idempotency": {"required": true, "arg": "key"},
    });
    let wire = json!({"class": "act", "approval_mode": "network", "requires_gate": "WIRES"});
    let capabilities = [
        crate::capability("ledger.pay", PAY, pay),
        crate::capability("ledger.wire", WIRE, wire),
        crate::capability("ledger.look", LOOK, json!({})),
    ];
    let manifest = config.with_file_name("ledger.json");
    let mut settings = json!({
        // The mode in which long answers are kept as artifacts, and tools go by their names.
        "mode": "transparent",
        "upstreams": {"ledger": {"url": ledger, "manifest": manifest}},
        "limits": {"calls_per_minute": 1_000_000, "in_flight_wait_ms": 2_000},
        "records": {"checkpoint_seconds": 1},
    });
    if let Some(url) = store {
        settings["store"] = url.reveal().into();
    }
    let write = |path: &Path, text: String| std::fs::write(path, text).map_err(|e| e.to_string());
    write(&manifest, crate::manifest(capabilities).to_string())?;
    write(config, settings.to_string())
}
