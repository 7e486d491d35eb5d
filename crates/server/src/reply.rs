//! Every fault becomes a reply here, in the channel where the client can use it.
//!
//! What a model can correct is an answer with `isError`; what only a program can correct is a
//! JSON-RPC error; what ends before JSON-RPC begins is an HTTP status.

use gateway::{Done, Via};
use http::StatusCode;
use model::{Code, Fault, Method, Side};
use protocol::encode::{self, ServerInfo};
use protocol::{Id, Refusal, Revision, RpcError, jsonrpc};
use serde_json::json;

/// A reply, and the code of the error it is, if it is one.
#[derive(Clone, Debug)]
pub struct Said {
    pub bytes: Vec<u8>,
    pub error_code: Option<i64>,
}

impl From<Vec<u8>> for Said {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, error_code: None }
    }
}

/// How a client hears that a name in `tools/call` is no tool's (resolution C9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownTool {
    /// As the protocol has it: a JSON-RPC error.
    #[default]
    Error,
    /// As an answer with `isError`, for clients that show their model nothing else.
    IsError,
}

/// What was asked for, as far as the form of its reply depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Form<'a> {
    pub method: &'a Method,
    pub via: Via,
    pub unknown_tool: UnknownTool,
}

/// The reply to a call, made or refused.
pub fn call(id: &Id, revision: Revision, server: &ServerInfo, done: &Done, form: Form<'_>) -> Said {
    let Form { method, via, unknown_tool } = form;
    if let (Some(refused), Via::Name) = (&done.refused, via) {
        let said = refused.get();
        let code = translate(said.code, revision, method);
        let error = RpcError { code, message: said.message.clone(), data: said.data.clone() };
        return rpc_error(id, &error);
    }
    match &done.fault {
        Some(fault) if fault.code == Code::ToolNotFound && unknown_tool == UnknownTool::IsError => {
            encode::answer(id, revision, server, done.cleared.get(), method).into()
        }
        Some(fault) if is_rpc_error(fault.code, method, via) => error(id, revision, fault),
        _ => encode::answer(id, revision, server, done.cleared.get(), method).into(),
    }
}

/// A fault as a JSON-RPC error.
pub fn error(id: &Id, revision: Revision, fault: &Fault) -> Said {
    let mut error = RpcError::from_fault(rpc_code(fault.code, revision), fault);
    if fault.code == Code::ResourceNotFound
        && let Some(data) = error.data.as_mut().and_then(serde_json::Value::as_object_mut)
    {
        data.insert("uri".to_owned(), json!(fault.path));
    }
    rpc_error(id, &error)
}

/// A fault of several requests at once, none of which it can name.
pub fn unaddressed(revision: Revision, fault: &Fault) -> Vec<u8> {
    encode::error(None, &RpcError::from_fault(rpc_code(fault.code, revision), fault))
}

/// A method this gate does not have.
pub fn unknown_method(id: &Id, method: &str) -> Said {
    let message = format!("method `{}` is not offered here", model::fault::one_line(method, 80));
    rpc_error(id, &RpcError::new(jsonrpc::METHOD_NOT_FOUND, message))
}

/// A request that needs something its client did not declare.
pub fn missing_capability(id: &Id, required: &serde_json::Value) -> Said {
    let message = "this needs a capability that the client did not declare";
    let error = RpcError::new(jsonrpc::MISSING_CAPABILITY, message)
        .with_data(json!({"requiredCapabilities": required}));
    rpc_error(id, &error)
}

/// A message that could not be acted on.
pub fn refusal(refusal: &Refusal) -> Vec<u8> {
    encode::error(refusal.id.as_ref(), &refusal.error)
}

/// Older clients look for the JSON-RPC error of a request they can name only in a success.
pub fn status_of_refusal(refusal: &Refusal) -> StatusCode {
    match refusal.error.code {
        jsonrpc::METHOD_NOT_FOUND if refusal.stateless => StatusCode::NOT_FOUND,
        _ if refusal.id.is_some() && !refusal.stateless => StatusCode::OK,
        _ => StatusCode::BAD_REQUEST,
    }
}

