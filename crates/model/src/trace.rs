//! W3C trace context: the trace a call belongs to, and the span it is part of.

use crate::call::Call;
use crate::ids::{SpanId, TraceId};

/// What a `traceparent` says of whoever sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub trace_id: TraceId,
    /// The sender's span.
    pub parent: SpanId,
    /// Two hexadecimal digits, passed on as they came.
    flags: String,
}

impl Trace {
    /// Reads `00-<32 hex>-<16 hex>-<2 hex>`. Whatever else it is belongs to no trace.
    pub fn read(traceparent: &str) -> Option<Self> {
        let mut parts = traceparent.split('-');
        let (version, trace, parent, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        // Later versions may say more behind these four.
        let whole = version != "ff" && (version != "00" || parts.next().is_none());
        let named = |text: &str, digits| is_hex(text, digits) && text.bytes().any(|b| b != b'0');
        let valid = whole && is_hex(version, 2) && is_hex(flags, 2);
        (valid && named(trace, 32) && named(parent, 16)).then(|| Self {
            trace_id: TraceId::from_string(trace),
            parent: SpanId::from_string(parent),
            flags: flags.to_owned(),
        })
    }
}

/// What an upstream is told of a call: our span is the parent of its own.
pub fn traceparent(call: &Call, received: Option<&Trace>) -> String {
    let flags = received.map_or("01", |trace| trace.flags.as_str());
    format!("00-{}-{}-{flags}", call.trace_id, call.span_id())
}

pub(crate) fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const PARENT: &str = "00f067aa0ba902b7";

    #[test]
    fn only_a_well_formed_trace_is_continued() {
        let check = |text: &str, continued: bool| {
            assert_eq!(Trace::read(text).is_some(), continued, "{text}");
        };
        check(&format!("00-{TRACE}-{PARENT}-01"), true);
        check(&format!("00-{TRACE}-{PARENT}-00"), true);
        check(&format!("00-{TRACE}-{PARENT}-01-more"), false);
        check(&format!("01-{TRACE}-{PARENT}-01-more"), true);
        check(&format!("ff-{TRACE}-{PARENT}-01"), false);
        check(&format!("00-{}-{PARENT}-01", TRACE.to_uppercase()), false);
        check(&format!("00-{}-{PARENT}-01", "0".repeat(32)), false);
        check(&format!("00-{TRACE}-{}-01", "0".repeat(16)), false);
        check(&format!("00-short-{PARENT}-01"), false);
        check("garbage", false);
        check("", false);
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "\\PC{0,80}") {
            let _trace = Trace::read(&text);
        }
    }
}
