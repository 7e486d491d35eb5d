//! Forms that a person can take in: one field below the other, and none that asks for a secret.
//!
//! A client shows the fields it understands. What could hide others from our eyes, and not from the
//! client's, is not passed on.

use serde_json::{Map, Value};

/// Parts of a name by which a field asks for a secret.
const SECRET_WORDS: [&str; 17] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "apikey",
    "accesskey",
    "privatekey",
    "token",
    "credential",
    "cvv",
    "cvc",
    "cardnumber",
    "creditcard",
    "socialsecurity",
    "seedphrase",
    "onetimecode",
];
/// Whole names of such fields, too short to be looked for within others.
const SECRET_NAMES: [&str; 4] = ["pin", "otp", "ssn", "pwd"];

/// What a description asks for in so many words. Shorter ones stand in harmless sentences, too.
const SECRET_PHRASES: [&str; 25] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "api key",
    "access key",
    "private key",
    "secret key",
    "client secret",
    "shared secret",
    "api token",
    "access token",
    "auth token",
    "bearer token",
    "refresh token",
    "credentials",
    "cvv",
    "cvc",
    "card number",
    "credit card",
    "social security",
    "seed phrase",
    "recovery phrase",
    "one time code",
    "one time password",
];
/// Before such a phrase, it is said not to be asked for.
const DENIALS: [&str; 6] = ["no", "not", "never", "without", "don t", "do not"];
/// What a form may say of itself.
const FORM_KEYS: [&str; 10] = [
    "$schema",
    "$id",
    "$comment",
    "type",
    "title",
    "description",
    "properties",
    "propertyOrder",
    "required",
    "additionalProperties",
];
/// By these a field could be more than it shows.
const FIELD_DETOURS: [&str; 12] = [
    "$ref",
    "$dynamicRef",
    "$defs",
    "definitions",
    "allOf",
    "not",
    "if",
    "properties",
    "patternProperties",
    "additionalProperties",
    "prefixItems",
    "dependentSchemas",
];

/// Only flat fields, and none that asks for a secret.
pub(super) fn flat(params: &Map<String, Value>) -> Result<(), String> {
    let Some(schema) = params.get("requestedSchema") else { return Ok(()) };
    let Some(schema) = schema.as_object() else {
        return Err("its form is no object".to_owned());
    };
    let plain = |key: &str, value: &Value| match key {
        "type" => value == "object",
        "additionalProperties" => value.is_boolean(),
        key => FORM_KEYS.contains(&key) || key.starts_with("x-"),
    };
    if let Some((key, _)) = schema.iter().find(|(key, value)| !plain(key, value)) {
        let key = model::fault::one_line(key, 80);
        return Err(format!("its form is not flat: `{key}` says more than fields do"));
    }
    let Some(fields) = schema.get("properties") else { return Ok(()) };
    let Some(fields) = fields.as_object() else {
        return Err("the form's fields are no object".to_owned());
    };
    fields.iter().try_for_each(|(name, field)| {
        let shown = model::fault::one_line(name, 80);
        if asks_for_secret(name, field) {
            return Err(format!("its field `{shown}` asks for a secret"));
        }
        if !is_flat(field) {
            return Err(format!("its field `{shown}` is not flat"));
        }
        Ok(())
    })
}

fn asks_for_secret(name: &str, field: &Value) -> bool {
    let text = |key: &str| field.get(key).and_then(Value::as_str).unwrap_or_default();
    // Who chooses among what is offered gives nothing away.
    let free = field.get("type").is_none_or(|kind| kind != "boolean" && kind != "array")
        && ["enum", "oneOf", "const"].iter().all(|key| field.get(*key).is_none());
    text("format") == "password"
        || is_secret(name)
        || is_secret(text("title"))
        || (free && speaks_of_secret(text("description")))
}