/// The HTTP status beside a JSON-RPC error, as the revision wants it.
pub fn status(revision: Revision, error_code: Option<i64>) -> StatusCode {
    if !revision.is_modern() {
        return StatusCode::OK;
    }
    match error_code {
        Some(jsonrpc::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(
            jsonrpc::HEADER_MISMATCH | jsonrpc::MISSING_CAPABILITY | jsonrpc::UNSUPPORTED_VERSION,
        ) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// The HTTP status of a request that ends before its message is looked at.
pub fn status_of(fault: &Fault) -> StatusCode {
    match fault.code {
        Code::AuthRequired | Code::AuthFailed => StatusCode::UNAUTHORIZED,
        Code::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Code::ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
        Code::Protocol | Code::ArgsInvalid => StatusCode::BAD_REQUEST,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn rpc_error(id: &Id, error: &RpcError) -> Said {
    Said { bytes: encode::error(Some(id), error), error_code: Some(error.code) }
}

/// Whether a fault is answered as a JSON-RPC error. Whoever asked through a tool of ours is a model,
/// and that tool has been called, whatever became of the other.
fn is_rpc_error(code: Code, method: &Method, via: Via) -> bool {
    via == Via::Name && (!method.is_tool_call() || in_protocol_channel(code))
}

fn in_protocol_channel(code: Code) -> bool {
    matches!(
        code,
        Code::ToolNotFound
            | Code::AnswerInvalid
            | Code::Protocol
            | Code::ShuttingDown
            | Code::Cancelled
            | Code::MethodNotFound
    )
}

fn rpc_code(code: Code, revision: Revision) -> i64 {
    match code {
        Code::ResourceNotFound if !revision.is_modern() => jsonrpc::RESOURCE_NOT_FOUND,
        Code::MethodNotFound => jsonrpc::METHOD_NOT_FOUND,
        Code::Protocol => jsonrpc::INVALID_REQUEST,
        Code::Cancelled => jsonrpc::INTERNAL_ERROR,
        code if code.side() == Side::Caller => jsonrpc::INVALID_PARAMS,
        _ => jsonrpc::INTERNAL_ERROR,
    }
}

/// An upstream's code in the words of the client's revision.
fn translate(code: i64, revision: Revision, method: &Method) -> i64 {
    match (code, revision.is_modern(), method) {
        (jsonrpc::RESOURCE_NOT_FOUND, true, _) => jsonrpc::INVALID_PARAMS,
        (jsonrpc::URL_ELICITATION_REQUIRED, true, _) => jsonrpc::INTERNAL_ERROR,
        _ => code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CO-130, CO-202: each fault in the channel and under the code its reader expects.
    #[test]
    fn each_fault_has_its_protocol_code() {
        let check = |code: Code, revision: Revision, wanted: i64| {
            let reply = error(&Id::Number(1), revision, &Fault::new(code, "why").at("a:b"));
            let json: serde_json::Value = serde_json::from_slice(&reply.bytes).unwrap();
            assert_eq!(json["error"]["code"], wanted, "{code}");
            assert_eq!(json["error"]["data"]["error"], code.as_str());
            assert_eq!(reply.error_code, Some(wanted));
        };
        let (old, new) = (Revision::V2025_11_25, Revision::V2026_07_28);
        check(Code::ToolNotFound, old, -32602);
        check(Code::Protocol, old, -32600);
        check(Code::Internal, old, -32603);
        check(Code::ShuttingDown, new, -32603);
        check(Code::ResourceNotFound, old, -32002);
        check(Code::ResourceNotFound, new, -32602);
        check(Code::PromptNotFound, old, -32602);
        check(Code::TaskNotFound, new, -32602);
        check(Code::MethodNotFound, new, -32601);
        check(Code::PolicyDenied, old, -32603);
    }

    /// CW-83: nothing that is said through a tool of ours is a JSON-RPC error; by its name a tool
    /// may be answered with one.
    #[test]
    fn a_call_through_a_tool_of_ours_is_answered_as_a_tool_answers() {
        let check = |code: Code, by_name: bool| {
            for method in [Method::CallTool, Method::ReadResource, Method::GetPrompt] {
                assert!(!is_rpc_error(code, &method, Via::Argument), "{code}");
            }
            assert_eq!(is_rpc_error(code, &Method::CallTool, Via::Name), by_name, "{code}");
            assert!(is_rpc_error(code, &Method::ReadResource, Via::Name), "{code}");
        };
        check(Code::ToolNotFound, true);
        check(Code::AnswerInvalid, true);
        check(Code::Protocol, true);
        check(Code::ShuttingDown, true);
        check(Code::Cancelled, true);
        check(Code::MethodNotFound, true);
        check(Code::PolicyDenied, false);
        check(Code::ArgsInvalid, false);
    }

    #[test]
    fn statuses_speak_to_newer_clients_only() {
        let check = |code: Option<i64>, old: u16, new: u16| {
            assert_eq!(status(Revision::V2025_11_25, code).as_u16(), old);
            assert_eq!(status(Revision::V2026_07_28, code).as_u16(), new);
        };
        check(None, 200, 200);
        check(Some(jsonrpc::METHOD_NOT_FOUND), 200, 404);
        check(Some(jsonrpc::MISSING_CAPABILITY), 200, 400);
        check(Some(jsonrpc::INVALID_PARAMS), 200, 200);
    }
}
