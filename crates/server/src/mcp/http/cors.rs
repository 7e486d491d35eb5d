//! What a browser wants to hear before it lets a page of another origin use the gate (C14). Only pages
//! of the origins that the operator named for it; nothing is said about any other.
//!
//! A page has no more rights than whoever sends the same without a browser: no cookie is ever read.

use axum_core::response::{IntoResponse, Response};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use crate::limits;

/// Whether the browser asks if it may send what a page wants sent.
pub(super) fn asks(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// It may. A star stands for every header but `Authorization`.
pub(super) fn may_send() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let said = response.headers_mut();
    let fixed = HeaderValue::from_static;
    said.insert(ACCESS_CONTROL_ALLOW_METHODS, fixed("GET, POST, DELETE"));
    said.insert(ACCESS_CONTROL_ALLOW_HEADERS, fixed("*, Authorization"));
    said.insert(ACCESS_CONTROL_MAX_AGE, limits::PREFLIGHT_KEPT.as_secs().into());
    response
}

/// Lets the page read the answer, and in its head what a client must know.
pub(super) fn may_read(mut response: Response, origin: HeaderValue) -> Response {
    let said = response.headers_mut();
    said.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    let exposed = HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate");
    said.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    said.insert(VARY, HeaderValue::from_static("Origin"));
    response
}
