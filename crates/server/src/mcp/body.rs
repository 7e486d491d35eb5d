//! Reading a request's body: bounded in size, and in how long it may pause.

use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use http::StatusCode;

use crate::limits;

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
