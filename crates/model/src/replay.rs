//! What a run said and heard, kept so that it can be walked again without touching anything live.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::Call;
use crate::clock::Timestamp;
use crate::ids::{ArtifactId, TraceId};
use crate::record::RecordStatus;
use crate::result::CallResult;

/// What a replay may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideEffects {
    TranscriptOnly,
    Sandbox,
    LiveDisallowed,
}

/// One exchange of a run, chained to the one before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TranscriptEntry {
    pub seq: u64,
    pub call: Call,
    pub result: CallResult,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_ref: Option<ArtifactId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clock_values: Vec<Timestamp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub random_values: Vec<Value>,
    pub prev_hash: String,
    pub hash: String,
}

/// What a replay must come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    pub status: RecordStatus,
    pub record_hash: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayPacket {
    pub packet_id: String,
    pub trace_id: TraceId,
    pub source_kind: String,
    pub source_ref: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack_ref: Option<String>,
    pub inputs_hash: String,
    pub transcript_ref: String,
    pub transcript_chain_hash: String,
    pub side_effect_policy: SideEffects,
    pub expected: Expected,
}
