//! Every fault becomes a reply here, in the channel where the client can use it.
//!
//! What a model can correct is an answer with `isError`; what only a program can correct is a
//! JSON-RPC error; what ends before JSON-RPC begins is an HTTP status.

use gateway::Done;
use http::StatusCode;
use model::{Code, Fault};
use protocol::encode::{self, ServerInfo};
use protocol::{Id, Refusal, Revision, RpcError, jsonrpc};

/// The reply to a call, made or refused.
pub fn call(id: &Id, revision: Revision, server: &ServerInfo, done: &Done) -> Vec<u8> {
    match &done.fault {
        Some(fault) if in_protocol_channel(fault.code) => error(id, fault),
        _ => encode::answer(id, revision, server, done.cleared.get()),
    }
}

/// A fault as a JSON-RPC error.
pub fn error(id: &Id, fault: &Fault) -> Vec<u8> {
    encode::error(Some(id), &RpcError::from_fault(rpc_code(fault.code), fault))
}

/// A method this gate does not have.
pub fn unknown_method(id: &Id, method: &str) -> Vec<u8> {
    let message = format!("method `{}` is not offered here", model::fault::one_line(method, 80));
    encode::error(Some(id), &RpcError::new(jsonrpc::METHOD_NOT_FOUND, message))
}

/// A message that could not be acted on.
pub fn refusal(refusal: &Refusal) -> Vec<u8> {
    encode::error(refusal.id.as_ref(), &refusal.error)
}

/// Older clients look for the JSON-RPC error of a request they can name only in a success.
pub fn status_of_refusal(refusal: &Refusal) -> StatusCode {
    if refusal.id.is_some() && !refusal.stateless {
        StatusCode::OK
    } else {
        StatusCode::BAD_REQUEST
    }
}

/// The HTTP status beside a JSON-RPC error, as the revision wants it.
pub fn status(revision: Revision, error_code: Option<i64>) -> StatusCode {
    match error_code {
        Some(jsonrpc::METHOD_NOT_FOUND) if revision.is_modern() => StatusCode::NOT_FOUND,
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

fn in_protocol_channel(code: Code) -> bool {
    matches!(code, Code::ToolNotFound | Code::Protocol | Code::ShuttingDown | Code::Cancelled)
}

fn rpc_code(code: Code) -> i64 {
    match code {
        Code::ToolNotFound | Code::ArgsInvalid => jsonrpc::INVALID_PARAMS,
        Code::Protocol => jsonrpc::INVALID_REQUEST,
        _ => jsonrpc::INTERNAL_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_has_its_protocol_code() {
        let check = |code: Code, wanted: i64| {
            let reply = error(&Id::Number(1), &Fault::new(code, "why"));
            let reply: serde_json::Value = serde_json::from_slice(&reply).unwrap();
            assert_eq!(reply["error"]["code"], wanted, "{code}");
            assert_eq!(reply["error"]["data"]["error"], code.as_str());
        };
        check(Code::ToolNotFound, -32602);
        check(Code::Protocol, -32600);
        check(Code::Internal, -32603);
        check(Code::ShuttingDown, -32603);
    }
}
