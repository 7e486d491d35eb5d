//! The sections of the file below the top level, each key with its doc, default and bound.
//! Upstreams have a file of their own.

use std::collections::BTreeMap;

use model::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::{RateLimit, RunBounds};
use super::choices::{
    CallerKind, Ceiling, OutputSchema, Private, Reads, RequireStructured, Sanitise, StartupMode,
    Unset,
};
use super::text::{ConfigPath, Hidden, Text};

/// Who may speak to Toolgate over HTTP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Auth {
    /// Bearer tokens, each with the name its bearer goes by in records and policy.
    pub tokens: Vec<Token>,
    /// What the local user may use when there are no tokens, and always over stdio.
    pub local_grants: Vec<Text>,
    /// The roles of the local user.
    pub local_roles: Vec<Text>,
    /// Grants without a scope count for nothing.
    pub scoped_grants_only: bool,
}

/// One bearer token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// The bearer's name in records and policy.
    pub name: Text,
    /// The token itself; best written as `${VARIABLE}`.
    pub token: Hidden,
    /// What its bearer may use: `name` or `name:scope`, as manifests ask for it.
    #[serde(default)]
    pub grants: Vec<Text>,
    /// Who its bearer is.
    #[serde(default)]
    pub kind: CallerKind,
    /// The tenant its bearer belongs to.
    #[serde(default)]
    pub tenant: Option<Text>,
    /// The roles its bearer has, for policies to speak of.
    #[serde(default)]
    pub roles: Vec<Text>,
    /// How far its bearer may go. Left out, as far as policy lets it.
    #[serde(default)]
    pub ceiling: Option<Ceiling>,
    /// The user its bearer acts for, where policy wants calls to be made for somebody.
    #[serde(default)]
    pub acts_for: Option<Text>,
    /// Whether its bearer may answer calls that wait for a human, over HTTP. Give such a token to
    /// people, never to an agent.
    #[serde(default)]
    pub approver: bool,
}

/// How much, how often and how long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// How long one call may take.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub call_timeout_ms: u64,
    /// Calls of one caller on one tool within a minute.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub calls_per_minute: u32,
    /// Calls running at the same time.
    #[schemars(range(min = 1, max = 100_000))]
    pub calls_in_flight: u32,
    /// How long a call waits for another one with the same idempotency key; 0 refuses it at once.
    #[schemars(range(min = 0, max = 600_000))]
    pub in_flight_wait_ms: u64,
    /// How long running calls may go on once Toolgate was asked to stop.
    #[schemars(range(min = 0, max = 600_000))]
    pub shutdown_ms: u64,
    /// Bounds on one caller over all tools.
    pub per_caller: RateLimit,
    /// Bounds on one tool over all callers.
    pub per_tool: RateLimit,
    /// Bounds on one upstream over all callers.
    pub per_upstream: RateLimit,
    /// What one run may use up. A run is what `toolgate/run_id` in `_meta` names, else a session.
    pub run: RunBounds,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            call_timeout_ms: millis(limits::CALL_TIMEOUT_DEFAULT),
            calls_per_minute: limits::CALLS_PER_MINUTE_DEFAULT,
            calls_in_flight: limits::CALLS_IN_FLIGHT_DEFAULT,
            in_flight_wait_ms: 10_000,
            shutdown_ms: 10_000,
            per_caller: RateLimit::default(),
            per_tool: RateLimit::default(),
            per_upstream: RateLimit::default(),
            run: RunBounds::default(),
        }
    }
}

/// What of a result reaches the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Results {
    /// Characters of a result passed on as they are; what is longer becomes an artifact.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub inline_chars: usize,
    /// Tokens that the excerpt of a longer result may cost.
    #[schemars(range(min = 300, max = 100_000))]
    pub budget_tokens: usize,
    /// What happens to an answer that breaks its tool's output schema. Left out: `warn` in profile
    /// `dev`, `block` in `production`.
    pub output_schema: Option<OutputSchema>,
    /// When an answer must carry structured content.
    pub require_structured: RequireStructured,
    /// What is taken out of an answer before a model reads it.
    pub sanitise: Sanitise,
}

