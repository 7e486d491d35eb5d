//! Where a web page comes from, as a browser says it with a request.

use serde::{Deserialize, Serialize};

/// The value of `Origin`: scheme, host and port of a page. Case means nothing in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct Origin(Box<str>);

impl Origin {
    pub fn read(text: &str) -> Self {
        Self(text.to_ascii_lowercase().into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Origin {
    fn from(text: String) -> Self {
        Self::read(&text)
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
