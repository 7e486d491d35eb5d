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
    /// The last lines.
    Tail {
        #[serde(default = "tail_lines")]
        lines: usize,
    },
    /// Characters from `offset` on, which counts from 0.
    Chars {
        #[serde(default)]
        offset: usize,
        #[serde(default = "head_chars")]
        chars: usize,
    },
    /// Bytes from `start` up to but not including `end`, counted from 0.
    Bytes {
        start: usize,
        end: usize,
    },
    /// The fields named of an object, or, when none are, the names of its fields from `offset` on.
    JsonKeys {
        #[serde(default)]
        pointer: String,
        #[serde(default)]
        keys: Vec<String>,
        #[serde(default)]
        offset: usize,
    },
    /// Rows of a table below its header, or items of a JSON array; both count from 1.
    Rows {
        start: usize,
        end: usize,
        #[serde(default)]
        pointer: String,
    },
    /// Lines that match a regular expression, from line `start` on, with lines around each.
    Grep {
        pattern: String,
        #[serde(default)]
        ignore_case: bool,
        #[serde(default)]
        context: usize,
        #[serde(default = "first_line")]
        start: usize,
    },
}

const fn head_chars() -> usize {
    500
}

const fn tail_lines() -> usize {
    20
}

const fn first_line() -> usize {
    1
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    pub label: String,
    pub selector: Selector,
}
