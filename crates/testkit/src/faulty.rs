//! Everything a server can do wrong, by name. While its fault lasts, a faulty server commits it; once
//! it is over the server behaves. How a fault looks on a pipe and over HTTP is told here once.

use serde_json::{Value, json};

use crate::mcp::{self, Reaction};

/// Over every transport.
pub const ANYWHERE: &[&str] = &[
    "hang at greeting",
    "hang at list",
    "hang at call",
    "crash at greeting",
    "crash at ready",
    "crash at list",
    "crash at call",
    "garbage",
    "half frame",
    "no end for 100 MB",
    "nul",
    "invalid utf-8",
    "wrong id",
    "duplicate id",
    "result and error",
    "a byte a second",
    "endless pages",
    "repeated cursor",
    "late answer",
    "list storm",
    "question storm",
];

/// Where the server is a process.
pub const ON_A_PIPE: &[&str] = &[
    "crash at start",
    "exit 0",
    "exit 1",
    "segfault",
    "hang for ever",
    "stdout noise",
    "stderr flood",
    "grandchild",
];

/// Where the server speaks HTTP, with a stream of its own or without.
pub const OVER_NETWORKS: &[&str] = &["status 503", "reset", "endless stream", "redirect"];

/// Where each request has an answer of its own.
pub const OVER_HTTP: &[&str] = &["length too short", "length too long", "gzip bomb"];

/// Faults of the first words, which a server must be met anew to commit.
pub const AT_MEETING: &[&str] = &[
    "hang at greeting",
    "hang at list",
    "crash at start",
    "crash at greeting",
    "crash at ready",
    "crash at list",
    "endless pages",
    "repeated cursor",
];

/// What a faulty server writes in place of its answer; none means that it behaves.
#[derive(Clone, Debug)]
pub enum Wrong {
    /// These bytes, and then nothing more.
    Bytes(Vec<u8>),
    /// This byte, so many times.
    Flood(u8, usize),
    /// These bytes, one a second.
    Trickle(Vec<u8>),
    /// These bytes, once the client has given up.
    Late(Vec<u8>),
    /// So many words that something has changed, then these bytes.
    Storm(usize, Vec<u8>),
    /// So many rounds of questions, whose answers nobody reads while the fault lasts; then these bytes.
    Questions(usize, Vec<u8>),
    /// Nothing, ever.
    Nothing,
}

/// Faults that a caller need not feel.
pub const UNFELT: &[&str] = &["duplicate id", "list storm", "stdout noise", "stderr flood"];

/// Some questions, as a server asks them.
pub fn questions() -> Vec<String> {
    let form = json!({"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}});
    let asked =
        [("ping", json!({})), ("roots/list", json!({})), ("elicitation/create", form)].into_iter();
    let ask = |(n, (method, params)): (usize, (&str, Value))| json!({"jsonrpc": "2.0", "id": format!("q{n}"), "method": method, "params": params});
    asked.cycle().take(99).enumerate().map(|one| ask(one).to_string()).collect()
}

/// Word of a change, as a server writes it.
pub fn changed() -> String {
    json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}).to_string()
}

/// Whether the server ends at this message.
pub fn crashes(fault: &str, method: &str) -> bool {
    matches!(
        (fault, method),
        ("crash at greeting", "initialize" | "server/discover")
            | ("crash at ready", "notifications/initialized")
            | ("crash at list", "tools/list")
            | ("crash at call", "tools/call")
    )
}

/// The fault at this message, if the fault is one of words alone.
pub fn wrong(fault: &str, message: &Value) -> Option<Wrong> {
    let (id, method) = (&message["id"], message["method"].as_str().unwrap_or_default());
    let right = || {
        mcp::react(message).into_iter().find_map(|reaction| match reaction {
            Reaction::Send(answer) if answer.get("result").is_some() => Some(answer),
            _ => None,
        })
    };
    let text = |value: Value| Some(Wrong::Bytes(format!("{value}\n").into_bytes()));
    match (fault, method) {
        ("hang at greeting", "initialize" | "server/discover")
        | ("hang at list", "tools/list")
        | ("hang at call", "tools/call") => Some(Wrong::Nothing),
        ("late answer", "tools/call") => Some(Wrong::Late(format!("{}\n", right()?).into_bytes())),
        ("endless pages", "tools/list") => {
            let cursor = message["params"]["cursor"].as_str().unwrap_or_default();
            let page = json!({"tools": megabyte(), "nextCursor": format!("{cursor}x")});
            text(json!({"jsonrpc": "2.0", "id": id, "result": page}))
        }
        ("repeated cursor", "tools/list") => {
            let page = json!({"tools": [], "nextCursor": "again"});
            text(json!({"jsonrpc": "2.0", "id": id, "result": page}))
        }
        (_, "tools/call") => at_call(fault, right()?),
        _ => None,
    }
}

fn at_call(fault: &str, right: Value) -> Option<Wrong> {
    let line = format!("{right}\n").into_bytes();
    let text = |value: Value| Some(Wrong::Bytes(format!("{value}\n").into_bytes()));
    match fault {
        "garbage" => Some(Wrong::Bytes(b"}{ not json at all\n".to_vec())),
        "half frame" => Some(Wrong::Bytes(line.get(..line.len() / 2)?.to_vec())),
        "no end for 100 MB" => Some(Wrong::Flood(b'x', 100 << 20)),
        "nul" => Some(Wrong::Flood(0, 1024)),
        "invalid utf-8" => {
            Some(Wrong::Bytes(b"{\"jsonrpc\":\"2.0\",\"x\":\"\xff\xfe\"}\n".to_vec()))
        }
        "wrong id" => {
            let mut other = right;
            other["id"] = json!(987_654_321);
            text(other)
        }
        "duplicate id" => Some(Wrong::Bytes([line.clone(), line].concat())),
        "result and error" => {
            let mut both = right;
            both["error"] = json!({"code": -1, "message": "and yet"});
            text(both)
        }
        "question storm" => Some(Wrong::Questions(10, line)),
        "list storm" => Some(Wrong::Storm(500, line)),
        "a byte a second" => Some(Wrong::Trickle(line)),
        _ => None,
    }
}

/// A megabyte of tools.
fn megabyte() -> Vec<Value> {
    let tool = |n: u32| json!({"name": format!("t{n}"), "description": "x".repeat(1 << 14), "inputSchema": {"type": "object"}});
    (0..64).map(tool).collect()
}
