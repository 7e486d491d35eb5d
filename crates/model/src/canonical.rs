//! One spelling for one JSON value (RFC 8785), and the hash over it.

use std::cell::RefCell;
use std::cmp::Ordering;

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Memory that a thread keeps for the next hash.
const SHEET_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The canonical bytes of a value: sorted keys, no white space, one way to write numbers.
///
/// One exception: RFC 8785 rounds integers beyond 2^53, and then two account numbers could share a
/// hash and one approval release both. Such integers are written digit for digit.
pub fn bytes(value: &Value) -> Vec<u8> {
    let is_long = value.as_array().is_some_and(|items| items.len() > 256);
    let mut out = Vec::with_capacity(if is_long { 64 * 1024 } else { 256 });
    write(value, &mut out);
    out
}

/// Compact JSON with the keys in the order they have, quicker than the general writer.
pub(crate) fn write_as_ordered(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_as_ordered(item, out);
            }
            out.push(b']');
        }
        Value::Object(fields) => {
            out.push(b'{');
            for (index, (key, field)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                string(key, out);
                out.push(b':');
                write_as_ordered(field, out);
            }
            out.push(b'}');
        }
        Value::String(text) => string(text, out),
        Value::Bool(true) => out.extend(b"true"),
        Value::Bool(false) => out.extend(b"false"),
        Value::Null => out.extend(b"null"),
        // INVARIANT: memory takes what is written.
        Value::Number(number) => drop(serde_json::to_writer(out, number)),
    }
}

/// One field of an object that is nowhere whole.
#[derive(Clone, Copy, Debug)]
pub enum Field<'v> {
    Value(&'v Value),
    List(&'v [Value]),
    Text(&'v str),
    Null,
    Fields(&'v [(&'v str, Self)]),
    /// Canonical bytes already made.
    Written(&'v [u8]),
}

/// The hash of an object given by its fields, as if it were one value; nothing is copied.
pub fn hash_fields<'v>(fields: impl IntoIterator<Item = (&'v str, Field<'v>)>) -> String {
    hash_of(|out| object(fields.into_iter().collect(), out, write_field))
}

/// The hash of a list, of whose rows none is a value yet. Rows are written as they are declared, so
/// they must hold neither maps nor numbers that have two spellings.
pub fn hash_rows(rows: impl IntoIterator<Item = impl Serialize>) -> String {
    hash_of(|out| {
        for row in rows {
            // INVARIANT: memory takes what is written, and rows have no keys but texts.
            drop(serde_json::to_writer(&mut *out, &row));
            out.push(b'\n');
        }
    })
}

/// The hash over what is written. Every thread writes to memory of its own, again and again.
fn hash_of(write: impl FnOnce(&mut Vec<u8>)) -> String {
    thread_local! {
        static SHEET: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    SHEET.with_borrow_mut(|sheet| {
        sheet.clear();
        write(sheet);
        let hash = hash_bytes(sheet);
        sheet.shrink_to(SHEET_BYTES_MAX);
        hash
    })
}

fn write_field(field: Field<'_>, out: &mut Vec<u8>) {
    match field {
        Field::Value(value) => write(value, out),
        Field::List(items) => list(items, out),
        Field::Text(text) => string(text, out),
        Field::Null => leaf(&(), out),
        Field::Fields(fields) => object(fields.to_vec(), out, write_field),
        Field::Written(bytes) => out.extend_from_slice(bytes),
    }
}

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Array(items) => list(items, out),
        Value::Object(fields) => map(fields, out),
        Value::String(text) => string(text, out),
        Value::Number(number) if number.is_i64() || number.is_u64() => {
            // INVARIANT: as for texts.
            drop(serde_json::to_writer(out, number));
        }
        Value::Bool(true) => out.extend(b"true"),
        Value::Bool(false) => out.extend(b"false"),
        Value::Null => out.extend(b"null"),
        Value::Number(_) => leaf(value, out),
    }
}

fn list(items: &[Value], out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(b']');
}

fn object<F: Copy>(mut fields: Vec<(&str, F)>, out: &mut Vec<u8>, write: impl Fn(F, &mut Vec<u8>)) {
    sorted(&mut fields, out, write);
}

/// Most objects have few fields, which need no memory of their own to be sorted.
fn map(fields: &Map<String, Value>, out: &mut Vec<u8>) {
    let mut few = [("", &Value::Null); 12];
    let entries = fields.iter().map(|(key, field)| (key.as_str(), field));
    match few.get_mut(..fields.len()) {
        Some(few) => {
            few.iter_mut().zip(entries).for_each(|(place, entry)| *place = entry);
            sorted(few, out, write);
        }
        None => object(entries.collect(), out, write),
    }
}

fn sorted<F: Copy>(fields: &mut [(&str, F)], out: &mut Vec<u8>, write: impl Fn(F, &mut Vec<u8>)) {
    fields.sort_unstable_by(|(a, _), (b, _)| by_utf16(a, b));
    out.push(b'{');
    for (index, (key, field)) in fields.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        string(key, out);
        out.push(b':');
        write(*field, out);
    }
    out.push(b'}');
}

