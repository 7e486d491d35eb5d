//! Stored bytes, and the declared ways to look at a part of them.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::grade::Class;
use crate::ids::{ArtifactId, Handle};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    Blob,
    Text,
    Json,
    Link,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactRef {
    /// What a caller may ask for; bound to its principal by the store.
    pub handle: Handle,
    pub artifact_id: ArtifactId,
    pub kind: ArtifactKind,
    pub media_type: String,
    pub size_bytes: u64,
    pub label: String,
    pub class: Class,
    pub created_at: Timestamp,
}

/// Which part of an artifact to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Selector {
    Head {
        #[serde(default = "head_chars")]
        chars: usize,
    },
    Lines {
        start: usize,
        end: usize,
    },
    JsonPointer {
        pointer: String,
    },
}

const fn head_chars() -> usize {
    500
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    pub label: String,
    pub selector: Selector,
}
