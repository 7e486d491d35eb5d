//! The parts of the gate that govern: rules and where they come from, who callers are, bounds, and
//! whom to tell.

use std::sync::Arc;
use std::time::Duration;

use auth::{Doorkeeper, Key};
use gateway::{Critic, Rate, Rates, RunLimits};
use model::run::RunBudget;
use model::{ApprovalMode, Grant, Principal, PrincipalKind};
use policy::{Rules, schema};
use upstream::{Egress, Webhook};

use super::connect;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::config::{
    CallerKind, Ceiling, Config, Hook, Hooks, Private, Profile, RateLimit, RunBounds, Text, Token,
};

/// The rules a gate starts with. A mistake in the file names its line and what to write instead.
pub(super) fn rules(config: &Config, profile: Profile) -> Result<Rules, CliError> {
    let Some(path) = &config.policy else {
        return Ok(match profile {
            Profile::Dev => Rules::permit_all(),
            Profile::Production => Rules::permit_declared(),
        });
    };
    let text = connect::read(path)?;
    read_rules(path.shown(), &text, profile).map_err(|why| CliError::new(Exit::Config, why))
}

/// Policy text that may be put in force. In production, whatever it permits still needs what the
/// mode of the call needs.
pub(crate) fn read_rules(file: &str, text: &str, profile: Profile) -> Result<Rules, String> {
    let findings = schema::look_over(file, text).map_err(|error| error.to_string())?;
    if let Some(finding) = findings.iter().find(|finding| finding.grave) {
        return Err(format!("{file}: {finding}"));
    }
    let rules = Rules::parse(file, text).map_err(|error| error.to_string())?;
    Ok(match profile {
        Profile::Dev => rules,
        Profile::Production => rules.by_mode(),
    })
}

pub(super) fn doorkeeper(config: &Config) -> Doorkeeper {
    let auth = &config.auth;
    let keys = auth.tokens.iter().map(|token| Key {
        token: token.token.0.clone(),
        approver: token.approver,
        caller: caller(token, auth.scoped_grants_only),
    });
    let mut local = model::Caller::new(Principal::user("local"));
    local.grants = grants(&auth.local_grants);
    local.roles = own(&auth.local_roles);
    local.scoped_only = auth.scoped_grants_only;
    Doorkeeper::new(keys.collect(), Vec::new()).with_local(local)
}

fn caller(token: &Token, scoped_only: bool) -> model::Caller {
    let kind = match token.kind {
        CallerKind::User => PrincipalKind::User,
        CallerKind::Service => PrincipalKind::Service,
        CallerKind::Agent => PrincipalKind::Agent,
        CallerKind::Automation => PrincipalKind::Automation,
    };
    let tenant_id = token.tenant.as_ref().map(|tenant| tenant.as_str().to_owned());
    model::Caller {
        grants: grants(&token.grants),
        scoped_only,
        roles: own(&token.roles),
        ceiling: token.ceiling.map(ceiling),
        acts_for: token.acts_for.as_ref().map(|user| {
            let tenant_id = tenant_id.clone();
            Box::new(Principal { tenant_id, ..Principal::user(user.as_str()) })
        }),
        ..model::Caller::new(Principal { kind, id: token.name.as_str().to_owned(), tenant_id })
    }
}

fn grants(texts: &[Text]) -> Vec<Grant> {
    texts.iter().map(|text| Grant::read(text.as_str())).collect()
}

fn own(texts: &[Text]) -> Vec<String> {
    texts.iter().map(|text| text.as_str().to_owned()).collect()
}

const fn ceiling(ceiling: Ceiling) -> ApprovalMode {
    match ceiling {
        Ceiling::ReadOnly => ApprovalMode::ReadOnly,
        Ceiling::LocalWrite => ApprovalMode::LocalWrite,
        Ceiling::Network => ApprovalMode::Network,
        Ceiling::Delegated => ApprovalMode::Delegated,
        Ceiling::Destructive => ApprovalMode::Destructive,
    }
}

pub(super) fn rates(config: &Config) -> Rates {
    let rate =
        |limit: &RateLimit| Rate { per_minute: limit.calls_per_minute, in_flight: limit.in_flight };
    let limits = &config.limits;
    Rates {
        per_caller: rate(&limits.per_caller),
        per_tool: rate(&limits.per_tool),
        per_upstream: rate(&limits.per_upstream),
    }
}

pub(super) fn runs(run: &RunBounds) -> RunLimits {
    RunLimits {
        budget: RunBudget {
            max_calls: run.calls,
            max_write_calls: run.writes,
            max_tokens: run.tokens,
            max_wall_ms: run.seconds.map(|seconds| seconds.saturating_mul(1_000)),
            max_cost_minor: run.cost,
            max_retries: run.retries,
            max_iterations: run.iterations,
            max_result_bytes: run.result_bytes,
            max_elicitations: run.elicitations,
            max_samples: run.samples,
        },
        same_call: run.same_call,
        costs: run.costs.iter().map(|(pattern, cost)| (pattern.clone(), *cost)).collect(),
    }
}

/// Which addresses may be reached over HTTP.
pub(super) fn egress(config: &Config, profile: Profile) -> Egress {
    let default = match profile {
        Profile::Dev => Private::Allow,
        Profile::Production => Private::Refuse,
    };
    match config.egress.private.unwrap_or(default) {
        Private::Allow => Egress::Open,
        Private::Refuse => Egress::public(own(&config.egress.allow_private)),
    }
}

pub(super) fn webhook(hook: &Hook, egress: &Egress) -> Result<Arc<Webhook>, CliError> {
    let timeout = Duration::from_millis(hook.timeout_ms);
    let key = hook.key.as_ref().map(|key| key.0.clone());
    let made = Webhook::new(hook.url.as_str(), key, timeout, egress);
    made.map(Arc::new).map_err(|fault| CliError::new(Exit::Config, fault.message))
}

/// Whom to ask before a call, and after.
pub(super) fn critic(hooks: &Hooks, egress: &Egress) -> Result<Critic, CliError> {
    let made = |hook: &Option<Hook>| hook.as_ref().map(|hook| webhook(hook, egress)).transpose();
    Ok(Critic {
        verify: made(&hooks.verify)?,
        score: made(&hooks.score)?,
        scorecard: hooks.scorecard,
    })
}
