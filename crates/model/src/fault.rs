//! Everything that can go wrong with a call, as one value.
//!
//! A fault knows whose side it is on, whether sending again is safe, and what to do next. It
//! carries two messages: one for the client, one for the log. Turning a fault into a reply
//! happens elsewhere, once per surface.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::limits;

/// Who has to act before the same call can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    Caller,
    Operator,
    Upstream,
    Gateway,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    Protocol,
    Validation,
    OutputSchema,
    Capability,
    Policy,
    Approval,
    Auth,
    Upstream,
    Timeout,
    Rate,
    Budget,
    Egress,
    Idempotency,
    Replay,
    Internal,
}

/// What a planner should do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextAction {
    FixArgs,
    Retry,
    Replan,
    Escalate,
    Wait,
    GiveUp,
}

/// Declares the codes with what follows from each, so that the table is the documentation.
macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident $text:literal $side:ident $kind:ident $retryable:literal $next:ident;)*) => {
        /// Stable machine words for faults.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Code {
            $($(#[$doc])* #[serde(rename = $text)] $variant,)*
        }

        impl Code {
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            pub const fn side(self) -> Side {
                match self { $(Self::$variant => Side::$side,)* }
            }

            pub const fn kind(self) -> ErrorKind {
                match self { $(Self::$variant => ErrorKind::$kind,)* }
            }

            /// Whether sending the same call again may succeed and can do no harm.
            pub const fn retryable(self) -> bool {
                match self { $(Self::$variant => $retryable,)* }
            }

            pub const fn next(self) -> NextAction {
                match self { $(Self::$variant => NextAction::$next,)* }
            }
        }
    };
}

codes! {
    // variant          wire word              side      kind          retry  next
    PathInvalid         "PATH_INVALID"         Caller    Validation    false  FixArgs;
    PathNotFound        "PATH_NOT_FOUND"       Caller    Validation    false  Replan;
    ArgsInvalid         "ARGS_INVALID"         Caller    Validation    false  FixArgs;
    UpstreamError       "UPSTREAM_ERROR"       Upstream  Upstream      false  Replan;
    HydrateFailed       "HYDRATE_FAILED"       Caller    Validation    false  Replan;
    ViewFailed          "VIEW_FAILED"          Caller    Validation    false  FixArgs;
    SchemaInvalid       "SCHEMA_INVALID"       Upstream  Validation    false  GiveUp;
    UpstreamTimeout     "UPSTREAM_TIMEOUT"     Upstream  Timeout       true   Retry;
    UpstreamUnavailable "UPSTREAM_UNAVAILABLE" Upstream  Upstream      true   Retry;
    AuthFailed          "AUTH_FAILED"          Caller    Auth          false  Escalate;
    AuthRequired        "AUTH_REQUIRED"        Caller    Auth          false  Escalate;
    PermissionDenied    "PERMISSION_DENIED"    Operator  Policy        false  Escalate;
    PolicyDenied        "POLICY_DENIED"        Operator  Policy        false  Replan;
    RateLimited         "RATE_LIMITED"         Caller    Rate          true   Wait;
    ResourceNotFound    "RESOURCE_NOT_FOUND"   Caller    Validation    false  Replan;
    PromptNotFound      "PROMPT_NOT_FOUND"     Caller    Validation    false  Replan;
    TaskNotFound        "TASK_NOT_FOUND"       Caller    Protocol      false  Replan;
    /// The call waits for its client at another gate, or waited at one that is gone.
    RoundLost           "ROUND_LOST"           Caller    Protocol      false  Replan;
    /// What a client answered does not fit what it was asked: a matter of the client, not of a model.
    AnswerInvalid       "ANSWER_INVALID"       Caller    Protocol      false  FixArgs;
    /// The name in `tools/call` is not in the catalogue: a protocol fault, not a tool error.
    ToolNotFound        "TOOL_NOT_FOUND"       Caller    Protocol      false  Replan;
    CapabilityDenied    "CAPABILITY_DENIED"    Operator  Capability    false  Escalate;
    ApprovalPending     "APPROVAL_PENDING"     Operator  Approval      true   Wait;
    ApprovalRejected    "APPROVAL_REJECTED"    Operator  Approval      false  Replan;
    StepUpRequired      "STEP_UP_REQUIRED"     Caller    Auth          false  Escalate;
    BudgetExceeded      "BUDGET_EXCEEDED"      Caller    Budget        false  GiveUp;
    LoopGuard           "LOOP_GUARD"           Caller    Budget        false  Replan;
    EgressDenied        "EGRESS_DENIED"        Operator  Egress        false  Escalate;
    IdempotencyMissing  "IDEMPOTENCY_MISSING"  Caller    Idempotency   false  FixArgs;
    IdempotencyConflict "IDEMPOTENCY_CONFLICT" Caller    Idempotency   false  FixArgs;
    OutputInvalid       "OUTPUT_INVALID"       Upstream  OutputSchema  false  Replan;
    ReplayMiss          "REPLAY_MISS"          Operator  Replay        false  GiveUp;
    CatalogueDrift      "CATALOGUE_DRIFT"      Operator  Policy        false  Escalate;
    /// A method that neither the gate nor an upstream behind it answers.
    MethodNotFound      "METHOD_NOT_FOUND"     Caller    Protocol      false  GiveUp;
    Cancelled           "CANCELLED"            Caller    Protocol      false  GiveUp;
    ShuttingDown        "SHUTTING_DOWN"        Gateway   Internal      true   Retry;
    /// The database cannot be reached or written; what was asked for was not done.
    StoreUnavailable    "STORE_UNAVAILABLE"    Gateway   Internal      true   Retry;
    Protocol            "PROTOCOL"             Caller    Protocol      false  GiveUp;
    Internal            "INTERNAL"             Gateway   Internal      false  GiveUp;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One way in which a value broke its schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Where in the value, as an RFC 6901 pointer.
    pub instance_path: String,
    /// Which rule of the schema, as an RFC 6901 pointer.
    pub schema_path: String,
    pub message: String,
}

