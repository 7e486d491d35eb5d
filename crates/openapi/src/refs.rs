//! Following `$ref` within one document. Nothing outside it is ever looked at.

use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::error::OpenApiError;
use crate::limits::REF_CHAIN_MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    V30,
    V31,
}

/// The document a reference is looked up in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refs<'a> {
    pub(crate) root: &'a Value,
    pub(crate) dialect: Dialect,
}

impl<'a> Refs<'a> {
    /// The value itself, or what its `$ref` leads to.
    pub(crate) fn follow(self, value: &'a Value) -> Result<&'a Value, OpenApiError> {
        let mut at = value;
        for _ in 0..REF_CHAIN_MAX {
            match reference(at) {
                None => return Ok(at),
                Some(next) => at = self.target(next)?,
            }
        }
        let reference = reference(value).unwrap_or_default().to_owned();
        Err(OpenApiError::RefCycle { reference })
    }

    pub(crate) fn target(self, reference: &str) -> Result<&'a Value, OpenApiError> {
        let named = || reference.to_owned();
        let Some(fragment) = reference.strip_prefix('#') else {
            return Err(OpenApiError::RemoteRef { reference: named() });
        };
        let pointer = percent_decode_str(fragment).decode_utf8_lossy();
        let found = self.root.pointer(&pointer).filter(|_| pointer.starts_with('/'));
        found.ok_or_else(|| OpenApiError::RefNotFound { reference: named() })
    }
}

pub(crate) fn reference(value: &Value) -> Option<&str> {
    value.get("$ref").and_then(Value::as_str)
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "rows read better as values")]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(start: Value, expected: Result<Value, &str>) {
        let root = json!({"a": {"$ref": "#/b~1c"}, "b/c": 7, "x y": 8,
            "loop": {"$ref": "#/pool"}, "pool": {"$ref": "#/loop"}});
        let refs = Refs { root: &root, dialect: Dialect::V31 };
        match (refs.follow(&start), expected) {
            (Ok(found), Ok(value)) => assert_eq!(*found, value),
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
            (got, expected) => panic!("{got:?} for {expected:?}"),
        }
    }

    #[test]
    fn references_are_followed_within_the_document_only() {
        check(json!({"plain": 1}), Ok(json!({"plain": 1})));
        check(json!({"$ref": "#/a"}), Ok(json!(7)));
        check(json!({"$ref": "#/x%20y"}), Ok(json!(8)));
        check(json!({"$ref": "#/nowhere"}), Err("points to nothing"));
        check(json!({"$ref": "#"}), Err("points to nothing"));
        check(json!({"$ref": "#/loop"}), Err("leads only to other references"));
        check(json!({"$ref": "other.json#/a"}), Err("points outside"));
        check(json!({"$ref": "https://example.com/a.json"}), Err("points outside"));
        check(json!({"$ref": "file:///etc/passwd"}), Err("points outside"));
    }
}
