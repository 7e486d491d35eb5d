//! Builds the gate from its configuration: upstreams, rules, store, and the gateway over them.

pub(crate) mod archive;
mod connect;
pub(crate) mod doctor;
pub(crate) mod governing;
pub(crate) mod hardening;
mod keeping;
mod known;
pub(crate) mod listed;
mod manners;
mod meanings;
mod output;
pub(crate) mod programs;
pub(crate) mod schemas;
mod telemetry;
mod upkeep;
pub(crate) mod watched;

pub(crate) use connect::filter;
pub(crate) use listed::catalogue;
pub(crate) use output::redactor;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use auth::Doorkeeper;
use catalog::Catalogue;
use catalog::menu::{Also, Doors, Menu};
use gateway::{DriftRule, DriftRules, Gateway, Meaning, Parts, Refreshed, Settings};
use manifest::AdapterManifest;
use model::{Clock, UpstreamName};
use store::{InstanceLock, LockError, Store};
use tokio::task::JoinSet;
use upstream::Upstreams;
use upstream::stdio::Guard;

use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::config::{
    self, Config, Drift, Duplicates, Mode, Naming, Profile, StartupMode, Text, Transport,
};

/// A gate ready to serve. The data folder is ours as long as this lives.
#[derive(Debug)]
pub struct Gate {
    pub gateway: Arc<Gateway>,
    pub doorkeeper: Doorkeeper,
    pub refreshed: Refreshed,
    _lock: Option<InstanceLock>,
    _upkeep: JoinSet<()>,
}

/// Builds the gate and fills its catalogue. Upstreams that fail are reported, not fatal, unless
/// nothing is left to serve or `startup` and `required` say otherwise.
pub async fn gate(
    config: &Config,
    transport: Transport,
    data: &Path,
    note: &str,
) -> Result<Gate, CliError> {
    gate_at(config, transport, data, note, None).await
}

/// The same for a gate that people can reach with a browser, under `page`.
pub async fn gate_at(
    config: &Config,
    transport: Transport,
    data: &Path,
    note: &str,
    page: Option<String>,
) -> Result<Gate, CliError> {
    let profile = config.profile(transport);
    let watched = watched::Watched::new(config, profile);
    let rules = governing::rules(config, profile)?;
    let sources = sources(config, Some(data), profile)?;
    // Gates that share a server may share a folder, too; a file has one gate.
    let lock = match &config.store {
        None => Some(InstanceLock::take(data, note).map_err(|error| locked(&error))?),
        Some(_) => None,
    };
    let store = open_store(config, data).await?;
    store.sweep_artifacts().await.map_err(CliError::from)?;
    let adopted = store.adopt_unfinished().await.map_err(CliError::from)?;
    if adopted > 0 {
        tracing::warn!(calls = adopted, "calls of an earlier run ended without an outcome");
    }
    let gateway = Arc::new(Gateway::new(Parts {
        upstreams: sources.upstreams,
        manifests: sources.manifests,
        namespaces: sources.namespaces,
        naming: naming(config),
        rules,
        store: store.clone(),
        clock: Clock::System,
        settings: Settings {
            spans: telemetry::spans(&config.telemetry)?,
            ..settings(config, profile, page)?
        },
    }));
    let known = known::Known::new(config, data);
    let refreshed = gateway.begin(known.to_show(config), patience(config)).await;
    if let Err(error) = check_refreshed(&refreshed).and_then(|()| check_startup(config, &refreshed))
    {
        gateway.close(Duration::ZERO).await;
        return Err(error);
    }
    gateway.keep_lineage().await?;
    known.keep(&gateway.listed().await);
    let after = upkeep::After { known, watched };
    let upkeep = upkeep::start(&gateway, &store, &config.records, data, after);
    let doorkeeper = governing::doorkeeper(config);
    Ok(Gate { gateway, doorkeeper, refreshed, _lock: lock, _upkeep: upkeep })
}

/// Reads every file the configuration names, as the start would, and contacts nobody.
pub fn check(config: &Config, transport: Transport) -> Result<(), CliError> {
    let profile = config.profile(transport);
    governing::rules(config, profile)?;
    settings(config, profile, None)?;
    sources(config, None, profile).map(|_| ())
}

/// Meanings for such a catalogue, as a gate would get them.
pub async fn meaning(config: &Config, catalogue: &Catalogue) -> Meaning {
    let bare = Settings {
        search: gateway::Search {
            meanings: meanings::meanings(&config.search),
            feedback: config.search.feedback,
        },
        ..Settings::default()
    };
    let meaning = Meaning::new(&bare, Clock::System);
    meaning.learn(catalogue).await;
    meaning
}