/// Text, a number, a yes or no, or a choice of texts, one or several.
fn is_flat(field: &Value) -> bool {
    if FIELD_DETOURS.iter().any(|key| field.get(*key).is_some()) {
        return false;
    }
    let chooses = || ["enum", "oneOf", "anyOf", "const"].iter().any(|k| field.get(*k).is_some());
    let kind = field.get("type");
    match kind.and_then(Value::as_str) {
        Some("array") => field.get("items").is_some_and(is_choice),
        Some(kind) => is_plain_kind(kind) && field.get("items").is_none() && are_plain(field),
        None => kind.is_none() && chooses() && field.get("items").is_none() && are_plain(field),
    }
}

/// One of several texts: the items of a list.
fn is_choice(items: &Value) -> bool {
    let words = items.get("type").is_none_or(|kind| kind == "string");
    let whole = FIELD_DETOURS.iter().chain(&["items"]).all(|key| items.get(*key).is_none());
    items.is_object() && words && whole && are_plain(items)
}

/// Whether all that can be chosen is as plain as what can be written.
fn are_plain(field: &Value) -> bool {
    let scalar = |value: &Value| !value.is_object() && !value.is_array();
    let listed = |key: &str| field.get(key).map(|of| of.as_array().map(Vec::as_slice));
    let each = |key: &str, plain: &dyn Fn(&Value) -> bool| match listed(key) {
        None => true,
        Some(of) => of.is_some_and(|of| of.iter().all(plain)),
    };
    each("enum", &scalar)
        && field.get("const").is_none_or(scalar)
        && ["oneOf", "anyOf"].iter().all(|key| each(key, &is_branch))
}

/// A value with its title, or a plain kind: many libraries write what may be left out as `anyOf`.
fn is_branch(branch: &Value) -> bool {
    const KEYS: [&str; 11] = [
        "const",
        "title",
        "description",
        "type",
        "enum",
        "format",
        "pattern",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
    ];
    let Some(fields) = branch.as_object() else { return false };
    let kind = fields.get("type").map(Value::as_str);
    let plain = kind.is_none_or(|kind| kind.is_some_and(|k| k == "null" || is_plain_kind(k)));
    let known = fields.keys().all(|key| KEYS.contains(&key.as_str()));
    let says = fields.contains_key("const") || kind.is_some() || fields.contains_key("enum");
    plain && known && says && are_plain(branch)
}

fn is_plain_kind(kind: &str) -> bool {
    matches!(kind, "string" | "number" | "integer" | "boolean")
}

pub(super) fn is_secret(name: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let bare: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    SECRET_NAMES.contains(&bare.as_str()) || SECRET_WORDS.iter().any(|word| bare.contains(word))
}

