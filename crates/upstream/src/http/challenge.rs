//! A server that wants more than the token it was shown grants says so in a header.

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, StatusCode};
use model::{Code, Fault};

/// Scopes named in one challenge; more are not worth asking for.
const SCOPES_MAX: usize = 32;

/// The need for further scopes, if that is why the request was refused (RFC 6750, `insufficient_scope`).
pub(super) fn step_up(status: StatusCode, headers: &HeaderMap) -> Option<Fault> {
    if !matches!(status.as_u16(), 401 | 403) {
        return None;
    }
    let challenges =
        headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let mut bearer = challenges.filter(|challenge| is_bearer(challenge));
    let challenge = bearer.find(|text| parameter(text, "error") == Some("insufficient_scope"))?;
    let wanted = parameter(challenge, "scope").unwrap_or_default();
    let scopes: Vec<String> = wanted
        .split_ascii_whitespace()
        .take(SCOPES_MAX)
        .map(|scope| model::fault::one_line(scope, 100))
        .collect();
    let named =
        if scopes.is_empty() { "which it does not name".to_owned() } else { scopes.join(", ") };
    let fault =
        Fault::new(Code::StepUpRequired, format!("the upstream wants a further scope: {named}"))
            .with("status", status.as_u16())
            .with("scope_requested", scopes);
    Some(match parameter(challenge, "resource_metadata") {
        Some(url) => fault.with("resource_metadata", model::fault::one_line(url, 400)),
        None => fault,
    })
}

fn is_bearer(challenge: &str) -> bool {
    challenge.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer "))
}

/// The value of one parameter, quoted or not. A value that is not closed is none.
fn parameter<'a>(challenge: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = challenge.get(7..)?;
    loop {
        let (key, after) = rest.trim_start_matches([' ', ',', '\t']).split_once('=')?;
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(',').unwrap_or((after, "")),
        };
        if key.trim().eq_ignore_ascii_case(name) {
            return Some(value.trim());
        }
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn asked(status: u16, challenge: &str) -> Option<Fault> {
        let mut headers = HeaderMap::new();
        headers.insert(WWW_AUTHENTICATE, challenge.parse().unwrap());
        step_up(StatusCode::from_u16(status).unwrap(), &headers)
    }

    #[test]
    fn a_challenge_names_the_scopes_that_are_missing() {
        let check = |challenge: &str, scopes: &[&str]| {
            let fault = asked(403, challenge).unwrap();
            assert_eq!(fault.code, Code::StepUpRequired);
            assert_eq!(fault.details["scope_requested"], json!(scopes), "{challenge}");
        };
        check(r#"Bearer error="insufficient_scope", scope="a:read b""#, &["a:read", "b"]);
        check(r#"bearer realm="x, y", error=insufficient_scope, scope=a"#, &["a"]);
        check(r#"Bearer error="insufficient_scope""#, &[]);
        let fault = asked(
            403,
            r#"Bearer scope="s", error="insufficient_scope", resource_metadata="https://a/b""#,
        );
        assert_eq!(fault.unwrap().details["resource_metadata"], "https://a/b");
    }

    #[test]
    fn other_refusals_ask_for_nothing() {
        assert!(asked(403, r#"Bearer error="invalid_token", scope="a""#).is_none());
        assert!(asked(403, r#"Basic error="insufficient_scope", scope="a""#).is_none());
        assert!(asked(500, r#"Bearer error="insufficient_scope", scope="a""#).is_none());
        assert!(asked(403, r#"Bearer error="insufficient_scope"#).is_none(), "left open");
        assert!(step_up(StatusCode::FORBIDDEN, &HeaderMap::new()).is_none());
    }

    proptest! {
        #[test]
        fn whatever_a_server_writes_is_read_or_left(challenge in "[ -~]{0,80}") {
            drop(asked(403, &challenge));
            drop(asked(403, &format!("Bearer {challenge}")));
        }
    }
}
