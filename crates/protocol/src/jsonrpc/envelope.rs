//! The fields of one message, each put where it belongs as it is read.

use std::fmt;

use model::limits::ID_BYTES_MAX;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::{INVALID_REQUEST, Id, Message, Refusal, RpcError};
use crate::strict::{Bounds, Fields, Made, check_key, duplicate};

/// Everything of a message, whether or not it makes one.
#[derive(Default)]
pub(super) struct Envelope {
    jsonrpc: Option<Version>,
    id: Option<Value>,
    method: Option<Value>,
    params: Option<Params>,
    result: Option<Value>,
    error: Option<Value>,
}

impl Envelope {
    pub(super) fn read<'de, A: MapAccess<'de>>(
        within: Bounds<'_>,
        mut entries: A,
    ) -> Result<Self, A::Error> {
        let mut envelope = Self::default();
        // What means nothing to us must still have one meaning.
        let mut others = Map::new();
        let mut keys = 0;
        while let Some(key) = entries.next_key::<Key>()? {
            check_key(keys, key.as_str())?;
            keys += 1;
            let new = match &key {
                Key::Jsonrpc => envelope.jsonrpc.is_none(),
                Key::Id => envelope.id.is_none(),
                Key::Method => envelope.method.is_none(),
                Key::Params => envelope.params.is_none(),
                Key::Result => envelope.result.is_none(),
                Key::Error => envelope.error.is_none(),
                Key::Other(name) => !others.contains_key(name),
            };
            if !new {
                return Err(duplicate(key.as_str()));
            }
            match key {
                Key::Jsonrpc => envelope.jsonrpc = Some(entries.next_value_seed(within.seed())?),
                Key::Id => envelope.id = Some(entries.next_value_seed(within.seed())?),
                Key::Method => envelope.method = Some(entries.next_value_seed(within.seed())?),
                Key::Params => envelope.params = Some(entries.next_value_seed(within.seed())?),
                Key::Result => envelope.result = Some(entries.next_value_seed(within.seed())?),
                Key::Error => envelope.error = Some(entries.next_value_seed(within.seed())?),
                Key::Other(name) => {
                    entries.next_value_seed(within.seed::<Value>())?;
                    others.insert(name, Value::Null);
                }
            }
        }
        Ok(envelope)
    }

    /// The message it is, or why it is none.
    pub(super) fn message(self) -> Result<Message, Refusal> {
        let id = self.id.map(read_id).transpose()?;
        let refuse = |id, message: &str| Err(Refusal::new(id, INVALID_REQUEST, message));
        if self.jsonrpc != Some(Version::Two) {
            return refuse(id, "`jsonrpc` must be \"2.0\"");
        }
        let method = match (self.method, id) {
            (Some(Value::String(method)), id) => (method, id),
            (Some(_), id) => return refuse(id, "`method` must be a string"),
            (None, Some(id)) => return read_response(id, self.result, self.error),
            (None, None) => {
                return refuse(None, "a message needs a `method`, or an `id` with a result");
            }
        };
        match (method, self.params) {
            ((_, id), Some(Params::Wrong)) => refuse(id, "`params` must be an object"),
            ((method, id), params) => {
                let params = match params {
                    Some(Params::Fields(params)) => params,
                    _ => Fields::default(),
                };
                Ok(match id {
                    Some(id) => Message::Request { id, method, params, written: None },
                    None => Message::Notification { method, params },
                })
            }
        }
    }
}

fn read_id(id: Value) -> Result<Id, Refusal> {
    match id {
        Value::String(text) if text.len() > ID_BYTES_MAX => {
            let message = format!("`id` may have at most {ID_BYTES_MAX} bytes");
            Err(Refusal::new(None, INVALID_REQUEST, message))
        }
        Value::String(text) => Ok(Id::Text(text)),
        other => other.as_i64().map(Id::Number).ok_or_else(|| {
            Refusal::new(None, INVALID_REQUEST, "`id` must be a string or a whole number")
        }),
    }
}

fn read_response(id: Id, result: Option<Value>, error: Option<Value>) -> Result<Message, Refusal> {
    let outcome = match (result, error) {
        (Some(result), None) => Ok(result),
        (None, Some(error)) => match serde_json::from_value::<RpcError>(error) {
            Ok(error) => Err(error),
            Err(_not_an_error) => {
                let message = "`error` needs a code and a message";
                return Err(Refusal::new(Some(id), INVALID_REQUEST, message));
            }
        },
        _ => {
            let message = "a response has either a `result` or an `error`";
            return Err(Refusal::new(Some(id), INVALID_REQUEST, message));
        }
    };
    Ok(Message::Response { id, outcome, written: None })
}