/// The data folder of a gate that may be running, for people who read records and answer questions.
pub async fn open_store(config: &Config, data: &Path) -> Result<Store, CliError> {
    Store::open(&keeping::store(config, data), Clock::System)
        .await
        .map_err(|error| CliError::new(Exit::Unavailable, error.to_string()))
}

struct Sources {
    upstreams: Upstreams,
    manifests: BTreeMap<UpstreamName, Arc<AdapterManifest>>,
    namespaces: BTreeMap<UpstreamName, String>,
}

fn sources(config: &Config, data: Option<&Path>, profile: Profile) -> Result<Sources, CliError> {
    let egress = governing::egress(config, profile);
    let guard = Arc::new(Guard::default());
    let (mut members, mut namespaces) = (Vec::new(), BTreeMap::new());
    let manifests = watched::read(&config.upstreams)?;
    for (name, upstream) in config.upstreams.iter().filter(|(_, upstream)| upstream.enabled) {
        members.push((
            name.clone(),
            connect::member(
                name,
                upstream,
                &connect::World { data, guard: &guard, egress: &egress },
            )?,
        ));
        if let Some(namespace) = &upstream.namespace {
            namespaces.insert(name.clone(), namespace.as_str().to_owned());
        }
    }
    Ok(Sources { upstreams: Upstreams::new(members), manifests, namespaces })
}

fn settings(config: &Config, profile: Profile, page: Option<String>) -> Result<Settings, CliError> {
    let egress = governing::egress(config, profile);
    let webhook = config.approvals.webhook.as_ref();
    let webhook = webhook.map(|hook| governing::webhook(hook, &egress)).transpose()?;
    let allowed = |hosts: &Vec<Text>| hosts.iter().map(|host| host.as_str().to_owned()).collect();
    let common = output::common(config, profile);
    let Menu { doors, also, max_cards, .. } = menu(config);
    Ok(Settings {
        mode: match config.mode {
            Mode::Auto | Mode::Gateway => gateway::Mode::Gateway,
            Mode::Transparent => gateway::Mode::Transparent,
            Mode::Native => gateway::Mode::Native,
        },
        wire_prefix: config.naming_prefix.as_str().to_owned(),
        native_up_to_tokens: (config.mode == Mode::Auto).then_some(config.exposure.auto_tokens),
        doors,
        also,
        max_cards,
        cache_stable: config.browse.cache_stable,
        drift: drift(config, profile),
        call_timeout: Duration::from_millis(config.limits.call_timeout_ms),
        calls_per_minute: config.limits.calls_per_minute,
        calls_in_flight: config.limits.calls_in_flight,
        inline_chars: config.results.inline_chars,
        budget_tokens: config.results.budget_tokens,
        output: common,
        outputs: output::own(config, common),
        redactor: redactor(config),
        approval_ttl: Duration::from_secs(config.approvals.ttl_seconds),
        approval_page: page,
        approval_webhook: webhook,
        ask_client: config.approvals.ask_client.unwrap_or(profile == Profile::Dev),
        critic: governing::critic(&config.hooks, &egress)?,
        undeclared_asks: profile == Profile::Dev,
        rates: governing::rates(config),
        runs: governing::runs(&config.limits.run),
        reads: match config.records.reads {
            config::Reads::Keep => gateway::Reads::Keep,
            config::Reads::Skip => gateway::Reads::Skip,
        },
        search: gateway::Search {
            meanings: meanings::meanings(&config.search),
            feedback: config.search.feedback,
        },
        spans: None,
        answer_bytes: config.records.answer_bytes,
        in_flight_wait: Duration::from_millis(config.limits.in_flight_wait_ms),
        egress_allow: config.egress.allow.as_ref().map(allowed),
    })
}

/// How the gate's own tools are listed, in whichever mode.
pub(crate) fn menu(config: &Config) -> Menu {
    Menu {
        doors: if config.exposure.split_execute { Doors::ByDeed } else { Doors::One },
        also: Also { resources: config.exposure.resources, prompts: config.exposure.prompts },
        max_cards: config.browse.max_cards.clamp(1, catalog::limits::TOP_K_MAX),
        ..Menu::default()
    }
}

/// What each upstream's drift means: its own word, else the profile's.
fn drift(config: &Config, profile: Profile) -> DriftRules {
    let rule = |drift: Drift| match drift {
        Drift::Hold => DriftRule::Hold,
        Drift::Warn => DriftRule::Warn,
        Drift::Ignore => DriftRule::Ignore,
    };
    let own = config.upstreams.iter();
    DriftRules {
        otherwise: match profile {
            Profile::Production => DriftRule::Hold,
            Profile::Dev => DriftRule::Warn,
        },
        by_upstream: own
            .filter_map(|(name, upstream)| Some((name.clone(), rule(upstream.drift?))))
            .collect(),
    }
}

