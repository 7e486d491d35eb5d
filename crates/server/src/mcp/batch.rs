//! Several messages in one array, as 2025-03-26 allows: all answers in one array.

use model::Client;
use protocol::{Ask, Incoming, Refusal, Request, Revision, jsonrpc};
use tokio_util::sync::CancellationToken;

use super::{Carrier, Frames, Mcp, Outlet};
use crate::limits;
use crate::reply;
use crate::sessions::Visit;

type Messages = [Result<Incoming, Refusal>];

/// Whether these messages came as a batch; refused where there are none, or if it is too large.
///
/// A batch of one is answered as a batch where there are any; elsewhere it is taken for its message.
pub(super) fn is_batch(
    revision: Revision,
    bytes: &[u8],
    messages: &Messages,
) -> Result<bool, Refusal> {
    let array = bytes.trim_ascii_start().first() == Some(&b'[');
    let several = messages.len() > 1;
    if several && !revision.has_batches() || messages.len() > limits::BATCH_MAX {
        let message = "send one message at a time";
        return Err(Refusal::new(None, jsonrpc::INVALID_REQUEST, message));
    }
    let batched = array && revision.has_batches();
    if batched && messages.iter().flatten().any(Incoming::is_stateless) {
        let message = "a request that names its own revision must not be part of a batch";
        return Err(Refusal::new(None, jsonrpc::INVALID_REQUEST, message));
    }
    Ok(batched)
}

impl Mcp {
    /// Takes one message after the other; all answers in one array, if there is any.
    ///
    /// While it waits for the array a client can be asked nothing, so its calls are those of one that
    /// answers nothing.
    pub(super) async fn batch(
        &self,
        visit: &Visit,
        messages: Vec<Result<Incoming, Refusal>>,
        stop: &CancellationToken,
        frames: &Frames,
    ) -> Option<Vec<u8>> {
        let mute = Client { capabilities: serde_json::Map::new(), ..visit.client.as_ref().clone() };
        let visit = Visit { client: mute.into(), ..visit.clone() };
        let mut answers = Vec::new();
        for message in messages {
            match message {
                Err(refusal) => answers.push(reply::refusal(&refusal)),
                Ok(Incoming::Request(request)) => {
                    answers.extend(Box::pin(self.batched(&visit, request, stop, frames)).await);
                }
                Ok(Incoming::Cancelled { id }) => visit.running.cancel(&id),
                Ok(Incoming::Response { id, outcome }) => visit.memory.answered(&id, outcome),
                Ok(Incoming::Notification { .. }) => {}
            }
        }
        (!answers.is_empty()).then(|| [b"[", answers.join(&b","[..]).as_slice(), b"]"].concat())
    }

    /// The answer to one request of a batch; none to one that was cancelled.
    async fn batched(
        &self,
        visit: &Visit,
        request: Box<Request>,
        stop: &CancellationToken,
        frames: &Frames,
    ) -> Option<Vec<u8>> {
        if let Ask::Initialize { .. } = request.ask {
            let message = "`initialize` must not be part of a batch";
            let refusal = Refusal::new(Some(request.id), jsonrpc::INVALID_REQUEST, message);
            return Some(reply::refusal(&refusal));
        }
        let underway = match visit.running.enter(&request.id) {
            Ok(underway) => underway,
            Err(fault) => return Some(reply::error(&request.id, visit.revision, &fault).bytes),
        };
        let (cancel, carrier) = (&underway.cancel, Carrier::Shared);
        let outlet = Outlet { cancel, stop, frames, carrier };
        let said = self.answer(visit, request, &outlet).await;
        (!outlet.cancel.is_cancelled()).then_some(said.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::decode;

    #[test]
    fn only_one_revision_has_batches_and_they_have_an_end() {
        let ping = r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#;
        let check = |revision: Revision, count: usize, wanted: Option<bool>| {
            let text = format!(" [{}]", vec![ping; count].join(","));
            let messages = decode::client(text.as_bytes()).unwrap();
            assert_eq!(is_batch(revision, text.as_bytes(), &messages).ok(), wanted, "{count}");
        };
        let has = Revision::V2025_03_26;
        check(has, 1, Some(true));
        check(has, limits::BATCH_MAX, Some(true));
        check(has, limits::BATCH_MAX + 1, None);
        for revision in [Revision::V2024_11_05, Revision::V2025_06_18, Revision::V2025_11_25] {
            check(revision, 1, Some(false));
            check(revision, 2, None);
        }
        let messages = decode::client(ping.as_bytes()).unwrap();
        assert_eq!(is_batch(has, ping.as_bytes(), &messages), Ok(false));
    }

    /// Nothing holds its headers against it, or ends it with its connection.
    #[test]
    fn a_stateless_request_is_part_of_no_batch() {
        let check = |meta: serde_json::Value, wanted: Option<bool>| {
            let ping = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
            let list = serde_json::json!({
                "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": meta}
            });
            let text = serde_json::json!([ping, list]).to_string();
            let messages = decode::client(text.as_bytes()).unwrap();
            assert_eq!(is_batch(Revision::V2025_03_26, text.as_bytes(), &messages).ok(), wanted);
        };
        check(serde_json::json!({}), Some(true));
        let (version, able) = (decode::meta::VERSION, decode::meta::CAPABILITIES);
        check(serde_json::json!({version: "2026-07-28", able: {}}), None);
    }
}
