//! What is redacted, what is left, and that a second pass finds nothing.

use super::*;
use proptest::prelude::*;

fn check(text: &str, expected: &str) {
    assert_eq!(Redactor::default().redact(text), expected, "{text}");
}

/// E7
#[test]
fn tokens_are_known_by_their_shape() {
    let random = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    check(&format!("use ghp_{random} now"), "use [redacted] now");
    check(&format!("sk-proj-{random}{random}"), "[redacted]");
    check("id AKIAIOSFODNN7EXAMPLE.", "id [redacted].");
    check("xoxb-123456789012-123456789012-abcDEF", "[redacted]");
    check(
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0",
        "[redacted]",
    );
    let pem =
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabc\n-----END RSA PRIVATE KEY-----";
    check(&format!("a\n{pem}\nb"), "a\n[redacted]\nb");
    check("-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKC", "[redacted]");
}

/// E7: what a name or a place gives away.
#[test]
fn values_are_known_by_what_they_are_assigned_to() {
    check("password=hunter2x", "password=[redacted]");
    check(r#"{"api_key": "9f8a7b6c5d4e3f2a1b0c"}"#, r#"{"api_key": "[redacted]"}"#);
    check("Authorization: Bearer abc123def456", "Authorization: Bearer [redacted]");
    check("postgres://app:s3cr3t@db/x", "postgres://app:[redacted]@db/x");
    check("curl -u bob:hunter2 https://x", "curl -u bob:[redacted] https://x");
    check("DATADOG_API: 9f8a7b6c5d4e3f2a1b0c9f8a7b6c5d4e3f2a1b0c", "DATADOG_API: [redacted]");
}

#[test]
fn fields_of_objects_are_known_by_their_key() {
    let check = |key: &str, value: &str, secret: bool| {
        assert_eq!(Redactor::default().is_assigned(key, value), secret, "{key}: {value}");
    };
    check("dbPassword", "hunter22", true);
    check("client_secret", "9f8a7b6c5d4e3f2a", true);
    check("nextPageToken", "9f8a7b6c5d4e3f2a", false);
    check("secret_id", "9f8a7b6c5d4e3f2a", false);
    check("password", "the password of the user 1", false);
    check("token", "string", false);
}

#[test]
fn what_is_no_secret_stays() {
    for text in [
        "the token of the user, 2026-11-16T01:27:16Z",
        "password: string (min 8)",
        "sk-learn is a library; task-1234567890-abcdefghijklmnopqrstuvwxyz",
        "commit 9f8a7b6c5d4e3f2a1b0c9f8a7b6c5d4e3f2a1b0c",
        "Bearer token authentication, basic knowledge",
        "https://example.com:8080/a@b",
        "-----BEGIN CERTIFICATE-----\nMIIEpAIB\n-----END CERTIFICATE-----",
        "page_token=9f8a7b6c5d4e3f2a",
        "user://name:$PASSWORD@host",
    ] {
        check(text, text);
    }
}

/// E7: exactly, in base64 at any offset, percent-encoded, and as JSON text.
#[test]
fn a_known_secret_is_found_in_every_form() {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    let secret = "correct horse/battery+staple?";
    let redactor = Redactor::knowing([&Secret::new(secret), &Secret::new("ab")]);
    let gone = |text: String| {
        let clean = redactor.redact(&text).into_owned();
        assert!(clean.contains(REDACTED), "{text}");
        assert!(!clean.contains(&text), "{text}");
    };
    gone(secret.to_owned());
    gone(format!("x{secret}y"));
    gone("correct%20horse%2Fbattery%2Bstaple%3F".to_owned());
    for user in ["", "a", "ab", "bob:"] {
        gone(STANDARD.encode(format!("{user}{secret}")));
        gone(URL_SAFE_NO_PAD.encode(format!("{user}{secret}and more")));
    }
    assert_eq!(redactor.redact("ab is too short"), "ab is too short");
    assert_eq!(format!("{redactor:?}"), "Redactor { knows_some: true, .. }");
}

#[test]
fn many_beginnings_take_no_quadratic_time() {
    for part in ["sk-", "-----BEGIN PRIVATE ", "password", ".ey", "curl -", "a://", "token=", "s."]
    {
        let text = part.repeat(40_000 / part.len());
        drop(Redactor::default().redact(&text));
    }
}

proptest! {
    #[test]
    fn redacting_twice_is_redacting_once(
        text in "(ghp_|sk-|password|token|=|: |\"|[a-z0-9]{8,40}|Bearer |://|:|@|-----BEGIN PRIVATE KEY-----|\n|eyJ|\\.|é){0,12}"
    ) {
        let redactor = Redactor::knowing([&Secret::new("hunter2")]);
        let once = redactor.redact(&text).into_owned();
        prop_assert_eq!(redactor.redact(&once), once.as_str());
    }
}