#[derive(PartialEq)]
enum Version {
    Two,
    Wrong,
}

impl Made for Version {
    fn plain(_: Value) -> Self {
        Self::Wrong
    }

    fn text(text: &str) -> Self {
        if text == "2.0" { Self::Two } else { Self::Wrong }
    }
}

enum Params {
    Fields(Fields),
    Null,
    Wrong,
}

impl Made for Params {
    fn plain(value: Value) -> Self {
        if value.is_null() { Self::Null } else { Self::Wrong }
    }

    fn object<'de, A: MapAccess<'de>>(within: Bounds<'_>, entries: A) -> Result<Self, A::Error> {
        Fields::read(within, entries).map(Self::Fields)
    }
}

/// A name among those of a message; only others' need memory.
enum Key {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    Other(String),
}

impl Key {
    fn as_str(&self) -> &str {
        match self {
            Self::Jsonrpc => "jsonrpc",
            Self::Id => "id",
            Self::Method => "method",
            Self::Params => "params",
            Self::Result => "result",
            Self::Error => "error",
            Self::Other(name) => name,
        }
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Key, E> {
                Ok(match name {
                    "jsonrpc" => Key::Jsonrpc,
                    "id" => Key::Id,
                    "method" => Key::Method,
                    "params" => Key::Params,
                    "result" => Key::Result,
                    "error" => Key::Error,
                    _ => Key::Other(name.to_owned()),
                })
            }
        }
        deserializer.deserialize_str(Name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use crate::strict;
    use proptest::prelude::*;

    /// What a message was before it was put together as it is read: one value, then taken apart.
    fn by_value(bytes: &[u8]) -> Result<Result<Message, Refusal>, String> {
        let value = strict::parse(bytes).map_err(|error| format!("unreadable JSON: {error}"))?;
        let Value::Object(mut object) = value else { return Ok(Made::plain(value)) };
        let mut take = |key: &str| object.shift_remove(key);
        let envelope = Envelope {
            jsonrpc: take("jsonrpc").map(|said| Version::text(said.as_str().unwrap_or_default())),
            id: take("id"),
            method: take("method"),
            params: take("params").map(|said| match said {
                Value::Object(_) => Params::Fields(fields(&said)),
                plain => Params::plain(plain),
            }),
            result: take("result"),
            error: take("error"),
        };
        Ok(envelope.message())
    }

    fn fields(object: &Value) -> Fields {
        let text = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{object}}}"#);
        match read(text.as_bytes()).unwrap().remove(0).unwrap() {
            Message::Notification { params, .. } => params,
            other => panic!("{other:?}"),
        }
    }

    proptest! {
        #[test]
        fn a_message_is_what_its_fields_say_in_any_order(
            fields in proptest::collection::vec((
                proptest::sample::select(vec![
                    r#""jsonrpc""#, r#""id""#, r#""method""#, r#""params""#, r#""result""#,
                    r#""error""#, r#""x""#, r#""y""#, r#""\u0069d""#, r#""z\u0000""#,
                ]),
                proptest::sample::select(vec![
                    r#""2.0""#, r#""a""#, "1", "-7", "1.5", "null", "true", "[[1]]", "{}",
                    r#"{"a":1,"b":{"c":[]}}"#, r#"{"a":1,"a":2}"#, r#"{"code":1,"message":"m"}"#,
                    "18446744073709551615", "", "{\"q\":",
                ]),
            ), 0..7),
            versioned in any::<bool>(),
        ) {
            let mut body: Vec<_> = fields.iter().map(|(key, value)| format!("{key}:{value}")).collect();
            if versioned {
                body.push(r#""jsonrpc" : "2.0" "#.to_owned());
            }
            let text = format!("{{{}}}", body.join(", "));
            match (read(text.as_bytes()), by_value(text.as_bytes())) {
                (Ok(mut read), Ok(wanted)) => {
                    let mut read = read.remove(0);
                    super::super::keep(&mut read, None);
                    prop_assert_eq!(read, wanted);
                }
                (Err(refusal), Err(wanted)) => prop_assert_eq!(refusal.error.message, wanted),
                (read, wanted) => panic!("{read:?} {wanted:?}"),
            }
        }
    }
}
