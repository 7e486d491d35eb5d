//! How grave a thing is: five ordered or closed scales that policy, records and manifests share.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What kind of work a capability does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapClass {
    /// Reads live state of the target.
    Observe,
    /// Reads stored memory or knowledge.
    Recall,
    /// Checks a claim or an identity and changes nothing.
    Verify,
    /// Computes or transforms for reasoning.
    ThinkSupport,
    /// Changes external state.
    Act,
}

/// How much a call may touch. Ordered: a higher mode includes the risk of every lower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    ReadOnly,
    LocalWrite,
    Network,
    Delegated,
    Destructive,
}

/// What a call does to the world. Ordered by how far the effect reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    None,
    Read,
    Write,
    External,
}

/// What replay does where the record has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayRule {
    MustStub,
    FailLoud,
    RecordedResult,
}

/// How widely data may travel. Ordered; read without regard to case.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    #[serde(alias = "PUBLIC")]
    Public,
    #[default]
    #[serde(alias = "INTERNAL")]
    Internal,
    #[serde(alias = "CONFIDENTIAL")]
    Confidential,
    #[serde(alias = "RESTRICTED")]
    Restricted,
}

impl CapClass {
    /// The effect a capability of this class has when its manifest names none.
    pub const fn default_effect(self) -> Effect {
        match self {
            Self::Act => Effect::External,
            Self::Observe | Self::Recall | Self::Verify | Self::ThinkSupport => Effect::Read,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Recall => "recall",
            Self::Verify => "verify",
            Self::ThinkSupport => "think_support",
            Self::Act => "act",
        }
    }
}

impl ApprovalMode {
    pub const ALL: [Self; 5] =
        [Self::ReadOnly, Self::LocalWrite, Self::Network, Self::Delegated, Self::Destructive];

    pub fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::LocalWrite => "local_write",
            Self::Network => "network",
            Self::Delegated => "delegated",
            Self::Destructive => "destructive",
        }
    }
}

impl Effect {
    /// Whether the call changes anything: such a call is recorded before it is made.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::External)
    }

    pub const fn default_replay(self) -> ReplayRule {
        match self {
            Self::None | Self::Read => ReplayRule::RecordedResult,
            Self::Write | Self::External => ReplayRule::MustStub,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Write => "write",
            Self::External => "external",
        }
    }
}

impl fmt::Display for CapClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for ApprovalMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scales_are_ordered_as_written() {
        assert!(ApprovalMode::ReadOnly < ApprovalMode::LocalWrite);
        assert!(ApprovalMode::LocalWrite < ApprovalMode::Network);
        assert!(ApprovalMode::Network < ApprovalMode::Delegated);
        assert!(ApprovalMode::Delegated < ApprovalMode::Destructive);
        assert!(Effect::None < Effect::Read && Effect::Write < Effect::External);
        assert!(Class::Public < Class::Restricted);
    }

    #[test]
    fn only_acting_reaches_outside_by_default() {
        assert_eq!(CapClass::Act.default_effect(), Effect::External);
        assert_eq!(CapClass::Recall.default_effect(), Effect::Read);
        assert_eq!(Effect::External.default_replay(), ReplayRule::MustStub);
        assert_eq!(Effect::Read.default_replay(), ReplayRule::RecordedResult);
    }

    #[test]
    fn class_labels_are_read_in_either_case() {
        let read = |text: &str| serde_json::from_str::<Class>(text).unwrap();
        assert_eq!(read(r#""RESTRICTED""#), read(r#""restricted""#));
    }
}
