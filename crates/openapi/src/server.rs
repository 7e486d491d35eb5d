//! The base address of a service: from the document or from configuration, http or https only.

use serde_json::Value;

use crate::error::OpenApiError;

/// `servers[0].url` with its variables at their defaults.
pub(crate) fn first(root: &Value) -> Option<String> {
    let server = root.pointer("/servers/0")?;
    let mut url = server.get("url")?.as_str()?.to_owned();
    let variables = server.get("variables").and_then(Value::as_object);
    for (name, variable) in variables.into_iter().flatten() {
        if let Some(default) = variable.get("default").and_then(Value::as_str) {
            url = url.replace(&format!("{{{name}}}"), default);
        }
    }
    Some(url)
}

/// The address without a closing slash, if a path can be put behind it and stay behind it.
pub(crate) fn check(base: &str) -> Result<&str, OpenApiError> {
    match reason(base) {
        Some(reason) => Err(OpenApiError::Base { base: base.to_owned(), reason }),
        None => Ok(base.trim_end_matches('/')),
    }
}

fn reason(base: &str) -> Option<&'static str> {
    let Some((scheme, rest)) = base.split_once("://") else {
        return Some("it must start with `http://` or `https://`");
    };
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Some("only http and https are spoken");
    }
    if rest.contains(|c: char| !c.is_ascii_graphic() || "?#\\{}<>\"^`|".contains(c)) {
        return Some("it may not have a query, a fragment, variables or unescaped characters");
    }
    let authority = rest.split('/').next().unwrap_or_default();
    if authority.contains('@') {
        return Some("it may not carry credentials");
    }
    let host = authority.split(':').next().unwrap_or_default();
    host.is_empty().then_some("it has no host")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_base_is_an_http_address_and_nothing_more() {
        let row = |base: &str, expected: Option<&str>| {
            assert_eq!(check(base).ok(), expected, "{base}");
        };
        row("https://api.example.com/v1/", Some("https://api.example.com/v1"));
        row("http://127.0.0.1:8080", Some("http://127.0.0.1:8080"));
        row("HTTPS://api.example.com", Some("HTTPS://api.example.com"));
        row("http://[::1]:80/x", Some("http://[::1]:80/x"));
        row("/v1", None);
        row("api.example.com", None);
        row("ftp://example.com", None);
        row("file:///etc", None);
        row("https://", None);
        row("https:///x", None);
        row("https://:80", None);
        row("https://user:pw@example.com", None);
        row("https://example.com?x=1", None);
        row("https://example.com/#", None);
        row("https://{region}.example.com", None);
        row("https://exa mple.com", None);
        row("https://example.com\\@evil.test", None);
        row("https://example.com\r\nx", None);
    }

    #[test]
    fn variables_take_their_defaults() {
        let root = json!({"servers": [{
            "url": "https://{region}.example.com/{version}",
            "variables": {"region": {"default": "eu"}, "version": {"default": "v2"}},
        }]});
        assert_eq!(first(&root).as_deref(), Some("https://eu.example.com/v2"));
        assert_eq!(first(&json!({"servers": []})), None);
    }
}