fn by_utf16(a: &str, b: &str) -> Ordering {
    match a.bytes().zip(b.bytes()).find(|(a, b)| a != b) {
        None => a.len().cmp(&b.len()),
        // The two orders part only where both characters are beyond U+DFFF.
        Some((a, b)) if a.min(b) < 0xEE => a.cmp(&b),
        Some(_) => a.encode_utf16().cmp(b.encode_utf16()),
    }
}

/// Escaped as the standard says, which is how `serde_json` does it; most of a text needs none.
pub(crate) fn string(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    if text.len() <= 16 && !text.bytes().any(is_escaped) {
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
        return;
    }
    for block in text.as_bytes().chunks(64) {
        // Without branches, so that long texts run at memory speed.
        if block.iter().fold(false, |found, byte| found | is_escaped(*byte)) {
            block.split_inclusive(|byte| is_escaped(*byte)).for_each(|run| escape(run, out));
        } else {
            out.extend_from_slice(block);
        }
    }
    out.push(b'"');
}

const fn is_escaped(byte: u8) -> bool {
    matches!(byte, 0..0x20 | b'"' | b'\\')
}

/// Only the last byte may need it.
fn escape(run: &[u8], out: &mut Vec<u8>) {
    let Some((last, plain)) = run.split_last() else { return };
    out.extend_from_slice(plain);
    match last {
        b'"' => out.extend(br#"\""#),
        b'\\' => out.extend(br"\\"),
        b'\n' => out.extend(br"\n"),
        b'\r' => out.extend(br"\r"),
        b'\t' => out.extend(br"\t"),
        8 => out.extend(br"\b"),
        12 => out.extend(br"\f"),
        0..0x20 => {
            out.extend(br"\u00");
            out.extend(hex(&[*last]).bytes());
        }
        _ => out.push(*last),
    }
}

fn leaf(value: &impl Serialize, out: &mut Vec<u8>) {
    // INVARIANT: a scalar always has a canonical form, so nothing is left out here.
    out.extend(serde_json_canonicalizer::to_vec(value).unwrap_or_default());
}

/// SHA-256 of the canonical bytes, in hexadecimal.
pub fn hash(value: &Value) -> String {
    hash_of(|out| write(value, out))
}

/// SHA-256 of the bytes as they are, in hexadecimal.
pub fn hash_bytes(bytes: &[u8]) -> String {
    hash_parts(&[bytes])
}

/// The hash of several parts as if they were one.
pub fn hash_parts(parts: &[&[u8]]) -> String {
    let hasher = parts.iter().fold(Sha256::new(), Sha256::chain_update);
    hex(&hasher.finalize())
}

/// Two hexadecimal digits for each byte.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| nibble + if nibble < 10 { b'0' } else { b'a' - 10 };
    let digits = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    let mut text = Vec::with_capacity(2 * bytes.len());
    text.extend(digits);
    // INVARIANT: digits are ASCII.
    String::from_utf8(text).unwrap_or_default()
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
    fn any_two_keys_are_ordered_as_their_utf16_is() {
        let keys = [
            "",
            "a",
            "ab",
            "b",
            "é",
            "\u{7ff}",
            "\u{d7ff}",
            "\u{e000}",
            "\u{ffff}",
            "\u{10000}",
            "\u{10ffff}",
            "a\u{e000}",
            "a\u{10000}",
        ];
        for a in keys {
            for b in keys {
                assert_eq!(by_utf16(a, b), a.encode_utf16().cmp(b.encode_utf16()), "{a} {b}");
            }
        }
    }

    #[test]
    fn strings_are_spelled_like_the_standards_own_implementation() {
        for c in (0..=0x2FFF).filter_map(char::from_u32) {
            let text = format!("a{c}\u{7f}\"\\/");
            let standard = serde_json_canonicalizer::to_vec(&text).unwrap();
            assert_eq!(bytes(&json!(text)), standard, "{}", c.escape_unicode());
        }
    }

    #[test]
    fn what_is_written_as_ordered_is_what_others_write() {
        let value = json!({"z": [1, -2.5, 1e300, true, false, null], "a": {"\"": "\u{1}é\n"}, "": {}, "e": []});
        let mut out = Vec::new();
        write_as_ordered(&value, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
    }

    #[test]
    fn long_strings_are_escaped_wherever_it_is_needed() {
        for length in 0..200 {
            for escaped in ["\"", "\\", "\n", "\u{1}", "é", "漢\t"] {
                let text =
                    format!("{}{escaped}{}{escaped}", "x".repeat(length), "y".repeat(200 - length));
                assert_eq!(bytes(&json!(text)), serde_json::to_vec(&text).unwrap(), "{text}");
            }
        }
    }

    #[test]
    fn fields_hash_like_the_object_they_make() {
        let value = json!({"b": [1, {"c": null}], "a": "x"});
        let list = value["b"].as_array().unwrap();
        let fields = [("b", Field::List(list)), ("a", Field::Value(&value["a"]))];
        assert_eq!(hash_fields(fields), hash(&value));
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
