//! What an operator may set about the road. Plain values; read from files elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use catalog::menu::{Also, Doors, Mode};
use context::{Profile, Redactor};
use model::{UpstreamName, limits};
use upstream::{Spans, Webhook};

use crate::meaning::Meanings;
use crate::pace::Rates;
use crate::runs::RunLimits;

/// What happens to an answer that breaks what is asked of it. It is recorded either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnViolation {
    Block,
    #[default]
    Warn,
    Pass,
}

/// When an answer must carry structured content (resolution C11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequireStructured {
    Never,
    /// When the tool declares an output schema.
    #[default]
    WhenSchema,
    /// Always, and as an object.
    Always,
}

/// How the answers of one upstream are judged and cleaned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output {
    pub require_structured: RequireStructured,
    pub on_violation: OnViolation,
    pub profile: Profile,
}

/// Whether calls that only read leave a record. Calls that write and refusals always do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    #[default]
    Keep,
    Skip,
}

/// How tools are found.
#[derive(Clone, Debug, Default)]
pub struct Search {
    pub meanings: Meanings,
    /// Whether a caller's own calls decide between tools that fit nearly the same.
    pub feedback: bool,
}

/// What happens to a tool that departs from what was accepted of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DriftRule {
    /// Neither listed nor callable until somebody accepts it.
    Hold,
    /// Said in the log.
    #[default]
    Warn,
    /// Not even compared.
    Ignore,
}

#[derive(Clone, Debug, Default)]
pub struct DriftRules {
    pub by_upstream: BTreeMap<UpstreamName, DriftRule>,
    pub otherwise: DriftRule,
}

impl DriftRules {
    pub fn of(&self, upstream: &UpstreamName) -> DriftRule {
        self.by_upstream.get(upstream).copied().unwrap_or(self.otherwise)
    }
}

/// Addresses of the operator's own that have a say about calls.
#[derive(Clone, Debug, Default)]
pub struct Critic {
    /// Asked before a call is made.
    pub verify: Option<Arc<Webhook>>,
    /// Asked what an answer is worth.
    pub score: Option<Arc<Webhook>>,
    /// Whether the five scores of the built-in rules are kept with the record.
    pub scorecard: bool,
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub mode: Mode,
    /// What wire names begin with.
    pub wire_prefix: String,
    /// Show tools natively while the whole list costs at most so many tokens, in `mode` above.
    pub native_up_to_tokens: Option<usize>,
    pub doors: Doors,
    pub also: Also,
    /// The most cards one browse may be asked for, 1 to 50.
    pub max_cards: usize,
    /// Cards a caller has seen come first and unchanged.
    pub cache_stable: bool,
    pub drift: DriftRules,
    pub call_timeout: Duration,
    pub calls_per_minute: u32,
    pub calls_in_flight: u32,
    /// Text longer than this becomes an artifact in the modes that can view one.
    pub inline_chars: usize,
    /// Tokens that the excerpt in its place may cost, about.
    pub budget_tokens: usize,
    /// For upstreams that have no rules of their own.
    pub output: Output,
    pub outputs: BTreeMap<UpstreamName, Output>,
    /// Knows the secrets this gate holds.
    pub redactor: Redactor,
    pub approval_ttl: Duration,
    /// Where somebody can answer in a browser; the approval's id follows.
    pub approval_page: Option<String>,
    /// Told of every new question.
    pub approval_webhook: Option<Arc<Webhook>>,
    /// Whether the person at a client that can ask one may answer.
    pub ask_client: bool,
    pub critic: Critic,
    /// Whether upstreams that no manifest speaks of may ask clients: people, models, folders.
    pub undeclared_asks: bool,
    /// How often and how many at once, beyond one caller on one tool.
    pub rates: Rates,
    pub runs: RunLimits,
    pub reads: Reads,
    /// Who hears of every call that has ended, if anybody does.
    pub spans: Option<Spans>,
    pub search: Search,
    /// Answers up to this size are kept with the record, for replay.
    pub answer_bytes: usize,
    /// How long a call waits for another one with the same key before it is refused.
    pub in_flight_wait: Duration,
    /// Hosts that calls may reach, as names or `*.suffix`. Absent: every configured upstream.
    pub egress_allow: Option<Vec<String>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::Gateway,
            wire_prefix: catalog::names::WIRE_PREFIX.to_owned(),
            native_up_to_tokens: None,
            doors: Doors::One,
            also: Also::default(),
            max_cards: catalog::limits::TOP_K_MAX,
            cache_stable: false,
            drift: DriftRules::default(),
            call_timeout: limits::CALL_TIMEOUT_DEFAULT,
            calls_per_minute: limits::CALLS_PER_MINUTE_DEFAULT,
            calls_in_flight: limits::CALLS_IN_FLIGHT_DEFAULT,
            inline_chars: limits::INLINE_CHARS_DEFAULT,
            budget_tokens: limits::BUDGET_TOKENS_DEFAULT,
            output: Output::default(),
            outputs: BTreeMap::new(),
            redactor: Redactor::default(),
            approval_ttl: limits::APPROVAL_TTL_DEFAULT,
            approval_page: None,
            approval_webhook: None,
            ask_client: false,
            critic: Critic::default(),
            undeclared_asks: true,
            rates: Rates::default(),
            runs: RunLimits::default(),
            reads: Reads::default(),
            spans: None,
            search: Search::default(),
            answer_bytes: limits::ANSWER_BYTES_DEFAULT,
            in_flight_wait: Duration::ZERO,
            egress_allow: None,
        }
    }
}

impl Settings {
    pub(crate) fn output(&self, upstream: &UpstreamName) -> Output {
        self.outputs.get(upstream).copied().unwrap_or(self.output)
    }
}
