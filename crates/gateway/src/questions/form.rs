//! Forms and addresses that a person is asked to fill in or to open.

use context::Redactor;
use manifest::Elicitation;
use serde_json::{Map, Value, json};

use super::flat::{flat, is_secret};

/// Whether a person may be asked this.
pub(super) fn check(
    params: &Map<String, Value>,
    rule: Option<&Elicitation>,
    open: bool,
    redactor: &Redactor,
) -> Result<(), String> {
    if super::is_visit(params) {
        if !rule.map_or(open, |rule| rule.url) {
            return Err("no manifest declares that it sends people to addresses".to_owned());
        }
        let url = params.get("url").and_then(Value::as_str).unwrap_or_default();
        let hosts = rule.map(|rule| rule.url_hosts.as_slice()).unwrap_or_default();
        return address(url, hosts, redactor);
    }
    if !rule.map_or(open, |rule| rule.form) {
        return Err("no manifest declares that it asks people".to_owned());
    }
    flat(params)
}

/// An address that can be shown in full and read by a person, and that carries no secret.
fn address(url: &str, hosts: &[String], redactor: &Redactor) -> Result<(), String> {
    if !url.is_ascii()
        || url.bytes().any(|byte| matches!(byte, b' ' | b'\\') || byte.is_ascii_control())
    {
        return Err("its address has characters that can mislead".to_owned());
    }
    let Some(rest) = url.strip_prefix("https://") else {
        return Err("its address does not begin with `https://`".to_owned());
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    if authority.is_empty() || authority.contains('@') {
        return Err("its address carries a name or a password".to_owned());
    }
    let host = authority.split(':').next().unwrap_or_default();
    let known = |pattern: &String| crate::call::host_matches(pattern, host);
    if !hosts.is_empty() && !hosts.iter().any(known) {
        return Err(format!("its address leads to `{host}`, which the manifest does not name"));
    }
    let pairs = path.split(['?', '&', '#', ';']).filter_map(|pair| pair.split_once('='));
    let mut keys = pairs.map(|(key, _)| key);
    if keys.any(is_secret) || redactor.redact(url) != url {
        return Err("its address carries a secret".to_owned());
    }
    Ok(())
}

/// What a person filled in must fit the form; what they did not fill in does not go back.
pub(super) fn answered(params: &Map<String, Value>, said: Value) -> Result<Value, String> {
    let Some(action @ ("accept" | "decline" | "cancel")) =
        said.get("action").and_then(Value::as_str)
    else {
        return Err("its `action` is none of `accept`, `decline` and `cancel`".to_owned());
    };
    if action != "accept" || super::is_visit(params) {
        return Ok(json!({"action": action}));
    }
    let Some(schema) = params.get("requestedSchema") else { return Ok(said) };
    let schema = catalog::schema::Schema::compile(schema).map_err(|error| error.to_string())?;
    let content = said.get("content").cloned().unwrap_or_else(|| Value::Object(Map::new()));
    match schema.check(&content).first() {
        None => Ok(said),
        Some(broken) => Err(format!("the answer does not fit the form: {}", broken.message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(params: &Value, rule: Option<&Elicitation>, open: bool) -> Result<(), String> {
        check(params.as_object().unwrap(), rule, open, &Redactor::default())
    }

    fn form(fields: &Value) -> Value {
        json!({"message": "?", "requestedSchema": {"type": "object", "properties": fields}})
    }

    #[test]
    fn an_answer_says_yes_no_or_never_mind() {
        let plain = form(&json!({"name": {"type": "string"}}));
        let check = |said: Value, expected: Option<Value>| {
            assert_eq!(answered(plain.as_object().unwrap(), said).ok(), expected);
        };
        let yes = || json!({"action": "accept", "content": {"name": "Ann"}});
        check(yes(), Some(yes()));
        check(
            json!({"action": "decline", "content": {"name": "Ann"}}),
            Some(json!({"action": "decline"})),
        );
        check(json!({"action": "cancel"}), Some(json!({"action": "cancel"})));
        check(json!({"action": "accept", "content": {"name": 7}}), None);
        check(json!({"action": "perhaps"}), None);
        check(json!({}), None);
        check(json!(12345), None);
        check(Value::Null, None);
    }

    /// CO-29: off unless declared.
    #[test]
    fn people_are_asked_only_where_that_is_declared() {
        let plain = || form(&json!({"name": {"type": "string"}}));
        let link = || json!({"mode": "url", "url": "https://id.example/start", "message": "?"});
        let check = |form: bool, url: bool, asks: bool, sends: bool| {
            let rule = Elicitation { form, url, ..Elicitation::default() };
            assert_eq!(asked(&plain(), Some(&rule), true).is_ok(), asks);
            assert_eq!(asked(&link(), Some(&rule), true).is_ok(), sends);
        };
        check(true, false, true, false);
        check(false, true, false, true);
        check(false, false, false, false);
        assert!(asked(&plain(), None, true).is_ok() && asked(&link(), None, true).is_ok());
        assert!(asked(&plain(), None, false).is_err() && asked(&link(), None, false).is_err());
    }

    /// CO-173, A10: an address is shown in full, so it must be one that can be.
    #[test]
    fn an_address_can_be_read_and_carries_nothing() {
        let check = |url: &str, hosts: &[&str], passes: bool| {
            let url_hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
            let rule = Elicitation { url: true, url_hosts, ..Elicitation::default() };
            let got = asked(&json!({"mode": "url", "url": url}), Some(&rule), false);
            assert_eq!(got.is_ok(), passes, "{url}: {got:?}");
        };
        check("https://id.example/start?flow=login", &[], true);
        check("https://id.example", &["id.example"], true);
        check("https://a.id.example/x", &["*.id.example"], true);
        check("https://evil.example/id.example", &["id.example"], false);
        check("http://id.example/start", &[], false);
        check("javascript:alert(1)", &[], false);
        check("https://user:pass@id.example/", &[], false);
        check("https://id.example@evil.example/", &[], false);
        // To a browser it is a slash, to others part of a name.
        check("https://id.example\\@evil.example/", &["id.example"], false);
        check("https://id.example\\@evil.example/", &[], false);
        check("https://\u{456}d.example/", &[], false);
        check("https://id.example/ x", &[], false);
        check("https://id.example/?access_token=abc", &[], false);
        check("https://id.example/#token=abc", &[], false);
        check("", &[], false);
    }

    /// CO-208: what does not fit the form does not go back, nor what was not agreed to.
    #[test]
    fn only_what_fits_the_form_goes_back() {
        let params = form(&json!({"n": {"type": "integer"}}));
        let check = |said: Value, wanted: Option<Value>| {
            assert_eq!(answered(params.as_object().unwrap(), said).ok(), wanted);
        };
        let fits = json!({"action": "accept", "content": {"n": 1}});
        check(fits.clone(), Some(fits));
        check(json!({"action": "accept", "content": {"n": "one"}}), None);
        let declined = json!({"action": "decline", "content": {"n": 1}});
        check(declined, Some(json!({"action": "decline"})));
        check(json!({"action": "cancel"}), Some(json!({"action": "cancel"})));
        let visit = json!({"mode": "url", "url": "https://id.example/"});
        let said =
            json!({"action": "accept", "content": {"n": 1}, "token": "t", "_meta": {"code": 1}});
        let given = answered(visit.as_object().unwrap(), said);
        assert_eq!(given, Ok(json!({"action": "accept"})));
    }
}
