//! Reading a request's body: of one kind, bounded in size, and in how long it may pause.

use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};

use crate::limits;

/// Whether a message comes as JSON; a page in a browser can send other kinds without being asked.
pub(crate) fn is_json(headers: &HeaderMap) -> Result<(), Response> {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = value.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let hint = "send `Content-Type: application/json`\n";
    Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, hint).into_response())
}

/// The whole body, or the answer its sender gets instead.
pub(crate) async fn read(body: Body) -> Result<Bytes, Response> {
    let refuse = |status: StatusCode, why: &'static str| Err((status, why).into_response());
    let mut pieces = body.into_data_stream();
    let mut whole = BytesMut::new();
    loop {
        let piece = match tokio::time::timeout(limits::BODY_TIMEOUT, pieces.next()).await {
            Err(_elapsed) => {
                return refuse(StatusCode::REQUEST_TIMEOUT, "the message did not arrive in time\n");
            }
            Ok(None) => return Ok(whole.freeze()),
            Ok(Some(Err(error))) => {
                tracing::debug!(%error, "a body broke off");
                return refuse(StatusCode::BAD_REQUEST, "the message broke off\n");
            }
            Ok(Some(Ok(piece))) => piece,
        };
        if whole.len() + piece.len() > limits::BODY_BYTES_MAX {
            return refuse(StatusCode::PAYLOAD_TOO_LARGE, "the message is over the size limit\n");
        }
        whole.extend_from_slice(&piece);
    }
}
