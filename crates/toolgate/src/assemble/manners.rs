//! How upstreams answered the calls on record: a model can mend what a tool says with `isError`, and
//! seldom an error of the protocol (CO-136).

use std::collections::BTreeMap;

use model::{Code, RecordStatus};
use store::{RecordFilter, Store};

use super::open_store;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::config::Config;

/// The newest records that are looked at.
const LOOKED_AT: u32 = 1_000;
/// Fewer calls say nothing.
const CALLS_MIN: u32 = 10;

/// The calls of one upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Manners {
    pub(super) calls: u32,
    /// Those that ended as an error of JSON-RPC.
    pub(super) protocol_errors: u32,
}

impl Manners {
    /// The share of calls that ended in an error of the protocol; nothing without a call.
    pub(super) fn ratio(self) -> Option<f64> {
        (self.calls > 0).then(|| f64::from(self.protocol_errors) / f64::from(self.calls))
    }

    /// What to tell whoever runs an upstream that answers mostly so.
    pub(super) fn concern(self) -> Option<String> {
        let Self { calls, protocol_errors } = self;
        let mostly = protocol_errors.saturating_mul(2) > calls;
        (calls >= CALLS_MIN && mostly).then(|| {
            format!(
                "{protocol_errors} of its last {calls} calls ended in an error of the protocol, \
                 which a model cannot mend; its tools should answer with `isError`"
            )
        })
    }
}

/// Those of every upstream, if a gate has ever run here.
pub(super) async fn on_record(config: &Config) -> Result<BTreeMap<String, Manners>, CliError> {
    let data = Context::data_folder(config)?;
    if config.store.is_none() && !data.join("toolgate.db").exists() {
        return Ok(BTreeMap::new());
    }
    let store = open_store(config, &data).await?;
    let counted = count(&store).await;
    store.close().await;
    counted
}

async fn count(store: &Store) -> Result<BTreeMap<String, Manners>, CliError> {
    let filter = RecordFilter { limit: LOOKED_AT, ..RecordFilter::default() };
    let mut counted: BTreeMap<String, Manners> = BTreeMap::new();
    for line in store.records(&filter).await? {
        let made = matches!(line.status, RecordStatus::Completed | RecordStatus::Failed);
        let Some((upstream, _)) = line.tool.split_once('/').filter(|_| made) else { continue };
        let manners = counted.entry(upstream.to_owned()).or_default();
        manners.calls += 1;
        if line.error == Some(Code::UpstreamError) {
            let record = store.record(line.record_id.as_str()).await?;
            let error = record.and_then(|record| record.result?.error);
            let refused = error.is_some_and(|fault| fault.details.contains_key("upstream_code"));
            manners.protocol_errors += u32::from(refused);
        }
    }
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CO-136: protocol errors are rare, and an upstream where they are not is told of.
    #[test]
    fn an_upstream_that_mostly_breaks_the_protocol_is_told_of() {
        let check = |calls: u32, protocol_errors: u32, ratio: Option<f64>, told: bool| {
            let manners = Manners { calls, protocol_errors };
            assert_eq!(manners.ratio(), ratio, "{manners:?}");
            assert_eq!(manners.concern().is_some(), told, "{manners:?}");
        };
        check(0, 0, None, false);
        check(4, 4, Some(1.0), false);
        check(10, 0, Some(0.0), false);
        check(20, 10, Some(0.5), false);
        check(20, 15, Some(0.75), true);
    }
}
