//! One spelling for one JSON value (RFC 8785), and the hash over it.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The canonical bytes of a value: sorted keys, no white space, one way to write numbers.
///
/// One exception: RFC 8785 rounds integers beyond 2^53, and then two account numbers could share a
/// hash and one approval release both. Such integers are written digit for digit.
pub fn bytes(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        }
        Value::Object(object) => {
            let mut fields: Vec<(&String, &Value)> = object.iter().collect();
            fields.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push(b'{');
            for (index, (key, field)) in fields.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                leaf(&key, out);
                out.push(b':');
                write(field, out);
            }
            out.push(b'}');
        }
        Value::Number(number) if number.is_i64() || number.is_u64() => {
            out.extend_from_slice(number.to_string().as_bytes());
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => leaf(value, out),
    }
}

fn leaf(value: &impl serde::Serialize, out: &mut Vec<u8>) {
    // INVARIANT: a scalar always has a canonical form, so nothing is left out here.
    out.extend(serde_json_canonicalizer::to_vec(value).unwrap_or_default());
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
    fn neighbouring_large_integers_do_not_share_a_hash() {
        let account = |number: u64| hash(&json!({"account": number}));
        assert_ne!(account(9_007_199_254_740_992), account(9_007_199_254_740_993));
        assert_ne!(hash(&json!(i64::MIN)), hash(&json!(i64::MIN + 1)));
    }

    #[test]
    fn keys_sort_by_utf16_and_strings_are_escaped_as_the_standard_says() {
        let value: Value =
            serde_json::from_str(r#"{"\uE000":1,"\uD83D\uDE00":"\u0007\n\u20ac"}"#).unwrap();
        assert_eq!(
            String::from_utf8(bytes(&value)).unwrap(),
            "{\"\u{1F600}\":\"\\u0007\\n\u{20ac}\",\"\u{E000}\":1}"
        );
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
