//! A value with the letters of the text it was read from, as far as it is still what that says.

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// `text` was read as `plain`, of which `value` was made.
pub(super) struct Spelled<'a> {
    pub(super) value: &'a Value,
    pub(super) plain: &'a Value,
    pub(super) text: &'a str,
}

impl Serialize for Spelled<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.value == self.plain
            && let Ok(raw) = serde_json::from_str::<&RawValue>(self.text)
        {
            return raw.serialize(serializer);
        }
        let (Value::Object(fields), Value::Object(plain)) = (self.value, self.plain) else {
            return self.value.serialize(serializer);
        };
        let texts: BTreeMap<String, &RawValue> =
            serde_json::from_str(self.text).unwrap_or_default();
        let mut map = serializer.serialize_map(Some(fields.len()))?;
        for (key, value) in fields {
            match (plain.get(key), texts.get(key)) {
                (Some(plain), Some(text)) => {
                    map.serialize_entry(key, &Self { value, plain, text: text.get() })?;
                }
                _ => map.serialize_entry(key, value)?,
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_not_changed_keeps_its_letters() {
        let text =
            r#"{"n":1e2,"_meta":{"a":1.50,"b":{"c":1e2}},"list":[1e2,{"d":1.0}],"gone":1e2}"#;
        let plain: Value = serde_json::from_str(text).unwrap();
        let mut value = plain.clone();
        let shown =
            |value: &Value| serde_json::to_string(&Spelled { value, plain: &plain, text }).unwrap();
        assert_eq!(shown(&value), text);
        value.as_object_mut().unwrap().shift_remove("gone");
        value["_meta"]["ours"] = json!(1);
        value["list"][1]["d"] = json!(2);
        assert_eq!(
            shown(&value),
            r#"{"n":1e2,"_meta":{"a":1.50,"b":{"c":1e2},"ours":1},"list":[100.0,{"d":2}]}"#
        );
    }
}
