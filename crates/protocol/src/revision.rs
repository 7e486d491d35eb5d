//! The published MCP revisions and what a gate must know about their differences.

use std::fmt;
use std::str::FromStr;

/// A published revision, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl Revision {
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];
    /// The newest revision that begins with `initialize`.
    pub const NEWEST_LEGACY: Self = Self::V2025_11_25;
    /// What an HTTP client speaks that names no revision.
    pub const UNNAMED_HTTP: Self = Self::V2025_03_26;

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Stateless: each request carries its own revision and capabilities, and nothing is remembered.
    pub const fn is_modern(self) -> bool {
        matches!(self, Self::V2026_07_28)
    }

    /// Only this revision lets a client send several messages in one array.
    pub const fn has_batches(self) -> bool {
        matches!(self, Self::V2025_03_26)
    }

    /// The revision an `initialize` ends up with: what was asked for, or the newest we have.
    pub fn negotiate(asked: &str) -> Self {
        match asked.parse() {
            Ok(revision) if !Self::is_modern(revision) => revision,
            _ => Self::NEWEST_LEGACY,
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text names no revision we know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown MCP revision `{0}`")]
pub struct UnknownRevision(String);

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|revision| revision.as_str() == text);
        found.ok_or_else(|| UnknownRevision(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CO-200: version negotiation.
    #[test]
    fn initialize_gets_what_it_asks_for_or_the_newest_that_has_it() {
        let check = |asked: &str, got: &str| assert_eq!(Revision::negotiate(asked).as_str(), got);
        check("2024-11-05", "2024-11-05");
        check("2025-03-26", "2025-03-26");
        check("2025-06-18", "2025-06-18");
        check("2025-11-25", "2025-11-25");
        check("2026-07-28", "2025-11-25");
        check("1999-01-01", "2025-11-25");
        check("", "2025-11-25");
    }
}
