//! What an operator may set about the road. Plain values; read from files elsewhere.

use std::time::Duration;

use catalog::menu::Mode;
use model::limits;

/// What happens to an answer that breaks its tool's output schema. It is recorded either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputCheck {
    Block,
    Warn,
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub mode: Mode,
    pub call_timeout: Duration,
    pub calls_per_minute: u32,
    pub calls_in_flight: u32,
    /// Text longer than this becomes an artifact in the modes that can view one.
    pub inline_chars: usize,
    pub output_check: OutputCheck,
    pub approval_ttl: Duration,
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
            output_check: OutputCheck::Warn,
            approval_ttl: limits::APPROVAL_TTL_DEFAULT,
            egress_allow: None,
        }
    }
}