impl Default for Results {
    fn default() -> Self {
        Self {
            inline_chars: limits::INLINE_CHARS_DEFAULT,
            budget_tokens: limits::BUDGET_TOKENS_DEFAULT,
            output_schema: None,
            require_structured: RequireStructured::default(),
            sanitise: Sanitise::default(),
        }
    }
}

/// Where results that are too long for a model are kept, how many and how long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Artifacts {
    /// A bucket that speaks S3, as `s3://bucket/prefix`. Left out, a folder beside the records.
    pub url: Option<Text>,
    /// The address of the service, if it is not Amazon's.
    pub endpoint: Option<Text>,
    /// The region of the bucket. Left out, the variable `AWS_REGION`.
    pub region: Option<Text>,
    /// Who opens the bucket. Left out, the variable `AWS_ACCESS_KEY_ID`.
    pub access_key_id: Option<Hidden>,
    /// Their key; best written as `${VARIABLE}`. Left out, the variable `AWS_SECRET_ACCESS_KEY`.
    pub secret_access_key: Option<Hidden>,
    /// How long an artifact is kept that no record cites.
    #[schemars(range(min = 60, max = 315_360_000))]
    pub ttl_seconds: u64,
    /// Bytes of all artifacts together; the oldest make room.
    #[schemars(range(min = 1_000_000, max = 1_000_000_000_000_000_u64))]
    pub max_bytes: u64,
    /// Artifacts kept at a time; the oldest make room.
    #[schemars(range(min = 1, max = 100_000_000))]
    pub max_count: u64,
}

impl Default for Artifacts {
    fn default() -> Self {
        Self {
            url: None,
            endpoint: None,
            region: None,
            access_key_id: None,
            secret_access_key: None,
            ttl_seconds: limits::ARTIFACT_TTL_DEFAULT.as_secs(),
            max_bytes: limits::ARTIFACT_BYTES_DEFAULT,
            max_count: limits::ARTIFACT_COUNT_DEFAULT,
        }
    }
}

/// Where calls may go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Egress {
    /// Hosts that may be reached: a host, or `*.suffix` for all hosts below it. Left out, the
    /// upstreams' own hosts; an empty list, none.
    pub allow: Option<Vec<Text>>,
    /// Whether addresses that are not of the public internet may be reached over HTTP. Left out:
    /// `allow` in profile `dev`, `refuse` in `production`.
    pub private: Option<Private>,
    /// Those that may be reached nevertheless: hosts, addresses, or networks such as `10.0.0.0/8`.
    pub allow_private: Vec<Text>,
}

/// How tools are found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Search {
    /// Whether a caller's own former calls decide between tools that fit nearly the same.
    pub feedback: bool,
    /// A folder with a static model in the model2vec format, in place of the built-in table.
    pub model: Option<ConfigPath>,
    /// An embedding endpoint in the format of `OpenAI`, in place of the built-in table.
    pub endpoint: Option<Endpoint>,
}

/// An embedding endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// The service, such as `https://api.openai.com/v1`; it is sent descriptions of tools, and queries.
    pub url: Text,
    /// The model's name.
    #[schemars(length(min = 1))]
    pub model: Text,
    /// Sent as a bearer token; best written as `${VARIABLE}`.
    pub api_key: Option<Hidden>,
    /// How long one request may take before the built-in table answers.
    #[serde(default = "endpoint_timeout")]
    #[schemars(range(min = 1, max = 60_000))]
    pub timeout_ms: u64,
}

fn endpoint_timeout() -> u64 {
    2_000
}

/// Where an observer hears of calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Telemetry {
    /// A collector of `OpenTelemetry` that gets one span for each call.
    pub otlp: Option<Collector>,
}

/// A collector that speaks OTLP over HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Collector {
    /// The collector, such as `http://127.0.0.1:4318`.
    pub url: Text,
    /// Sent with every request; best written as `${VARIABLE}`.
    #[serde(default)]
    pub headers: BTreeMap<String, Hidden>,
    /// The name of this gate among your services.
    #[serde(default = "service")]
    #[schemars(length(min = 1))]
    pub service: Text,
}