/// Whether a sentence asks for a secret by name, and does not say that it is none.
fn speaks_of_secret(sentence: &str) -> bool {
    let words =
        sentence.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_ascii_lowercase).collect();
    let plain = format!(" {} ", words.join(" "));
    let spoken = SECRET_PHRASES.iter().filter_map(|phrase| plain.find(&format!(" {phrase} ")));
    let Some((before, _)) = spoken.min().and_then(|at| plain.split_at_checked(at)) else {
        return false;
    };
    let before = format!("{before} ");
    !DENIALS.iter().any(|denial| before.contains(&format!(" {denial} ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(schema: &Value) -> Result<(), String> {
        flat(json!({"message": "?", "requestedSchema": schema}).as_object().unwrap())
    }

    fn check(schema: &Value, part: Option<&str>) {
        let got = asked(schema);
        match part {
            None => assert_eq!(got, Ok(()), "{schema}"),
            Some(part) => {
                assert!(got.clone().is_err_and(|why| why.contains(part)), "{schema} {got:?}");
            }
        }
    }

    /// CO-172, A10: nested forms and fields for secrets are not passed on.
    #[test]
    fn a_form_is_flat_and_asks_for_no_secret() {
        let check = |fields: Value, part: Option<&str>| {
            check(&json!({"type": "object", "properties": fields}), part);
        };
        check(json!({"city": {"type": "string"}, "n": {"type": "integer"}}), None);
        check(json!({"ok": {"type": "boolean"}, "c": {"type": "string", "enum": ["a"]}}), None);
        check(json!({"many": {"type": "array", "items": {"type": "string", "enum": ["a"]}}}), None);
        check(json!({"one": {"oneOf": [{"const": "a", "title": "A"}]}}), None);
        check(json!({"one": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]}}), None);
        check(json!({"some": {"type": "array", "items": {"anyOf": [{"const": "a"}]}}}), None);
        let named = json!({"type": "string", "enum": ["a"], "enumNames": ["A"], "default": "a"});
        check(json!({"old": named}), None);
        let maybe = json!({"anyOf": [{"type": "string", "maxLength": 9}, {"type": "null"}]});
        check(json!({"maybe": maybe}), None);
        check(json!({"shipping": {"type": "string"}}), None);
        let nested = json!({"type": "object", "properties": {"password": {"type": "string"}}});
        for field in [
            json!({"type": "object", "properties": {}}),
            json!({"type": "array", "items": {"type": "object"}}),
            json!({"type": "array", "items": [{"type": "string"}]}),
            json!({"type": "array", "items": {"anyOf": [nested]}}),
            json!({"type": "array", "items": {"$ref": "#/x"}}),
            json!({"type": ["string", "object"]}),
            json!({"type": "string", "allOf": [nested]}),
            json!({"oneOf": [nested]}),
            json!({"anyOf": [{"const": "a"}, nested]}),
            json!({"anyOf": [{"oneOf": [nested]}]}),
            json!({"anyOf": [{"const": {"deep": 1}}]}),
            json!({"enum": [{"deep": 1}]}),
            json!({"$ref": "#/properties/a"}),
            json!({"enum": ["a"], "$ref": "#/x"}),
            json!({}),
        ] {
            check(json!({"a": field}), Some("not flat"));
        }
        for name in ["password", "API_KEY", "api-key", "accessToken", "card number", "PIN", "ssn"] {
            check(json!({name: {"type": "string"}}), Some("secret"));
        }
        check(json!({"x": {"type": "string", "title": "Your password"}}), Some("secret"));
        check(json!({"x": {"type": "string", "format": "password"}}), Some("secret"));
    }

    /// A10: what says more than its fields is not passed on, for its fields may not be all.
    #[test]
    fn a_form_has_no_fields_beside_its_fields() {
        let secret = || json!({"properties": {"password": {"type": "string"}}});
        check(&json!({"type": "object"}), None);
        check(&json!({"$schema": "s", "title": "T", "required": [], "x-hint": 1}), None);
        check(&json!({"type": "object", "additionalProperties": false}), None);
        check(&json!({"type": "object", "additionalProperties": {"type": "object"}}), Some("flat"));
        check(&json!({"type": "array", "items": secret()}), Some("flat"));
        check(&json!({"type": ["object"]}), Some("flat"));
        for key in ["allOf", "anyOf", "oneOf"] {
            check(&json!({"type": "object", key: [secret()]}), Some("flat"));
        }
        for key in ["$ref", "$defs", "patternProperties", "if", "then", "dependentSchemas"] {
            check(&json!({"type": "object", key: secret()}), Some("flat"));
        }
        check(&json!("form"), Some("no object"));
    }

    /// A10: a name can be harmless and its description not; speaking of secrets is not asking for one.
    #[test]
    fn a_description_asks_for_no_secret_either() {
        let check = |description: &str, kind: &str, part: Option<&str>| {
            let field = json!({"type": kind, "description": description});
            check(&json!({"type": "object", "properties": {"value": field}}), part);
        };
        for asks in [
            "Enter your GitHub password",
            "API-key of the account",
            "Paste the access_token here.",
            "Your credit card",
            "one-time code from the app",
        ] {
            check(asks, "string", Some("secret"));
        }
        check("CVV", "integer", Some("secret"));
        for harmless in [
            "User's email address",
            "At most so many tokens",
            "Name for secret santa",
            "Not your password: a name for this device",
            "A label; never enter a password here",
            "",
        ] {
            check(harmless, "string", None);
        }
        check("Reset the password?", "boolean", None);
    }
}
