//! For people: calls that wait for a yes, as JSON under `/admin/approvals` and as a page under
//! `/approvals/ID`.
//!
//! Whoever asks shows a token that was made for answering. Being on this machine proves nothing: so
//! is the agent whose call it is.

mod page;

use axum_core::extract::Request;
use axum_core::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, Method, StatusCode};
use model::{Caller, Code, Fault};
use serde::Deserialize;
use serde_json::json;

use crate::mcp::{Mcp, body};

const API: &str = "/admin/approvals";
const PAGE: &str = "/approvals/";

pub(crate) fn is_route(path: &str) -> bool {
    path == API || path.starts_with("/admin/approvals/") || path.starts_with(PAGE)
}

pub(crate) async fn answer(mcp: &Mcp, path: &str, method: &Method, request: Request) -> Response {
    if let Some(id) = path.strip_prefix(PAGE) {
        return match *method {
            Method::GET => page::blank(id),
            Method::POST => page::take(mcp, id, request).await,
            _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
        };
    }
    api(mcp, path, method, request).await.unwrap_or_else(|fault| refuse(&fault))
}

async fn api(mcp: &Mcp, path: &str, method: &Method, request: Request) -> Result<Response, Fault> {
    let (parts, body) = request.into_parts();
    let approver = approver(mcp, &parts.headers)?;
    let rest = path.strip_prefix(API).unwrap_or_default().trim_start_matches('/');
    match (method, rest.split_once('/')) {
        (&Method::GET, None) if rest.is_empty() => {
            let waiting = mcp.gateway.questions_for(&approver).await?;
            Ok(json_of(StatusCode::OK, &json!({"approvals": waiting})))
        }
        (&Method::GET, None) => {
            let approval = mcp.gateway.question_for(&approver, rest).await?;
            Ok(json_of(StatusCode::OK, &json!(approval)))
        }
        (&Method::POST, Some((id, word @ ("approve" | "reject")))) => {
            if !is_json(&parts.headers) {
                let message = "send `Content-Type: application/json`";
                return Err(Fault::new(Code::ArgsInvalid, message));
            }
            let bytes = match body::read(body).await {
                Ok(bytes) => bytes,
                Err(refusal) => return Ok(refusal),
            };
            let Said { reason } = said(&bytes)?;
            let approved = word == "approve";
            let answered = mcp.gateway.answer_as(&approver, id, approved, reason).await?;
            Ok(json_of(StatusCode::OK, &json!(answered)))
        }
        _ => Err(Fault::new(Code::PathNotFound, "there is nothing here")),
    }
}

/// What an answer may carry.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Said {
    reason: Option<String>,
}

fn said(bytes: &[u8]) -> Result<Said, Fault> {
    if bytes.is_empty() {
        return Ok(Said::default());
    }
    let bad = |error: serde_json::Error| Fault::new(Code::ArgsInvalid, error.to_string());
    serde_json::from_slice(bytes).map_err(bad)
}

fn approver(mcp: &Mcp, headers: &HeaderMap) -> Result<Caller, Fault> {
    let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = header.and_then(|header| header.split_once(' '));
    match bearer {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
            mcp.doorkeeper.approver(token)
        }
        _ => Err(Fault::new(Code::AuthRequired, "send `Authorization: Bearer <token>`")),
    }
}

/// A page of another origin cannot send this without being asked whether it may.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim() == "application/json")
}

fn refuse(fault: &Fault) -> Response {
    json_of(status(fault), &fault.to_client_json().into())
}

pub(super) fn status(fault: &Fault) -> StatusCode {
    match fault.code {
        Code::AuthRequired | Code::AuthFailed => StatusCode::UNAUTHORIZED,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::PathNotFound => StatusCode::NOT_FOUND,
        Code::ApprovalRejected => StatusCode::CONFLICT,
        Code::ArgsInvalid => StatusCode::BAD_REQUEST,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn json_of(status: StatusCode, value: &serde_json::Value) -> Response {
    let headers = [("content-type", "application/json"), ("cache-control", "no-store")];
    (status, headers, format!("{value}\n")).into_response()
}
