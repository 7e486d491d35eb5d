//! What is asked of answers, and which secrets must not be in them.

use std::collections::BTreeMap;

use gateway::{Html, OnViolation, Output, Redactor, RequireStructured};
use model::{Secret, UpstreamName};

use crate::config::{self, Config, OutputSchema, Profile, Sanitise, Target};

/// The rules for all upstreams.
pub(super) fn common(config: &Config, profile: Profile) -> Output {
    Output {
        require_structured: require(config.results.require_structured),
        on_violation: match (config.results.output_schema, profile) {
            (Some(set), _) => violation(set),
            (None, Profile::Production) => OnViolation::Block,
            (None, Profile::Dev) => OnViolation::Warn,
        },
        profile: sanitise(config.results.sanitise),
    }
}

/// The rules of those upstreams that have some of their own.
pub(super) fn own(config: &Config, common: Output) -> BTreeMap<UpstreamName, Output> {
    let own = config.upstreams.iter().map(|(name, upstream)| {
        let rules = upstream.output;
        let output = Output {
            require_structured: rules.require_structured.map_or(common.require_structured, require),
            on_violation: rules.on_violation.map_or(common.on_violation, violation),
            profile: rules.sanitise.map_or(common.profile, sanitise),
        };
        (name.clone(), output)
    });
    own.filter(|(_, output)| *output != common).collect()
}

/// Knows every secret of the configuration: tokens of callers, and what upstreams are given.
pub(crate) fn redactor(config: &Config) -> Redactor {
    let tokens = config.auth.tokens.iter().map(|token| token.token.0.clone());
    let given = config.upstreams.values().flat_map(|upstream| match &upstream.target {
        Target::Stdio { env, .. } => secrets(env),
        Target::Http { headers, .. }
        | Target::Sse { headers, .. }
        | Target::OpenApi { headers, .. } => secrets(headers),
        Target::Stub { .. } | Target::Demo | Target::Cassette { .. } => Vec::new(),
    });
    let endpoint = config.search.endpoint.iter().filter_map(|endpoint| endpoint.api_key.as_ref());
    let endpoint = endpoint.map(|key| key.0.clone());
    let collector = config.telemetry.otlp.iter().flat_map(|collector| {
        let headers = collector.headers.iter().map(|(name, value)| (name.clone(), value.0.clone()));
        secrets(&headers.collect())
    });
    let bucket = config.artifacts.secret_access_key.iter().map(|key| key.0.clone());
    let store = config.store.iter().map(|url| url.0.clone());
    let hooks = [&config.approvals.webhook, &config.hooks.verify, &config.hooks.score];
    let hook = hooks.into_iter().flatten().filter_map(|hook| hook.key.as_ref());
    let hook = hook.map(|key| key.0.clone());
    let ours = tokens.chain(hook).chain(store).chain(endpoint).chain(bucket).chain(collector);
    let all: Vec<Secret> = ours.chain(given).collect();
    Redactor::knowing(&all)
}

/// Variables and headers also hold plain words; only those named like a secret are taken for one.
fn secrets(named: &BTreeMap<String, Secret>) -> Vec<Secret> {
    const WORDS: [&str; 8] = ["auth", "key", "token", "secret", "cookie", "cred", "pass", "pwd"];
    let is_secret = |name: &String| {
        let name = name.to_ascii_lowercase();
        WORDS.iter().any(|word| name.contains(word))
    };
    // `Bearer x` may come back without its scheme.
    let bare =
        |secret: &Secret| Secret::new(secret.reveal().rsplit(' ').next().unwrap_or_default());
    named.iter().filter(|(name, _)| is_secret(name)).map(|(_, secret)| bare(secret)).collect()
}

const fn require(set: config::RequireStructured) -> RequireStructured {
    match set {
        config::RequireStructured::Never => RequireStructured::Never,
        config::RequireStructured::WhenSchema => RequireStructured::WhenSchema,
        config::RequireStructured::Always => RequireStructured::Always,
    }
}

const fn violation(set: OutputSchema) -> OnViolation {
    match set {
        OutputSchema::Block => OnViolation::Block,
        OutputSchema::Warn => OnViolation::Warn,
        OutputSchema::Pass => OnViolation::Pass,
    }
}

const fn sanitise(set: Sanitise) -> gateway::Profile {
    match set {
        Sanitise::Strict => gateway::Profile::Strict,
        Sanitise::Plain => gateway::Profile::Plain,
        Sanitise::Stargraph => gateway::Profile::Stargraph(Html::Escape),
        Sanitise::StargraphUnescaped => gateway::Profile::Stargraph(Html::Keep),
        Sanitise::Verbatim => gateway::Profile::Verbatim,
    }
}
