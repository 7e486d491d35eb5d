//! Which method is meant, and the parameters that decide where a request goes.

use model::{Listed, LogLevel, TaskVerb};
use serde_json::{Map, Value};

use crate::strict::Fields;

#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    Initialize {
        asked_version: String,
        capabilities: Map<String, Value>,
        info: Option<Value>,
    },
    Discover,
    Ping,
    List {
        what: Listed,
        cursor: Option<String>,
    },
    CallTool {
        name: String,
        /// An object, as the protocol wants it; or not. Who is called decides in which channel that
        /// is answered.
        arguments: Value,
    },
    ReadResource {
        uri: String,
    },
    GetPrompt {
        name: String,
        arguments: Value,
    },
    Complete(Reference),
    /// Up to 2025-11-25: news of one resource, wanted or no longer.
    Subscribe {
        uri: String,
        wanted: bool,
    },
    SetLevel(LogLevel),
    /// 2026-07-28: one long answer full of news.
    Listen(Interest),
    Task {
        verb: TaskVerb,
        id: String,
    },
    /// A method of an extension, or of nobody.
    Other,
    /// A method this revision no longer has, whatever its parameters.
    Removed,
}

/// Methods that ended with 2025-11-25.
const REMOVED: &[&str] = &[
    "initialize",
    "logging/setLevel",
    "ping",
    "resources/subscribe",
    "resources/unsubscribe",
    "tasks/list",
    "tasks/result",
];

/// Every method that has a way of its own here; any other is an extension's.
pub const METHODS: &[&str] = &[
    "initialize",
    "server/discover",
    "ping",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "tasks/list",
    "tools/call",
    "prompts/get",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "completion/complete",
    "logging/setLevel",
    "subscriptions/listen",
    "tasks/get",
    "tasks/result",
    "tasks/update",
    "tasks/cancel",
];

/// Whose argument is to be completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    Prompt(String),
    Resource(String),
}

/// The news a client listens for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    pub tools: bool,
    pub prompts: bool,
    pub resources: bool,
    pub uris: Vec<String>,
    pub task_ids: Vec<String>,
}

/// Takes what decides the way out of the parameters; the rest stays.
pub(super) fn take(method: &str, modern: bool, params: &mut Fields) -> Result<Ask, &'static str> {
    Ok(match method {
        removed if modern && REMOVED.contains(&removed) => Ask::Removed,
        "initialize" => Ask::Initialize {
            asked_version: text(params, "protocolVersion")
                .ok_or("`protocolVersion` must be a string")?,
            capabilities: object(params, "capabilities")?,
            info: params.take("clientInfo"),
        },
        "server/discover" => Ask::Discover,
        "ping" => Ask::Ping,
        "tools/list" => list(Listed::Tools, params)?,
        "prompts/list" => list(Listed::Prompts, params)?,
        "resources/list" => list(Listed::Resources, params)?,
        "resources/templates/list" => list(Listed::Templates, params)?,
        "tasks/list" => list(Listed::Tasks, params)?,
        "tools/call" => Ask::CallTool {
            name: text(params, "name").ok_or("`name` must be a string")?,
            arguments: arguments(params),
        },
        "prompts/get" => Ask::GetPrompt {
            name: text(params, "name").ok_or("`name` must be a string")?,
            arguments: object(params, "arguments")?.into(),
        },
        "resources/read" => Ask::ReadResource { uri: uri(params)? },
        "resources/subscribe" => Ask::Subscribe { uri: uri(params)?, wanted: true },
        "resources/unsubscribe" => Ask::Subscribe { uri: uri(params)?, wanted: false },
        "completion/complete" => Ask::Complete(reference(params)?),
        "logging/setLevel" => Ask::SetLevel(
            text(params, "level")
                .and_then(|level| LogLevel::read(&level))
                .ok_or("`level` must be one of the eight log levels")?,
        ),
        "subscriptions/listen" => Ask::Listen(interest(params)?),
        "tasks/get" => task(TaskVerb::Get, params)?,
        "tasks/result" => task(TaskVerb::Result, params)?,
        "tasks/update" => task(TaskVerb::Update, params)?,
        "tasks/cancel" => task(TaskVerb::Cancel, params)?,
        _ => Ask::Other,
    })
}

fn list(what: Listed, params: &mut Fields) -> Result<Ask, &'static str> {
    let cursor = match params.take("cursor") {
        None | Some(Value::Null) => None,
        Some(Value::String(cursor)) => Some(cursor),
        Some(_) => return Err("`cursor` must be a string"),
    };
    Ok(Ask::List { what, cursor })
}

fn uri(params: &mut Fields) -> Result<String, &'static str> {
    text(params, "uri").ok_or("`uri` must be a string")
}

fn task(verb: TaskVerb, params: &mut Fields) -> Result<Ask, &'static str> {
    let id = text(params, "taskId").ok_or("`taskId` must be a string")?;
    Ok(Ask::Task { verb, id })
}

fn reference(params: &Fields) -> Result<Reference, &'static str> {
    let said = params.get("ref").and_then(Value::as_object).ok_or("`ref` must be an object")?;
    let field = |key: &str| said.get(key).and_then(Value::as_str).map(str::to_owned);
    match said.get("type").and_then(Value::as_str) {
        Some("ref/prompt") => field("name").map(Reference::Prompt),
        Some("ref/resource") => field("uri").map(Reference::Resource),
        _ => return Err("`ref.type` must be `ref/prompt` or `ref/resource`"),
    }
    .ok_or("`ref` must name its prompt or resource")
}

fn interest(params: &Fields) -> Result<Interest, &'static str> {
    let empty = Map::new();
    let said = match params.get("notifications") {
        None | Some(Value::Null) => &empty,
        Some(Value::Object(said)) => said,
        Some(_) => return Err("`notifications` must be an object"),
    };
    let flag = |key: &str| said.get(key).and_then(Value::as_bool).unwrap_or_default();
    let texts = |key: &str| match said.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned).ok_or("ids and URIs must be strings"))
            .collect(),
        Some(_) => Err("`resourceSubscriptions` and `taskIds` must be lists"),
    };
    Ok(Interest {
        tools: flag("toolsListChanged"),
        prompts: flag("promptsListChanged"),
        resources: flag("resourcesListChanged"),
        uris: texts("resourceSubscriptions")?,
        task_ids: texts("taskIds")?,
    })
}

fn arguments(params: &mut Fields) -> Value {
    match params.take("arguments") {
        None | Some(Value::Null) => Map::new().into(),
        Some(arguments) => arguments,
    }
}

fn object(params: &mut Fields, key: &str) -> Result<Map<String, Value>, &'static str> {
    match params.take(key) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(object)) => Ok(object),
        Some(_) => Err("`arguments` and `capabilities` must be objects"),
    }
}

fn text(params: &mut Fields, key: &str) -> Option<String> {
    match params.take(key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list is the match above: what it names has a way of its own, and nothing else has.
    #[test]
    fn every_method_with_a_way_of_its_own_is_listed() {
        for method in METHODS {
            let way = take(method, false, &mut Fields::default());
            assert!(!matches!(way, Ok(Ask::Other)), "{method}");
        }
        let source = include_str!("ask.rs");
        let body =
            source.split("pub(super) fn take(").nth(1).unwrap().split("\nfn ").next().unwrap();
        let arms = body.lines().filter_map(|line| line.trim().strip_prefix('"'));
        let arms: Vec<&str> = arms.filter_map(|arm| arm.split_once("\" =>")).map(|a| a.0).collect();
        assert_eq!(arms, METHODS);
    }
}
