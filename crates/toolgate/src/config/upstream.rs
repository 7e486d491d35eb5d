//! Upstreams: an entry as the file has it, and the upstream it makes once its keys fit together.
//! Nothing is connected here.

use std::collections::BTreeMap;
use std::time::Duration;

use model::Secret;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::choices::{Drift, OutputSchema, RequireStructured, Sanitise};
use super::text::{ConfigPath, Hidden, Text};

/// One place tools come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Upstream {
    pub target: Target,
    pub namespace: Option<Text>,
    pub manifest: Option<ConfigPath>,
    /// Bindings of its capabilities that are written apart.
    pub bindings: Vec<ConfigPath>,
    pub timeout: Option<Duration>,
    /// By the upstream's own names of tools.
    pub tool_timeouts: BTreeMap<String, Duration>,
    pub protocol: Protocol,
    pub enabled: bool,
    /// The gate does not start without it.
    pub required: bool,
    pub share: Share,
    /// stdio: stopped after this long without use.
    pub idle_stop: Option<Duration>,
    /// Only these tools; `None` means all.
    pub include: Option<Vec<Text>>,
    /// Never these tools.
    pub exclude: Vec<Text>,
    /// What is asked of its answers; what is absent is as for all upstreams.
    pub output: OutputRules,
    /// `None` takes the profile's.
    pub drift: Option<Drift>,
}

/// What is asked of the answers of one upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputRules {
    pub require_structured: Option<RequireStructured>,
    pub on_violation: Option<OutputSchema>,
    pub sanitise: Option<Sanitise>,
}

/// How an upstream is reached.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    Stdio {
        command: ConfigPath,
        args: Vec<Text>,
        env: BTreeMap<String, Secret>,
        /// Read into `env` when the configuration is loaded from its file.
        env_file: Option<ConfigPath>,
        cwd: Option<ConfigPath>,
    },
    Http {
        url: Text,
        headers: BTreeMap<String, Secret>,
    },
    Sse {
        url: Text,
        headers: BTreeMap<String, Secret>,
    },
    Stub {
        tools: StubTools,
    },
    Demo,
    OpenApi {
        spec: ConfigPath,
        base_url: Option<Text>,
        headers: BTreeMap<String, Secret>,
    },
    Cassette {
        file: ConfigPath,
    },
}

/// The tools of a stub.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename = "$list_or_text", rename_all = "snake_case")]
pub enum StubTools {
    #[serde(rename = "list")]
    Inline(Vec<Value>),
    #[serde(rename = "text")]
    File(ConfigPath),
}

impl Upstream {
    pub fn new(target: Target) -> Self {
        Self {
            target,
            namespace: None,
            manifest: None,
            bindings: Vec::new(),
            timeout: None,
            tool_timeouts: BTreeMap::new(),
            protocol: Protocol::Auto,
            enabled: true,
            required: false,
            share: Share::All,
            idle_stop: None,
            include: None,
            exclude: Vec::new(),
            output: OutputRules::default(),
            drift: None,
        }
    }
}

impl Target {
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "stdio",
            Self::Http { .. } => "http",
            Self::Sse { .. } => "sse",
            Self::Stub { .. } => "stub",
            Self::Demo => "demo",
            Self::OpenApi { .. } => "openapi",
            Self::Cassette { .. } => "cassette",
        }
    }

    /// Where it leads, in words fit for output.
    pub fn shown(&self) -> String {
        match self {
            Self::Stdio { command, .. } => command.shown().to_owned(),
            Self::Http { url, .. } | Self::Sse { url, .. } => url.shown().to_owned(),
            Self::Stub { tools: StubTools::Inline(tools) } => format!("{} tools", tools.len()),
            Self::Stub { tools: StubTools::File(path) } => path.shown().to_owned(),
            Self::Demo => "built in".to_owned(),
            Self::OpenApi { spec, .. } => spec.shown().to_owned(),
            Self::Cassette { file } => file.shown().to_owned(),
        }
    }
}

