//! What an upstream is shown: headers an operator configured, and nothing a caller sent.

use model::Secret;

/// Headers that the transport owns and no configuration may set.
const RESERVED: &[&str] = &[
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Credentials of one upstream. Values print stars.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    headers: Vec<(String, Secret)>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    #[error("`{0}` is not a header name")]
    Name(String),
    #[error("header `{0}` is set by the gate itself")]
    Reserved(String),
    #[error("the value of header `{0}` has characters a header cannot carry")]
    Value(String),
}

impl Credentials {
    pub fn from_headers(
        headers: impl IntoIterator<Item = (String, Secret)>,
    ) -> Result<Self, CredentialsError> {
        let headers: Vec<_> = headers.into_iter().collect();
        for (name, value) in &headers {
            check(name, value)?;
        }
        Ok(Self { headers })
    }

    /// Name and value of each header. Warning: the values are in the clear.
    pub fn reveal(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.reveal()))
    }
}

fn check(name: &str, value: &Secret) -> Result<(), CredentialsError> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(token) {
        return Err(CredentialsError::Name(name.to_owned()));
    }
    if RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
        return Err(CredentialsError::Reserved(name.to_owned()));
    }
    if !value.reveal().chars().all(|c| c == '\t' || (' '..='~').contains(&c)) {
        return Err(CredentialsError::Value(name.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_headers_an_operator_may_set_are_taken() {
        let check = |name: &str, value: &str, wanted: Option<CredentialsError>| {
            let headers = [(name.to_owned(), Secret::new(value))];
            assert_eq!(Credentials::from_headers(headers).err(), wanted, "{name}");
        };
        check("Authorization", "Bearer x", None);
        check("X-Api-Key", "k", None);
        check("", "x", Some(CredentialsError::Name(String::new())));
        check("a b", "x", Some(CredentialsError::Name("a b".to_owned())));
        check("Host", "x", Some(CredentialsError::Reserved("Host".to_owned())));
        check("X-A", "a\r\nX-B: c", Some(CredentialsError::Value("X-A".to_owned())));
    }
}
