//! The secrets of this gate in every form they may come back in.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use model::Secret;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::limits::KNOWN_SECRET_BYTES_MIN;

/// Every spelling of the secrets that is long enough to look for.
pub(super) fn spellings<'s>(secrets: impl IntoIterator<Item = &'s Secret>) -> BTreeSet<String> {
    let long = |secret: &&Secret| secret.reveal().len() >= KNOWN_SECRET_BYTES_MIN;
    secrets.into_iter().filter(long).flat_map(|secret| forms(secret.reveal())).collect()
}

fn forms(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.to_owned()];
    forms.push(utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string());
    forms.push(serde_json::Value::from(secret).to_string().trim_matches('"').to_owned());
    for before in 0..3 {
        forms.push(inside_base64(secret, before, |bytes| STANDARD_NO_PAD.encode(bytes)));
        forms.push(inside_base64(secret, before, |bytes| URL_SAFE_NO_PAD.encode(bytes)));
    }
    forms.retain(|form| form.len() >= KNOWN_SECRET_BYTES_MIN);
    forms
}

/// The letters that depend on the secret alone when `before` other bytes stand before it.
fn inside_base64(secret: &str, before: usize, encode: impl Fn(&[u8]) -> String) -> String {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(secret.as_bytes());
    let encoded = encode(&bytes);
    let start = (before * 8).div_ceil(6);
    let end = bytes.len() * 8 / 6;
    encoded.get(start..end).unwrap_or_default().to_owned()
}
