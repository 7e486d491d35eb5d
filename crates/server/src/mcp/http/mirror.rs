//! Whether the headers of a 2026-07-28 request say what its body says.

use gateway::Gateway;
use http::HeaderMap;
use http::header::AsHeaderName;
use model::Caller;
use protocol::headers::{self, METHOD, NAME};
use protocol::{Ask, Refusal, Request, Revision, decode, jsonrpc};
use serde_json::Value;

use super::VERSION;

/// Refuses a request whose headers and body would be routed differently. Requests of older clients
/// have nothing to compare, unless their header claims the newer revision.
pub(super) fn check(
    gateway: &Gateway,
    caller: &Caller,
    given: &HeaderMap,
    request: &Request,
) -> Result<(), Refusal> {
    let refuse = |code: i64, message: String| Refusal {
        stateless: true,
        ..Refusal::new(Some(request.id.clone()), code, message)
    };
    let mismatch = |message: String| refuse(jsonrpc::HEADER_MISMATCH, message);
    let said = header(given, VERSION);
    let Some(revision) = request.meta.revision else {
        return match said.map(str::parse::<Revision>) {
            Some(Ok(revision)) if revision.is_modern() => {
                let key = decode::meta::VERSION;
                let message = format!("a request of {revision} needs `_meta` with `{key}`");
                Err(refuse(jsonrpc::INVALID_PARAMS, message))
            }
            None if is_modern_only(&request.ask) => {
                let message = format!("`{}` needs `_meta`", request.method);
                Err(refuse(jsonrpc::INVALID_PARAMS, message))
            }
            _ => Ok(()),
        };
    };
    if let Some(name) = [headers::VERSION, METHOD, NAME].into_iter().find(|name| twice(given, name))
    {
        return Err(mismatch(format!("`{name}` must come once")));
    }
    if said != Some(revision.as_str()) {
        return Err(mismatch(format!("`MCP-Protocol-Version` must be `{revision}`")));
    }
    if header(given, METHOD) != Some(request.method.as_str()) {
        return Err(mismatch("`Mcp-Method` must repeat the method".to_owned()));
    }
    if let Some(name) = headers::name(&request.ask) {
        let same =
            header(given, NAME).is_some_and(|said| headers::says_the_same(said, name, false));
        if !same {
            return Err(mismatch("`Mcp-Name` must repeat what the request is about".to_owned()));
        }
    }
    match &request.ask {
        Ask::CallTool { name, arguments } => {
            // Few tools mirror anything; only their schemas are read.
            let schema = gateway.input_schema(caller, name);
            let schema = schema.filter(|schema| schema.as_str().contains(headers::MIRROR));
            let Some(schema) = schema else { return Ok(()) };
            params(given, &schema.value(), arguments).map_err(mismatch)
        }
        _ => Ok(()),
    }
}

/// A revision that nobody serves is first of all one that the header does not name.
pub(super) fn rather_mismatch(given: &HeaderMap, refusal: Refusal) -> Refusal {
    let named = refusal.error.data.as_ref().and_then(|data| data.get("requested")?.as_str());
    let differs = refusal.error.code == jsonrpc::UNSUPPORTED_VERSION
        && header(given, VERSION).is_some_and(|said| Some(said) != named);
    if !differs {
        return refusal;
    }
    let message = "`MCP-Protocol-Version` and `_meta` name different revisions";
    Refusal { stateless: true, ..Refusal::new(refusal.id, jsonrpc::HEADER_MISMATCH, message) }
}

/// The arguments a tool wants repeated, each in its header.
fn params(given: &HeaderMap, schema: &Value, arguments: &Value) -> Result<(), String> {
    for mirrored in headers::mirrored(schema).unwrap_or_default() {
        if twice(given, &mirrored.header) {
            return Err(format!("`{}` must come once", mirrored.header));
        }
        let said = header(given, mirrored.header.as_str());
        let value = mirrored.path.iter().try_fold(arguments, |value, key| value.get(key));
        let is_number = value.is_some_and(Value::is_number);
        let same = match (said, headers::value_at(arguments, &mirrored.path)) {
            (None, None) => true,
            (Some(said), Some(value)) => headers::says_the_same(said, &value, is_number),
            (Some(_), None) | (None, Some(_)) => false,
        };
        if !same {
            return Err(format!("`{}` must repeat its argument", mirrored.header));
        }
    }
    Ok(())
}

fn is_modern_only(ask: &Ask) -> bool {
    matches!(ask, Ask::Discover | Ask::Listen(_))
}

/// Whoever routes by a header that comes twice may go by the other one.
fn twice(given: &HeaderMap, name: &str) -> bool {
    given.get_all(name).iter().nth(1).is_some()
}

fn header(given: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    given.get(name).and_then(|value| value.to_str().ok())
}
