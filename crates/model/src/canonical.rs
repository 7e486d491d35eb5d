//! One spelling for one JSON value (RFC 8785), and the hash over it.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The canonical bytes of a value: sorted keys, no white space, numbers as `ECMAScript` writes them.
pub fn bytes(value: &Value) -> Vec<u8> {
    // INVARIANT: a `Value` has string keys and finite numbers only, so canonical form always exists.
    serde_json_canonicalizer::to_vec(value).unwrap_or_else(|_| value.to_string().into_bytes())
}

/// SHA-256 of the canonical bytes, in hexadecimal.
pub fn hash(value: &Value) -> String {
    hash_bytes(&bytes(value))
}

/// SHA-256 of the bytes as they are, in hexadecimal.
pub fn hash_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|nibble| DIGITS.get(usize::from(nibble)).map_or('?', |digit| char::from(*digit)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn key_order_and_spelling_do_not_change_the_hash() {
        let a: Value = serde_json::from_str(r#"{"b": 1.0, "a": [1e1]}"#).unwrap();
        let b: Value = serde_json::from_str(r#"{"a":[10],"b":1}"#).unwrap();
        assert_eq!(hash(&a), hash(&b));
        assert_eq!(bytes(&a), br#"{"a":[10],"b":1}"#);
    }

    #[test]
    fn a_changed_leaf_changes_the_hash() {
        assert_ne!(hash(&json!({"a": "x"})), hash(&json!({"a": "y"})));
    }

    #[test]
    fn the_hash_is_sha256_in_hexadecimal() {
        assert_eq!(
            hash_bytes(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
