//! The real binary: built as a user would build it, and configured to stand before the echo.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::Outcome;
use crate::fleet::Kind;

/// The most the configuration lets anybody ask for; every call comes from one caller on one tool.
const CALLS_PER_MINUTE_MAX: u32 = 1_000_000;

/// Builds `toolgate` as it is handed out, if anything changed, and returns where it is.
async fn build() -> Outcome<PathBuf> {
    let output = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/dist"))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .output()
        .await?;
    if !output.status.success() {
        return Err("`toolgate` does not build".into());
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let binary = said.lines().last().map(PathBuf::from);
    binary.ok_or_else(|| "`bench/dist` does not say where it put `toolgate`".into())
}

/// The binary that was named, or one built now.
pub(crate) async fn found(named: Option<&Path>) -> Outcome<PathBuf> {
    match named {
        Some(binary) => Ok(binary.canonicalize()?),
        None => build().await,
    }
}

/// A gate that is configured like this, with its files in the folder.
pub(crate) fn configured(binary: &Path, config: &Value, folder: &Path) -> Outcome<Command> {
    let path = folder.join("toolgate.json");
    fs::write(&path, serde_json::to_vec_pretty(config)?)?;
    let mut command = up(binary, folder);
    command.arg("--config").arg(path).arg("--data").arg(folder.join("data"));
    Ok(command)
}

/// A gate in native mode before the echo, with its files in the folder.
pub(crate) fn command(
    binary: &Path,
    kind: Kind,
    echo: SocketAddr,
    folder: &Path,
) -> Outcome<Command> {
    let (name, manifest) = (kind.name(), folder.join("manifest.json"));
    let config = folder.join(format!("{name}.json"));
    fs::write(&manifest, serde_json::to_vec_pretty(&read_manifest())?)?;
    let manifest = (kind != Kind::ToolgateWrite).then_some(manifest.as_path());
    let reads = if kind == Kind::ToolgateUnrecorded { "skip" } else { "keep" };
    fs::write(&config, serde_json::to_vec_pretty(&configuration(echo, manifest, reads))?)?;
    let mut command = up(binary, folder);
    command.arg("--config").arg(config).arg("--data").arg(folder.join(name));
    Ok(command)
}

fn up(binary: &Path, folder: &Path) -> Command {
    let mut command = Command::new(binary);
    command.arg("up").args(["--port", "0"]);
    // The caller's own settings must not reach what is measured.
    command.env_remove("TOOLGATE_LOG").env_remove("RUST_LOG").current_dir(folder);
    command
}

fn configuration(echo: SocketAddr, manifest: Option<&Path>, reads: &str) -> Value {
    let mut upstream = json!({"url": format!("http://{echo}/mcp")});
    if let (Some(path), Some(upstream)) = (manifest, upstream.as_object_mut()) {
        upstream.insert("manifest".to_owned(), json!(path));
    }
    json!({
        "mode": "native",
        "naming": "none",
        "limits": {"calls_per_minute": CALLS_PER_MINUTE_MAX},
        "records": {"reads": reads},
        "upstreams": {"echo": upstream},
    })
}

/// Declares that `echo` only reads.
fn read_manifest() -> Value {
    json!({
        "adapter_id": "adp_bench_echo",
        "name": "Echo of the benchmark",
        "owner_role": "bench",
        "protocol": "mcp",
        "capabilities": [{
            "capability_id": "bench.echo",
            "tool": "echo",
            "class": "observe",
            "approval_mode": "read_only",
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_read_names_a_manifest() {
        let echo = "127.0.0.1:9".parse().unwrap();
        let manifest = |path| {
            let configuration = configuration(echo, path, "keep");
            configuration.pointer("/upstreams/echo/manifest").cloned()
        };
        assert_eq!(
            manifest(Some(Path::new("/tmp/manifest.json"))),
            Some("/tmp/manifest.json".into())
        );
        assert_eq!(manifest(None), None);
    }
}
