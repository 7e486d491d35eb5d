//! What a client says about itself and lets us do, in the shape of MCP.

use serde_json::{Map, Value};

/// A client's own claims, passed on to upstreams that ask. Shown and forwarded, never decided on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Client {
    /// `capabilities` as the client declared them.
    pub capabilities: Map<String, Value>,
    /// `clientInfo` as the client wrote it.
    pub info: Option<Value>,
    /// Takes questions as unfinished answers and asks again with what it was asked for, as since
    /// 2026-07-28; others are asked while they wait.
    pub rounds: bool,
    /// The least severe log message it wants; none wanted when absent.
    pub log_level: Option<LogLevel>,
}

impl Client {
    /// Whether the client answers this question. Being sent to an address is a skill of its own.
    pub fn can_answer(&self, method: &str, params: &Map<String, Value>) -> bool {
        let elsewhere = params.get("mode").is_some_and(|mode| mode == "url");
        let visits =
            || self.capabilities.get("elicitation").is_some_and(|e| e.get("url").is_some());
        self.takes(method) && (!elsewhere || visits())
    }

    /// Whether the client answers anything at all.
    pub fn answers(&self) -> bool {
        ["elicitation", "sampling", "roots"]
            .iter()
            .any(|able| self.capabilities.get(*able).is_some_and(|value| !value.is_null()))
    }

    /// Whether the client answers requests with this method.
    pub fn takes(&self, method: &str) -> bool {
        let feature = match method {
            "elicitation/create" => "elicitation",
            "sampling/createMessage" => "sampling",
            "roots/list" => "roots",
            _ => return false,
        };
        self.capabilities.get(feature).is_some_and(|value| !value.is_null())
    }

    pub fn wants_log(&self, level: LogLevel) -> bool {
        self.log_level.is_some_and(|least| level >= least)
    }
}

/// Severities of log messages, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    pub fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_client_takes_what_it_declared() {
        let capabilities = json!({"elicitation": {}, "roots": null}).as_object().cloned().unwrap();
        let client = Client { capabilities, ..Client::default() };
        assert!(client.takes("elicitation/create"));
        assert!(!client.takes("roots/list"));
        assert!(!client.takes("sampling/createMessage"));
        assert!(!client.takes("vendor/anything"));
    }

    #[test]
    fn logs_below_the_level_are_not_wanted() {
        let client = Client { log_level: LogLevel::read("warning"), ..Client::default() };
        assert!(client.wants_log(LogLevel::Error) && !client.wants_log(LogLevel::Info));
        assert!(!Client::default().wants_log(LogLevel::Emergency));
        assert_eq!(LogLevel::read("loud"), None);
    }
}
