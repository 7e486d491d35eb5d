//! Settings that are one word out of a few. File, flags, help and schema all read them from here.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How strict the defaults are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// For one person on one machine.
    Dev,
    /// For a server that others reach.
    Production,
}

/// What `tools/list` shows.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// `native` while the whole list is cheap (`exposure.auto_tokens`), else `gateway`.
    #[default]
    Auto,
    /// Three tools that browse, execute and view all the others.
    Gateway,
    /// Every tool without its schema, and three tools that hydrate, execute and view.
    Transparent,
    /// Every tool as its upstream describes it.
    Native,
}

/// How clients reach Toolgate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// The client starts Toolgate and speaks over its pipes.
    Stdio,
    /// Streamable HTTP under `/mcp`.
    Http,
    /// The older HTTP with server-sent events, under `/sse`.
    Sse,
}

/// How tools are named towards clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Naming {
    /// The tool's own name with one upstream, `mcp__upstream__tool` with several.
    #[default]
    Auto,
    /// The tool's own name; only where two collide `mcp__upstream__tool`.
    None,
    /// Always `mcp__upstream__tool`.
    Wire,
    /// `mcp__upstream__tool`, with names over 64 characters cut and marked with a hash.
    Short,
    /// `namespace:tool`; only where two collide `mcp__upstream__tool`.
    Legacy,
    /// `namespace:tool@version`, or with a hash; only where two collide `mcp__upstream__tool`.
    Canonical,
    /// The capability id of the manifest; `mcp__upstream__tool` for what none declares.
    Capability,
}

/// What becomes of tools of several upstreams that have the same name, where tools go by their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Duplicates {
    /// Each is called `mcp__upstream__tool`.
    #[default]
    Qualify,
    /// The first upstream's, in the order of their names, keeps the name.
    FirstWins,
    /// None of them can be used.
    Error,
}

/// How a client hears that it called a tool that does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnknownTool {
    /// By a JSON-RPC error, as the protocol has it.
    #[default]
    Error,
    /// By an answer with `isError`, for clients that show their model nothing else.
    IsError,
}

/// What an unset variable in the file means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unset {
    /// A mistake.
    #[default]
    Error,
    /// The empty text.
    Empty,
}

/// What happens to an answer that breaks its tool's output schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputSchema {
    /// The caller gets an error instead.
    Block,
    /// The caller gets the answer, and the log a warning.
    Warn,
    /// The caller gets the answer; only the record tells.
    Pass,
}

/// When an answer must carry structured content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequireStructured {
    Never,
    /// When the tool declares an output schema.
    #[default]
    WhenSchema,
    /// Always, and as an object.
    Always,
}

/// What is taken out of an answer before a model reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sanitise {
    /// Control and invisible characters, terminal sequences, markers of conversation templates.
    #[default]
    Strict,
    /// Control characters and terminal sequences.
    Plain,
    /// Control characters, three markers, and HTML escaped.
    Stargraph,
    /// The same without escaping.
    StargraphUnescaped,
    /// Nothing but secrets: for upstreams trusted as much as Toolgate itself.
    Verbatim,
}

/// Whether calls that only read leave a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reads {
    /// They do.
    #[default]
    Keep,
    /// They do not, unless they are refused.
    Skip,
}

/// What happens to a tool whose definition is not the one that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Drift {
    /// It is neither listed nor callable until `toolgate tools accept`.
    Hold,
    /// It stays, and the log says so.
    Warn,
    /// Nothing; its definitions are not compared.
    Ignore,
}

/// What a start needs of its upstreams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StartupMode {
    /// All of them must answer.
    Strict,
    /// Those that answer are served, and the others as soon as they do.
    #[default]
    Degraded,
}

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// One name for each choice, the same in the file and in output.
macro_rules! as_str {
    ($($name:ident { $($variant:ident => $text:literal),+ })+) => {$(
        impl $name {
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )+};
}

as_str! {
    Profile { Dev => "dev", Production => "production" }
    Mode { Auto => "auto", Gateway => "gateway", Transparent => "transparent", Native => "native" }
    Transport { Stdio => "stdio", Http => "http", Sse => "sse" }
    Naming {
        Auto => "auto", None => "none", Wire => "wire", Short => "short", Legacy => "legacy",
        Canonical => "canonical", Capability => "capability"
    }
    LogLevel {
        Off => "off", Error => "error", Warn => "warn", Info => "info", Debug => "debug",
        Trace => "trace"
    }
}

/// Who shows a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallerKind {
    /// A person, or what acts in a person's name.
    #[default]
    User,
    /// A program of the house.
    Service,
    /// An agent that acts for nobody in particular.
    Agent,
    /// A job that nobody watches.
    Automation,
}

/// How far a caller may go: what is graver does not exist for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ceiling {
    ReadOnly,
    LocalWrite,
    Network,
    Delegated,
    Destructive,
}

/// Whether addresses that are not of the public internet may be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Private {
    /// All of them.
    Allow,
    /// None but those of `allow_private`.
    Refuse,
}
