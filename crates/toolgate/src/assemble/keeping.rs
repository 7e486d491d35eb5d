//! Where records and artifacts are kept, and how much of them.

use std::path::Path;
use std::time::Duration;

use store::{Bucket, Place, Quotas};

use crate::config::{Artifacts, Config, Hidden, Text};

pub(super) fn store(config: &Config, data: &Path) -> store::Config {
    let Artifacts { ttl_seconds, max_bytes, max_count, .. } = config.artifacts;
    store::Config {
        url: config.store.as_ref().map(|url| url.0.clone()),
        place: place(&config.artifacts),
        quotas: Quotas {
            ttl: Duration::from_secs(ttl_seconds),
            bytes_max: max_bytes,
            count_max: max_count,
        },
        ..store::Config::folder(data)
    }
}

fn place(artifacts: &Artifacts) -> Place {
    let Some(url) = &artifacts.url else { return Place::Folder };
    let text = |text: &Option<Text>| text.as_ref().map(|text| text.as_str().to_owned());
    let secret = |hidden: &Option<Hidden>| hidden.as_ref().map(|hidden| hidden.0.clone());
    Place::Bucket(Bucket {
        url: url.as_str().to_owned(),
        endpoint: text(&artifacts.endpoint),
        region: text(&artifacts.region),
        access_key_id: secret(&artifacts.access_key_id),
        secret_access_key: secret(&artifacts.secret_access_key),
    })
}