fn service() -> Text {
    Text::new("toolgate")
}

/// Questions to humans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Approvals {
    /// How long a question stays open.
    #[schemars(range(min = 1, max = 604_800))]
    pub ttl_seconds: u64,
    /// Whether the person at a client that can ask one (by elicitation) may answer. Left out: yes in
    /// profile `dev`, no in `production`.
    pub ask_client: Option<bool>,
    /// Told of every new question.
    pub webhook: Option<Hook>,
}

impl Default for Approvals {
    fn default() -> Self {
        let ttl_seconds = limits::APPROVAL_TTL_DEFAULT.as_secs();
        Self { ttl_seconds, ask_client: None, webhook: None }
    }
}

/// Addresses of yours that have a say about calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Hooks {
    /// Asked before a call is made. Without an answer in time, nothing is changed.
    pub verify: Option<Hook>,
    /// Asked what an answer is worth; kept with the record.
    pub score: Option<Hook>,
    /// Keeps five scores of each answer with its record, by built-in rules.
    pub scorecard: bool,
}

/// An address of yours that Toolgate sends JSON to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    /// Where to, by POST.
    pub url: Text,
    /// Signs the body, as `X-Toolgate-Signature: sha256=…`; best written as `${VARIABLE}`.
    pub key: Option<Hidden>,
    /// How long the answer may take.
    #[serde(default = "hook_timeout")]
    #[schemars(range(min = 1, max = 60_000))]
    pub timeout_ms: u64,
}

fn hook_timeout() -> u64 {
    2_000
}

/// What is kept of calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Records {
    /// Whether calls that only read leave a record. Calls that write always do, and refusals too.
    pub reads: Reads,
    /// Answers up to this size are kept with the record, without secrets, for replay.
    #[schemars(range(min = 0, max = 1_048_576))]
    pub answer_bytes: usize,
    /// How often the end of the history is signed.
    #[schemars(range(min = 1, max = 86_400))]
    pub checkpoint_seconds: u64,
    /// Entries older than this are exported and removed. Left out, they stay for ever.
    #[schemars(range(min = 1, max = 36_500))]
    pub keep_days: Option<u32>,
    /// The oldest entries are exported and removed once all take more than this, roughly.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub keep_mb: Option<u64>,
    /// The folder for what is removed. Left out, `archive` in the data folder.
    pub archive: Option<ConfigPath>,
}

impl Default for Records {
    fn default() -> Self {
        Self {
            reads: Reads::default(),
            answer_bytes: limits::ANSWER_BYTES_DEFAULT,
            checkpoint_seconds: 60,
            keep_days: None,
            keep_mb: None,
            archive: None,
        }
    }
}

/// What a start needs of its upstreams.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Startup {
    /// Whether every upstream must answer.
    pub mode: StartupMode,
    /// How many upstreams must answer, whichever they are.
    #[schemars(range(min = 0, max = 10_000))]
    pub min_healthy: usize,
    /// How long a start waits for upstreams it knows nothing of yet; then they go on beside serving.
    #[schemars(range(min = 0, max = 600_000))]
    pub wait_ms: u64,
}

impl Default for Startup {
    fn default() -> Self {
        Self { mode: StartupMode::default(), min_healthy: 0, wait_ms: 10_000 }
    }
}

/// Variables in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EnvSettings {
    /// What an unset variable means.
    pub unset: Unset,
}

/// The HTTP door.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HttpSettings {
    /// `Host` headers taken besides the address listened on.
    pub allow_hosts: Vec<Text>,
    /// Browser origins taken, such as `https://app.example.com`.
    pub allow_origins: Vec<Text>,
    /// What browsers are told of pages of other origins.
    pub cors: CorsSettings,
    /// The address people reach this gate by, such as `https://gate.example.com`, for links.
    pub public_url: Option<Text>,
}

/// What browsers are told of pages of other origins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CorsSettings {
    /// Origins whose pages may send to the gate and read what it answers; they are taken, too.
    pub allow_origins: Vec<Text>,
}

fn millis(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
