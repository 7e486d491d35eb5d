//! What a request over HTTP may say beside its message: the key that guards a write, and a trace.
//! What the message says itself counts, or goes before it.

use http::{HeaderMap, HeaderName};
use protocol::{Incoming, Refusal, Request, jsonrpc};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Puts it into the messages. One key is for one message, and nobody should guess which.
pub(in crate::mcp) fn take(
    headers: &HeaderMap,
    messages: &mut [Result<Incoming, Refusal>],
) -> Result<(), Refusal> {
    let key = text(headers, &IDEMPOTENCY_KEY).filter(|key| !key.is_empty());
    if key.is_some() && messages.len() > 1 {
        let message = "the header `Idempotency-Key` is for one message; put a key into the `_meta` \
                       of each";
        return Err(Refusal::new(None, jsonrpc::INVALID_REQUEST, message));
    }
    for message in messages {
        if let Ok(Incoming::Request(request)) = message {
            key.map_or(Ok(()), |key| take_key(key, request))?;
            take_trace(headers, request);
        }
    }
    Ok(())
}

/// Two keys that differ are a mistake nobody should guess about.
fn take_key(header: &str, request: &mut Request) -> Result<(), Refusal> {
    let key = request.meta.idempotency_key.get_or_insert_with(|| header.to_owned());
    if key == header {
        return Ok(());
    }
    let message = "the header `Idempotency-Key` and the key in `_meta` differ";
    Err(Refusal::new(Some(request.id.clone()), jsonrpc::INVALID_REQUEST, message))
}

fn take_trace(headers: &HeaderMap, request: &mut Request) {
    if request.meta.traceparent.is_none() {
        request.meta.traceparent = text(headers, &TRACEPARENT).map(str::to_owned);
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use protocol::decode;

    fn taken(head: &[(HeaderName, &str)], text: &str) -> Result<Vec<Request>, Refusal> {
        let mut messages = decode::client(text.as_bytes()).unwrap();
        let value = |text: &str| HeaderValue::from_str(text).unwrap();
        let headers = head.iter().map(|(name, text)| (name.clone(), value(text))).collect();
        take(&headers, &mut messages)?;
        Ok(messages
            .into_iter()
            .map(|message| match message {
                Ok(Incoming::Request(request)) => *request,
                other => panic!("{other:?}"),
            })
            .collect())
    }

    fn ping(meta: &str) -> String {
        format!(r#"{{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {{"_meta": {meta}}}}}"#)
    }

    /// CO-206: whichever place a trace is named in, and in each message of a batch.
    #[test]
    fn the_trace_of_the_message_goes_before_that_of_the_request() {
        let check = |meta: &str, header: Option<&str>, expected: Option<&str>| {
            let head: Vec<_> = header.map(|text| (TRACEPARENT, text)).into_iter().collect();
            for text in [ping(meta), format!("[{}, {}]", ping(meta), ping(meta))] {
                for request in taken(&head, &text).unwrap() {
                    assert_eq!(request.meta.traceparent.as_deref(), expected, "{text}");
                }
            }
        };
        check("{}", None, None);
        check("{}", Some("00-a"), Some("00-a"));
        check(r#"{"traceparent": "00-b"}"#, Some("00-a"), Some("00-b"));
        check(r#"{"traceparent": "00-b"}"#, None, Some("00-b"));
    }

    #[test]
    fn a_key_is_for_one_message_and_is_the_only_one() {
        let check = |header: &str, text: String, expected: Option<&str>| {
            let taken = taken(&[(IDEMPOTENCY_KEY, header)], &text).ok();
            let key = taken.and_then(|mut taken| taken.pop()?.meta.idempotency_key);
            assert_eq!(key.as_deref(), expected, "{text}");
        };
        let (none, own) = (ping("{}"), ping(r#"{"toolgate/idempotency_key": "k1"}"#));
        check("k1", none.clone(), Some("k1"));
        check("k1", own.clone(), Some("k1"));
        check("k2", own.clone(), None);
        check("", own.clone(), Some("k1"));
        check("k1", format!("[{none}]"), Some("k1"));
        check("k1", format!("[{none}, {none}]"), None);
        check("", format!("[{none}, {own}]"), Some("k1"));
    }
}
