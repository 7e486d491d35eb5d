//! Bytes on their way to the artifact store, and the shelf that names them.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use model::{ArtifactKind, Handle};
use serde_json::{Value, json};

/// One artifact of the evidence lane, exactly as the upstream sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    pub handle: Handle,
    /// The seed's name for it, `mcp:{tool}:{kind}:{index}`: unique within its call only.
    pub alias: Option<Handle>,
    pub kind: ArtifactKind,
    pub media_type: String,
    pub label: String,
    pub bytes: Vec<u8>,
}

impl Blob {
    /// How a client is told about it; the bytes stay behind.
    pub(crate) fn card(&self) -> Value {
        json!({
            "handle": self.handle,
            "kind": self.kind,
            "media_type": self.media_type,
            "size_bytes": self.bytes.len(),
            "label": self.label,
        })
    }
}

/// Puts blobs aside under one unguessable handle: `art_x`, then `art_x-2`, `art_x-3`.
#[derive(Debug)]
pub(crate) struct Shelf<'a> {
    handle: &'a Handle,
    pub(crate) blobs: Vec<Blob>,
}

impl<'a> Shelf<'a> {
    pub(crate) const fn new(handle: &'a Handle) -> Self {
        Self { handle, blobs: Vec::new() }
    }

    pub(crate) fn put(
        &mut self,
        kind: ArtifactKind,
        media_type: &str,
        name: Name<'_>,
        bytes: Vec<u8>,
    ) {
        let handle = match self.blobs.len() {
            0 => self.handle.clone(),
            earlier => Handle::from_string(format!("{}-{}", self.handle, earlier + 1)),
        };
        let alias = name.alias.map(Handle::from_string);
        let (media_type, label) = (media_type.to_owned(), name.label.to_owned());
        self.blobs.push(Blob { handle, alias, kind, media_type, label, bytes });
    }
}

/// What a blob is called beside its handle.
pub(crate) struct Name<'a> {
    pub(crate) label: &'a str,
    pub(crate) alias: Option<String>,
}

/// Standard base64, with or without its padding.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(&STANDARD, LENIENT).decode(text).ok()
}

pub(crate) fn encode_base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