const fn naming(config: &Config) -> catalog::Naming {
    match config.naming {
        Naming::Auto => catalog::Naming::Auto,
        Naming::None => match config.duplicates {
            Duplicates::Qualify => catalog::Naming::None,
            Duplicates::FirstWins => catalog::Naming::FirstWins,
            Duplicates::Error => catalog::Naming::Distinct,
        },
        Naming::Wire => catalog::Naming::Wire,
        Naming::Short => catalog::Naming::Short,
        Naming::Legacy => catalog::Naming::Legacy,
        Naming::Canonical => catalog::Naming::Canonical,
        Naming::Capability => catalog::Naming::Capability,
    }
}

/// Who insists on an upstream waits for it as long as any start may take.
fn patience(config: &Config) -> Duration {
    let insists = config.startup.mode == StartupMode::Strict
        || config.startup.min_healthy > 0
        || config.upstreams.values().any(|upstream| upstream.enabled && upstream.required);
    if insists {
        return upstream::limits::START_TIMEOUT;
    }
    Duration::from_millis(config.startup.wait_ms)
}

/// Whether those are there that must be (OR-33, C19).
fn check_startup(config: &Config, refreshed: &Refreshed) -> Result<(), CliError> {
    let must = |name: &UpstreamName| {
        config.startup.mode == StartupMode::Strict
            || config.upstreams.get(name).is_some_and(|upstream| upstream.required)
    };
    let missed = refreshed.failures.iter().find(|(name, _)| must(name));
    if let Some((name, fault)) = missed {
        let message = format!("upstream `{name}` is required: {}", fault.message);
        return Err(CliError::new(Exit::Unavailable, message).hint(
            "`toolgate doctor` shows what it wrote; `startup.mode: degraded` starts without",
        ));
    }
    let enabled = config.upstreams.values().filter(|upstream| upstream.enabled).count();
    let healthy = enabled.saturating_sub(refreshed.failures.len());
    if healthy < config.startup.min_healthy {
        let wanted = config.startup.min_healthy;
        let message = format!("{healthy} of {enabled} upstreams answer, and {wanted} must");
        return Err(CliError::new(Exit::Unavailable, message)
            .hint("`toolgate doctor` shows what is wrong with the others"));
    }
    Ok(())
}

/// Says which upstreams failed; with no tool left there is nothing to be a gate to.
fn check_refreshed(refreshed: &Refreshed) -> Result<(), CliError> {
    let reasons: Vec<String> = refreshed
        .failures
        .iter()
        .map(|(name, fault)| format!("upstream `{name}`: {}", fault.message))
        .collect();
    if refreshed.tools == 0 {
        let why = if reasons.is_empty() {
            "no upstream offers any".to_owned()
        } else {
            reasons.join("; ")
        };
        return Err(CliError::new(
            Exit::Unavailable,
            format!("there are no tools to serve: {why}"),
        )
        .hint("`toolgate doctor` shows what each upstream says"));
    }
    for ((name, fault), reason) in refreshed.failures.iter().zip(reasons) {
        let detail = fault.log.as_deref().unwrap_or_default();
        tracing::warn!(upstream.name = name.as_str(), detail, "{reason}; its tools are missing");
    }
    Ok(())
}

fn locked(error: &LockError) -> CliError {
    let exit = if matches!(error, LockError::Held { .. }) { Exit::Busy } else { Exit::Unavailable };
    CliError::new(exit, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_is_held_in_production_and_said_in_dev_unless_the_file_says_otherwise() {
        let check = |own: &str, profile: Profile, expected: DriftRule| {
            let text = format!("upstreams: {{a: {{type: demo{own}}}}}\n");
            let file = config::read(&text, Path::new("toolgate.yaml"), &|_| None).unwrap();
            let rule = drift(&file.config, profile).of(&UpstreamName::from_string("a"));
            assert_eq!(rule, expected, "{own} {profile:?}");
        };
        check("", Profile::Production, DriftRule::Hold);
        check("", Profile::Dev, DriftRule::Warn);
        check(", drift: ignore", Profile::Production, DriftRule::Ignore);
        check(", drift: warn", Profile::Production, DriftRule::Warn);
        check(", drift: hold", Profile::Dev, DriftRule::Hold);
    }
}
