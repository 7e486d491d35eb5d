//! Names that cannot be mixed up: one type for each kind of id.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::canonical;
use crate::clock::Timestamp;

/// Declares a string newtype; with a prefix, also a maker of fresh ids that sort by time.
///
/// Ids are written down in many places and never changed: a copy is another look at the same text.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident $(, $prefix:literal)?) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes an id that was made elsewhere.
            pub fn from_string(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            $(
            /// A fresh id: 48 bits of time, then randomness no caller can guess.
            pub fn fresh(at: Timestamp) -> Self {
                let mut digits = uuid::Uuid::encode_buffer();
                Self(joined($prefix, fresh(at).simple().encode_lower(&mut digits)))
            }
            )?

            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The same text, for places where it is no longer an id.
            pub fn text(&self) -> Arc<str> {
                Arc::clone(&self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}

id!(
    /// One request to use a tool.
    CallId, "call_"
);
id!(
    /// One bounded piece of work by a caller.
    RunId, "run_"
);
id!(
    /// One line of history: the opening and closing of a call.
    RecordId, "rec_"
);
id!(
    /// One question put to a human.
    ApprovalId, "apr_"
);
id!(
    /// One answer of the policy.
    DecisionId, "dec_"
);
id!(
    /// A W3C trace id: 32 hexadecimal digits.
    TraceId, ""
);
id!(
    /// One piece of work within a trace: 16 hexadecimal digits.
    SpanId
);
id!(
    /// A name for an artifact that cannot be guessed.
    Handle, "art_"
);
id!(
    /// One caller connection. Never an authentication.
    SessionId
);
id!(
    /// The configured name of one external system.
    UpstreamName
);
id!(
    /// A business operation a manifest allows, such as `payments.issue_refund`.
    CapabilityId
);
id!(
    /// Content address of stored bytes: SHA-256 in hexadecimal.
    ArtifactId
);

impl SessionId {
    /// A fresh session id: 128 random bits, nothing else, so that it tells a reader nothing.
    pub fn random() -> Self {
        let [mut bytes, more] = [(); 2].map(|()| uuid::Uuid::new_v4().into_bytes());
        // Two bytes of a UUID say in part what kind it is.
        [bytes[6], bytes[8]] = [more[0], more[1]];
        Self(canonical::hex(&bytes).into())
    }
}

/// What follows the prefix of a call's id is its number. Its record has the same one, and so have a
/// run and a trace that consist of this call alone: one look-up finds them all.
impl CallId {
    pub fn number(&self) -> &str {
        self.0.strip_prefix("call_").unwrap_or(&self.0)
    }
}

impl RecordId {
    pub fn of(call: &CallId) -> Self {
        Self(joined("rec_", call.number()))
    }
}

impl RunId {
    pub fn of(call: &CallId) -> Self {
        Self(joined("run_", call.number()))
    }
}

impl TraceId {
    pub fn of(call: &CallId) -> Self {
        Self(call.number().into())
    }
}

/// A numbered state of the catalogue.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Generation(pub u64);

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Both in one text, without a detour over the heap where they are as short as most ids.
fn joined(prefix: &str, number: &str) -> Arc<str> {
    let mut text = [0_u8; 64];
    match text.get_mut(..prefix.len() + number.len()) {
        Some(text) => {
            let (front, back) = text.split_at_mut(prefix.len());
            front.copy_from_slice(prefix.as_bytes());
            back.copy_from_slice(number.as_bytes());
            std::str::from_utf8(text).unwrap_or_default().into()
        }
        None => [prefix, number].concat().into(),
    }
}

fn fresh(at: Timestamp) -> uuid::Uuid {
    let millis = u64::try_from(at.as_millis()).unwrap_or_default();
    let seconds = millis / 1000;
    let nanos = u32::try_from(millis % 1000).unwrap_or_default() * 1_000_000;
    let timestamp = uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanos);
    uuid::Uuid::new_v7(timestamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_ids_sort_after_earlier_ones() {
        let early = CallId::fresh(Timestamp::from_millis(1_000));
        let late = CallId::fresh(Timestamp::from_millis(2_000));
        assert!(early < late, "{early} {late}");
    }

    #[test]
    fn ids_of_one_instant_differ() {
        let at = Timestamp::from_millis(5);
        assert_ne!(Handle::fresh(at), Handle::fresh(at));
    }

    #[test]
    fn what_belongs_to_one_call_alone_has_its_number() {
        let call = CallId::from_string("call_01a1");
        assert_eq!(RecordId::of(&call).as_str(), "rec_01a1");
        assert_eq!(RunId::of(&call).as_str(), "run_01a1");
        assert_eq!(TraceId::of(&call).as_str(), "01a1");
    }

    #[test]
    fn a_long_number_is_kept_whole() {
        let number = "é".repeat(40);
        let call = CallId::from_string(format!("call_{number}"));
        assert_eq!(RunId::of(&call).as_str(), format!("run_{number}"));
    }

    #[test]
    fn an_id_is_a_bare_string_on_paper() {
        let id = UpstreamName::from_string("demo");
        assert_eq!(serde_json::to_string(&id).unwrap(), r#""demo""#);
    }
}
