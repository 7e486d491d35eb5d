//! The nouns every other crate speaks in: ids, items, cards, calls, results, faults, secrets, time.
//!
//! No I/O, no async, no decisions. A type is here when at least two crates must agree on it or when
//! it is written down (record, artifact, envelope); what one crate alone needs stays there.

pub mod answer;
pub mod approval;
pub mod artifact;
pub mod call;
pub mod canonical;
pub mod card;
pub mod client;
pub mod clock;
pub mod decision;
pub mod evidence;
pub mod fault;
pub mod glob;
pub mod grade;
pub mod ids;
pub mod item;
pub mod limits;
pub mod method;
pub mod numbers;
pub mod origin;
pub mod packed;
pub mod pin;
pub mod principal;
pub mod record;
pub mod replay;
pub mod result;
pub mod run;
pub mod score;
pub mod secret;
pub mod shown;
pub mod task;
pub mod tool_error;
pub mod trace;

pub use answer::Answer;
pub use approval::{Approval, ApprovalState, Subject};
pub use artifact::{ArtifactKind, ArtifactRef, Selector, View};
pub use call::{Call, Lineage};
pub use card::Card;
pub use client::{Client, LogLevel};
pub use clock::{Clock, Timestamp};
pub use decision::{Decision, DecisionAction, Spent};
pub use fault::{Code, ErrorKind, Fault, NextAction, Side, Violation};
pub use grade::{ApprovalMode, CapClass, Class, Effect, ReplayRule};
pub use ids::{
    ApprovalId, ArtifactId, CallId, CapabilityId, DecisionId, Generation, Handle, RecordId, RunId,
    SessionId, SpanId, TraceId, UpstreamName,
};
pub use item::{EffectClaim, Finding, Hints, Item, ItemIds, ItemKey, ItemKind, Severity};
pub use method::{Listed, Method, TaskVerb};
pub use origin::Origin;
pub use packed::Packed;
pub use pin::Pin;
pub use principal::{Caller, Grant, Principal, PrincipalKind};
pub use record::{Record, RecordStatus};
pub use result::{CallResult, CallStatus, Outcome};
pub use secret::Secret;
pub use tool_error::ToolError;
