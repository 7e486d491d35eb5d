//! The same browses through a gate, which also asks policy what the caller may see and cleans what
//! it says. Nothing is sent anywhere.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use catalog::{Naming, Query, Source};
use gateway::{Gateway, Parts, Settings};
use model::{Answer, Caller, Clock, Fault, Principal};
use policy::{Permit, Rules};
use serde_json::Value;
use store::{Config, Store};
use tokio::runtime::{Builder, Runtime};
use upstream::{Connector, Errand, Member, Upstreams};

use super::at;
use crate::Outcome;
use crate::cpu::timed;

/// Some of the upstreams are another team's.
const BY_ROLE: &str = r#"
permit(principal in Role::"team", action, resource);
forbid(principal, action, resource)
when { resource.upstream like "upstream9*" }
unless { principal in Role::"admin" };"#;

/// Every tool is looked at.
const BY_NAME: &str = r#"
permit(principal in Role::"team", action, resource);
forbid(principal, action, resource) when { resource.name like "*delete*" };"#;

pub(super) fn browses(sources: &[Source], queries: &[String], table: &mut String) -> Outcome<()> {
    let rules = |text: &str| Rules::parse("bench.cedar", text).map_err(|error| error.to_string());
    let kinds = [
        ("permit all", Rules::permit_all()),
        ("by role", rules(BY_ROLE)?),
        ("by name", rules(BY_NAME)?),
    ];
    for (kind, rules) in kinds {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let home = tempfile::tempdir()?;
        let gateway = runtime.block_on(start(sources, rules, home.path()))?;
        let (first, times) = browse_all(&runtime, &gateway, queries)?;
        runtime.block_on(gateway.close(Duration::from_secs(1)));
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let (middle, most) = (micros(at(&times, 50)), micros(at(&times, 99)));
        writeln!(
            table,
            "gate, {kind:<10}  {:>8.0} us first, {middle:.0} us p50, {most:.0} us p99",
            micros(first)
        )?;
    }
    Ok(())
}

/// The first browse of a caller, and all later ones in order of their time.
fn browse_all(
    runtime: &Runtime,
    gateway: &Gateway,
    queries: &[String],
) -> Outcome<(Duration, Vec<Duration>)> {
    let mut caller = Caller::new(Principal::user("ann"));
    caller.roles = vec!["team".to_owned()];
    let browse = |words: &String| {
        let query = Query::Words(words.clone());
        let (time, cleared) = timed(|| runtime.block_on(gateway.browse(&caller, &query, None)));
        if cleared.get().is_error { Err("a browse was refused") } else { Ok(time) }
    };
    let first = browse(&"list files".to_owned())?;
    let mut times = queries.iter().map(browse).collect::<Result<Vec<_>, _>>()?;
    times.sort_unstable();
    Ok((first, times))
}

async fn start(sources: &[Source], rules: Rules, home: &std::path::Path) -> Outcome<Gateway> {
    let members = sources.iter().map(|source| {
        let shelf = Shelf(source.definitions.clone());
        (source.upstream.clone(), Member::new(Arc::new(shelf)))
    });
    let clock = Clock::default();
    let gateway = Gateway::new(Parts {
        upstreams: Upstreams::new(members),
        manifests: BTreeMap::new(),
        namespaces: BTreeMap::new(),
        naming: Naming::Auto,
        rules,
        store: Store::open(&Config::folder(home), clock.clone()).await?,
        clock,
        settings: Settings::default(),
    });
    let refreshed = Box::pin(gateway.refresh()).await;
    if refreshed.failures.is_empty() { Ok(gateway) } else { Err("an upstream failed".into()) }
}

/// Has tools, and never does anything.
#[derive(Debug)]
struct Shelf(Vec<Value>);

#[async_trait]
impl Connector for Shelf {
    fn protocol(&self) -> &'static str {
        "mcp"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        Ok(self.0.clone())
    }

    async fn call(&self, _permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        Ok(Answer::text(""))
    }
}
