//! Files that are looked after while the gate runs: the policy, and the manifests. What is changed
//! comes into force whole; a mistake in it leaves in force what was.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use gateway::Gateway;
use manifest::AdapterManifest;
use model::UpstreamName;
use policy::Rules;

use super::schemas::Schemas;
use super::{connect, governing};
use crate::cli::error::CliError;
use crate::config::{Config, ConfigPath, Profile, Upstream};

/// When a file was last written, and how long it is; absent while there is none.
type Stamp = Option<(SystemTime, u64)>;

/// All of them, as they were before anybody read them: what is written while the gate starts is seen
/// at the first look.
pub(super) struct Watched {
    policy: Option<PolicyFile>,
    manifests: ManifestFiles,
}

impl Watched {
    pub(super) fn new(config: &Config, profile: Profile) -> Self {
        Self {
            policy: PolicyFile::new(config, profile),
            manifests: ManifestFiles::new(&config.upstreams),
        }
    }

    pub(super) async fn look(&mut self, gateway: &Gateway) {
        if let Some(policy) = &mut self.policy {
            policy.look(gateway);
        }
        self.manifests.look(gateway).await;
    }
}

struct PolicyFile {
    path: ConfigPath,
    profile: Profile,
    seen: Stamp,
}

impl PolicyFile {
    fn new(config: &Config, profile: Profile) -> Option<Self> {
        let path = config.policy.clone()?;
        let seen = stamp(path.as_path());
        Some(Self { path, profile, seen })
    }

    fn look(&mut self, gateway: &Gateway) {
        let file = self.path.shown().to_owned();
        match self.changed() {
            None => {}
            Some(Ok(rules)) => {
                tracing::info!(policy.file = file, policy.hash = rules.hash(), "policy read anew");
                gateway.swap_rules(rules);
            }
            Some(Err(trouble)) => {
                tracing::error!(policy.file = file, %trouble, "the former policy stays in force");
                gateway.keep_rules(trouble);
            }
        }
    }

    fn changed(&mut self) -> Option<Result<Rules, String>> {
        // Stamped before it is read: who writes in between is seen at the next look.
        let stamp = stamp(self.path.as_path());
        if stamp == self.seen {
            return None;
        }
        self.seen = stamp;
        let read = connect::read(&self.path).map_err(|error| error.message);
        let file = self.path.shown();
        Some(read.and_then(|text| governing::read_rules(file, &text, self.profile)))
    }
}

/// The manifests of all upstreams, of which none comes into force without the others.
struct ManifestFiles {
    upstreams: BTreeMap<UpstreamName, Upstream>,
    /// Where the manifests that were read last look for schemas.
    schemas: Vec<PathBuf>,
    seen: Vec<Stamp>,
}

type Manifests = BTreeMap<UpstreamName, Arc<AdapterManifest>>;

impl ManifestFiles {
    fn new(upstreams: &BTreeMap<UpstreamName, Upstream>) -> Self {
        let enabled = upstreams.iter().filter(|(_, upstream)| upstream.enabled);
        let upstreams = enabled.map(|(name, upstream)| (name.clone(), upstream.clone())).collect();
        let manifests = read(&upstreams).unwrap_or_default();
        let schemas = schema_files(&upstreams, &manifests);
        let seen = stamps(&upstreams, &schemas);
        Self { upstreams, schemas, seen }
    }

    async fn look(&mut self, gateway: &Gateway) {
        match self.changed() {
            None => {}
            Some(Ok(manifests)) => {
                tracing::info!(manifests = manifests.len(), "manifests read anew");
                gateway.swap_manifests(manifests).await;
            }
            Some(Err(error)) => {
                let trouble = error.message;
                tracing::error!(%trouble, "the former manifests stay in force");
                gateway.keep_manifests(trouble);
            }
        }
    }

    fn changed(&mut self) -> Option<Result<Manifests, CliError>> {
        let now = stamps(&self.upstreams, &self.schemas);
        if now == self.seen {
            return None;
        }
        self.seen = now;
        let read = read(&self.upstreams);
        if let Ok(manifests) = &read {
            let schemas = schema_files(&self.upstreams, manifests);
            if schemas != self.schemas {
                self.schemas = schemas;
                self.seen = stamps(&self.upstreams, &self.schemas);
            }
        }
        Some(read)
    }
}

/// What is declared about each upstream that has a manifest.
pub(crate) fn read(upstreams: &BTreeMap<UpstreamName, Upstream>) -> Result<Manifests, CliError> {
    let enabled = upstreams.iter().filter(|(_, upstream)| upstream.enabled);
    let read = enabled.filter_map(|(name, upstream)| {
        let manifest = connect::manifest(upstream).transpose()?;
        Some(manifest.map(|manifest| (name.clone(), Arc::new(manifest))))
    });
    read.collect()
}

fn stamps(upstreams: &BTreeMap<UpstreamName, Upstream>, schemas: &[PathBuf]) -> Vec<Stamp> {
    let files = upstreams.values().flat_map(|one| one.manifest.iter().chain(&one.bindings));
    let files = files.map(ConfigPath::as_path).chain(schemas.iter().map(PathBuf::as_path));
    files.map(stamp).collect()
}

/// The files that references of these manifests lead to, whether they are there or not.
fn schema_files(
    upstreams: &BTreeMap<UpstreamName, Upstream>,
    manifests: &Manifests,
) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for (name, manifest) in manifests {
        let path = upstreams.get(name).and_then(|upstream| upstream.manifest.as_ref());
        let Some(path) = path else { continue };
        let schemas = Schemas::of(path.as_path(), path.shown(), None);
        files.extend(manifest.schema_refs().filter_map(|used| schemas.file(used.reference)));
    }
    files
}

fn stamp(path: &Path) -> Stamp {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.modified().ok()?, meta.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = "permit (principal, action, resource);";

    fn config(folder: &Path) -> (Config, PathBuf) {
        let policy = folder.join("policy.cedar");
        std::fs::write(&policy, ALL).unwrap();
        let text = "upstreams: {a: {type: demo}}\npolicy: policy.cedar\n";
        let file = crate::config::read(text, &folder.join("toolgate.yaml"), &|_| None).unwrap();
        (file.config, policy)
    }

    /// A gate may take long to start, and people write meanwhile.
    #[test]
    fn what_is_written_while_the_gate_starts_is_seen_at_the_first_look() {
        let folder = tempfile::tempdir().unwrap();
        let (config, policy) = config(folder.path());
        let mut watched = Watched::new(&config, Profile::Production);
        let started_with = governing::rules(&config, Profile::Production).unwrap();
        let file = watched.policy.as_mut().unwrap();
        assert!(file.changed().is_none());
        std::fs::write(&policy, format!("{ALL} // another")).unwrap();
        let seen = file.changed().unwrap().unwrap();
        assert_ne!(seen.hash(), started_with.hash());
        assert!(file.changed().is_none());
    }

    /// C39: a file takes nothing away from what production needs.
    #[test]
    fn a_policy_file_is_held_to_the_modes_in_production_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (config, _) = config(folder.path());
        let check = |profile: Profile, gates: &[&str]| {
            let rules = governing::rules(&config, profile).unwrap();
            assert!(rules.gates().into_iter().eq(gates.iter().copied()), "{profile:?}");
        };
        check(Profile::Dev, &[]);
        check(Profile::Production, &["DESTRUCTIVE"]);
    }
}