/// Why a call did not give what was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Fault {
    pub code: Code,
    /// For the client: one line, free of control characters, at most 256 characters.
    pub message: String,
    /// For the log only; never serialised.
    #[serde(skip)]
    pub log: Option<String>,
    /// The tool, browse path or handle it is about.
    pub path: String,
    /// A write was sent and nobody knows whether it took effect. Voids `retryable`.
    #[serde(default)]
    pub indeterminate: bool,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    /// The upstream's own words, where it refused in the protocol's channel. Not yet cleaned.
    #[serde(skip)]
    pub upstream: Option<Box<WireError>>,
}

/// An error as one side of the wire gave it to the other.
#[derive(Clone, Debug, PartialEq)]
pub struct WireError {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl Fault {
    pub fn new(code: Code, message: impl AsRef<str>) -> Self {
        Self {
            code,
            message: one_line(message.as_ref(), limits::FAULT_MESSAGE_CHARS_MAX),
            log: None,
            path: String::new(),
            indeterminate: false,
            details: Map::new(),
            violations: Vec::new(),
            upstream: None,
        }
    }

    /// A fault of our own: the client learns that it happened, the log learns why.
    pub fn internal(log: impl fmt::Display) -> Self {
        Self::new(
            Code::Internal,
            "the gate could not complete this call; the operator's log says why",
        )
        .logging(log)
    }

    #[must_use]
    pub fn logging(mut self, log: impl fmt::Display) -> Self {
        self.log = Some(log.to_string());
        self
    }

    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    #[must_use]
    pub fn violating(mut self, violations: Vec<Violation>) -> Self {
        self.violations = violations;
        self
    }

    /// Keeps the error an upstream gave, for clients that speak its protocol.
    #[must_use]
    pub fn said_by_upstream(mut self, code: i64, message: String, data: Option<Value>) -> Self {
        self.upstream = Some(Box::new(WireError { code, message, data }));
        self
    }

    #[must_use]
    pub fn indeterminate(mut self) -> Self {
        self.indeterminate = true;
        self
    }

    /// Whether the same call may be sent again without risk.
    pub fn retryable(&self) -> bool {
        self.code.retryable() && !self.indeterminate
    }

    /// What the client may know, as the JSON object of CW-84 and types.md.
    pub fn to_client_json(&self) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("error".into(), self.code.as_str().into());
        object.insert("message".into(), self.message.clone().into());
        object.insert("path".into(), self.path.clone().into());
        object.insert("kind".into(), serde_json::to_value(self.code.kind()).unwrap_or_default());
        object.insert("retryable".into(), self.retryable().into());
        object.insert("next".into(), serde_json::to_value(self.code.next()).unwrap_or_default());
        let mut details = self.details.clone();
        if self.indeterminate {
            details.insert("indeterminate".into(), true.into());
        }
        if !self.violations.is_empty() {
            let errors = serde_json::to_value(&self.violations).unwrap_or_default();
            details.insert("errors".into(), errors);
        }
        object.insert("details".into(), details.into());
        object
    }
}

/// Folds text into one control-free line of at most `chars_max` characters.
pub fn one_line(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty())
    {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    match line.char_indices().nth(chars_max) {
        None => line,
        Some(_) => line.chars().take(chars_max.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_bounded_line_without_control_characters() {
        let fault =
            Fault::new(Code::UpstreamError, format!("a\r\n\u{1b}[31mb\0 {}", "x".repeat(999)));
        assert!(!fault.message.contains(char::is_control));
        assert_eq!(fault.message.chars().count(), limits::FAULT_MESSAGE_CHARS_MAX);
        assert!(fault.message.ends_with('…'));
    }

    #[test]
    fn the_log_message_never_reaches_the_client() {
        let fault = Fault::internal("password is hunter2");
        assert!(!serde_json::to_string(&fault).unwrap().contains("hunter2"));
        assert!(!serde_json::to_string(&fault.to_client_json()).unwrap().contains("hunter2"));
        assert!(!fault.to_string().contains("hunter2"));
    }

    #[test]
    fn an_indeterminate_write_is_never_called_retryable() {
        let fault = Fault::new(Code::UpstreamTimeout, "no answer");
        assert!(fault.retryable());
        assert!(!fault.indeterminate().retryable());
    }

    #[test]
    fn every_code_reads_back_from_its_word() {
        for code in Code::ALL {
            let word = serde_json::to_string(code).unwrap();
            assert_eq!(word, format!("\"{code}\""));
            assert_eq!(serde_json::from_str::<Code>(&word).unwrap(), *code);
        }
    }
}