/// One upstream as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Upstream")]
pub(super) struct Entry {
    /// How it is reached. Left out: `stdio` with a `command`, `http` with a `url`.
    #[serde(rename = "type")]
    pub(super) kind: Option<Kind>,
    /// stdio: the program to start.
    #[schemars(length(min = 1))]
    pub(super) command: Option<ConfigPath>,
    /// stdio: its arguments.
    pub(super) args: Option<Vec<Text>>,
    /// stdio: variables it gets.
    pub(super) env: Option<BTreeMap<String, Hidden>>,
    /// stdio: a file of more such variables, a `NAME=value` in each line.
    pub(super) env_file: Option<ConfigPath>,
    /// stdio: the folder it starts in.
    pub(super) cwd: Option<ConfigPath>,
    /// http, sse: the address, `http://` or `https://`.
    pub(super) url: Option<Text>,
    /// http, sse, openapi: headers sent with every request.
    pub(super) headers: Option<BTreeMap<String, Hidden>>,
    /// stub: tool definitions, or the path of a JSON file of them.
    pub(super) tools: Option<StubTools>,
    /// openapi: the path of the document.
    pub(super) spec: Option<ConfigPath>,
    /// openapi: where the service is, if not where the document says.
    pub(super) base_url: Option<Text>,
    /// cassette: the path of the recording.
    pub(super) file: Option<ConfigPath>,
    /// The namespace its tools appear under. Left out, taken from the tools' names.
    #[schemars(length(min = 1, max = 64))]
    pub(super) namespace: Option<Text>,
    /// The path of an adapter manifest.
    pub(super) manifest: Option<ConfigPath>,
    /// Paths of capability bindings that are written apart from the manifest.
    pub(super) bindings: Option<Vec<ConfigPath>>,
    /// How long one call to it may take.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub(super) timeout_ms: Option<u64>,
    /// The same for single tools, by the upstream's own names.
    #[schemars(extend("additionalProperties" = {"type": "integer", "minimum": 1, "maximum": 3_600_000}))]
    pub(super) tool_timeouts_ms: Option<BTreeMap<String, u64>>,
    /// stdio, http: the MCP revision it is spoken to in. Left out, as it answers.
    pub(super) protocol: Option<Protocol>,
    /// Off keeps the entry but not its tools. Default: on.
    pub(super) enabled: Option<bool>,
    /// On: the gate does not start without it. Default: off.
    pub(super) required: Option<bool>,
    /// stdio, http, sse: whether all callers share one process or conversation, or each caller has its
    /// own. Default: `all`.
    pub(super) share: Option<Share>,
    /// stdio: stopped after this long without use; the next call starts it again. Left out, never.
    #[schemars(range(min = 1_000, max = 86_400_000))]
    pub(super) idle_stop_ms: Option<u64>,
    /// Only these tools: exact names, or patterns with `*`, `?` and `[a-z]`.
    pub(super) include: Option<Vec<Text>>,
    /// Never these tools, whatever `include` says.
    pub(super) exclude: Option<Vec<Text>>,
    /// When its answers must carry structured content. Left out: as `results` says.
    pub(super) require_structured: Option<RequireStructured>,
    /// What happens to an answer that breaks its tool's output schema. Left out: as `results` says.
    pub(super) on_violation: Option<OutputSchema>,
    /// What is taken out of its answers. Left out: as `results` says.
    pub(super) sanitise: Option<Sanitise>,
    /// What happens to tools whose definitions have changed since they were accepted. Left out:
    /// `warn` in profile `dev`, `hold` in `production`.
    pub(super) drift: Option<Drift>,
}

/// Who shares one process or conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Share {
    #[default]
    All,
    Caller,
}

/// An MCP revision, or the server's choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Protocol {
    #[default]
    #[serde(rename = "auto")]
    Auto,
    #[serde(rename = "2024-11-05")]
    V2024_11_05,
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
}

/// The kinds of upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Stdio,
    Http,
    Sse,
    Stub,
    Demo,
    OpenApi,
    Cassette,
}

impl JsonSchema for StubTools {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "StubTools".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "items": {"type": "object"}},
        ]})
    }
}
