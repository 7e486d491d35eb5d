//! The hardening checklist (CW-57): what an operator does before others may depend on a gate, and
//! how much of it the configuration shows. `docs/security-model.md` says why.

use serde::Serialize;

use crate::config::{Config, Drift, Profile, Target, Upstream};

/// One thing to do.
#[derive(Debug, Serialize)]
pub(crate) struct Point {
    pub(crate) what: &'static str,
    pub(crate) how: &'static str,
    pub(crate) done: bool,
}

pub(crate) fn checklist(config: &Config) -> Vec<Point> {
    let production = config.profile == Some(Profile::Production);
    let all = |test: &dyn Fn(&Upstream) -> bool| {
        config.upstreams.values().filter(|upstream| upstream.enabled).all(test)
    };
    let declared = |upstream: &Upstream| {
        upstream.manifest.is_some() || matches!(upstream.target, Target::Demo)
    };
    let held = |upstream: &Upstream| {
        upstream.drift == Some(Drift::Hold) || (upstream.drift.is_none() && production)
    };
    let point = |what, how, done| Point { what, how, done };
    vec![
        point("strict defaults", "set `profile: production`", production),
        point(
            "callers show who they are",
            "give each a token in `auth.tokens`",
            !config.auth.tokens.is_empty(),
        ),
        point("calls need a permit", "write rules, name them in `policy`", config.policy.is_some()),
        point(
            "tools are declared",
            "review a manifest for every upstream, name it in `manifest`",
            all(&declared),
        ),
        point("changed tools are held", "set `drift: hold` for every upstream", all(&held)),
        point(
            "calls reach known hosts",
            "list them in `egress.allow`",
            config.egress.allow.is_some(),
        ),
    ]
}
