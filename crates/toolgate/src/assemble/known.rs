//! What upstreams listed last, kept beside the records, so that the next start can show it before
//! they answer. A copy is no more than a memory: it is marked stale and replaced as soon as may be.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::{UpstreamName, canonical};
use serde::{Deserialize, Serialize};
use upstream::Offer;

use crate::config::{Config, StartupMode, Target, Upstream};

/// The folder of the copies, in the data folder.
const FOLDER: &str = "known";
/// A copy larger than this is not worth reading at a start.
const COPY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Where copies are, and of which upstreams.
#[derive(Debug)]
pub(super) struct Known {
    folder: PathBuf,
    /// How each upstream is configured, in a hash: another command is another server.
    upstreams: BTreeMap<UpstreamName, String>,
}

#[derive(Serialize, Deserialize)]
struct Copy {
    configured: String,
    offer: Offer,
}

impl Known {
    pub(super) fn new(config: &Config, data: &Path) -> Self {
        let remote = config.upstreams.iter().filter(|(_, upstream)| is_slow(&upstream.target));
        let upstreams = remote.map(|(name, upstream)| (name.clone(), configured(upstream)));
        Self { folder: data.join(FOLDER), upstreams: upstreams.collect() }
    }

    /// The copies a start may show: none of upstreams that must answer themselves.
    pub(super) fn to_show(&self, config: &Config) -> BTreeMap<UpstreamName, Offer> {
        if config.startup.mode == StartupMode::Strict || config.startup.min_healthy > 0 {
            return BTreeMap::new();
        }
        let wanted = |name: &UpstreamName| {
            config
                .upstreams
                .get(name)
                .is_some_and(|upstream| upstream.enabled && !upstream.required)
        };
        let names = self.upstreams.keys().filter(|name| wanted(name));
        names.filter_map(|name| Some((name.clone(), self.read(name)?))).collect()
    }

    /// Keeps these, each in a file of its own. A copy that cannot be kept is not missed.
    pub(super) fn keep(&self, listed: &BTreeMap<UpstreamName, Offer>) {
        for (name, offer) in listed {
            if let Some(configured) = self.upstreams.get(name)
                && let Err(error) = self.write(name, configured, offer)
            {
                tracing::warn!(upstream.name = name.as_str(), %error, "its list was not kept");
            }
        }
    }

    fn read(&self, name: &UpstreamName) -> Option<Offer> {
        let text = std::fs::read(self.file(name)).ok()?;
        let copy: Copy = serde_json::from_slice(&text).ok()?;
        (self.upstreams.get(name) == Some(&copy.configured)).then_some(copy.offer)
    }

    fn write(&self, name: &UpstreamName, configured: &str, offer: &Offer) -> std::io::Result<()> {
        let copy = Copy { configured: configured.to_owned(), offer: offer.clone() };
        let text = serde_json::to_vec(&copy)?;
        if text.len() > COPY_BYTES_MAX {
            return Ok(());
        }
        std::fs::create_dir_all(&self.folder)?;
        // Whole or not at all: a copy cut off in the middle would be a lie.
        let fresh = self.folder.join(format!("{name}.new"));
        std::fs::write(&fresh, text)?;
        std::fs::rename(fresh, self.file(name))
    }

    fn file(&self, name: &UpstreamName) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }
}

/// Others list without waiting for anybody.
const fn is_slow(target: &Target) -> bool {
    matches!(target, Target::Stdio { .. } | Target::Http { .. } | Target::Sse { .. })
}

fn configured(upstream: &Upstream) -> String {
    let Upstream { target, protocol, include, exclude, .. } = upstream;
    let text = format!("{target:?} {protocol:?} {include:?} {exclude:?}");
    canonical::hash_bytes(text.as_bytes())
}
