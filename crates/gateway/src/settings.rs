//! What an operator may set about the road. Plain values; read from files elsewhere.

use std::collections::BTreeMap;
use std::time::Duration;

use catalog::menu::Mode;
use context::{Profile, Redactor};
use model::{UpstreamName, limits};

use crate::meaning::Meanings;

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

#[derive(Clone, Debug)]
pub struct Settings {
    pub mode: Mode,
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
    pub reads: Reads,
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
            call_timeout: limits::CALL_TIMEOUT_DEFAULT,
            calls_per_minute: limits::CALLS_PER_MINUTE_DEFAULT,
            calls_in_flight: limits::CALLS_IN_FLIGHT_DEFAULT,
            inline_chars: limits::INLINE_CHARS_DEFAULT,
            budget_tokens: limits::BUDGET_TOKENS_DEFAULT,
            output: Output::default(),
            outputs: BTreeMap::new(),
            redactor: Redactor::default(),
            approval_ttl: limits::APPROVAL_TTL_DEFAULT,
            reads: Reads::default(),
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
