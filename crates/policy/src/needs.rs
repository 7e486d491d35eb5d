//! What an allow still needs, by how grave the call counts.
//!
//! Where rules are held to it, nothing a policy permits goes without: a policy can lower the mode
//! with `@mode`, and with it what is needed.

use model::ApprovalMode;

use crate::facts::Facts;

/// The gate at which somebody is asked about what cannot be undone, where nobody named another.
pub const DESTRUCTIVE: &str = "DESTRUCTIVE";

/// Gate and obligations that come with a mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    pub(crate) gate: Option<&'static str>,
    pub(crate) obligations: &'static [&'static str],
}

impl Needs {
    /// Egress and rates, which `network` needs, bind every call; looking needs nothing.
    pub(crate) fn of(facts: &Facts<'_>, mode: ApprovalMode) -> Self {
        if !facts.method.is_tool_call() {
            return Self::default();
        }
        match mode {
            ApprovalMode::ReadOnly | ApprovalMode::Network => Self::default(),
            ApprovalMode::LocalWrite => Self { gate: None, obligations: &["idempotency_key"] },
            ApprovalMode::Delegated => {
                Self { gate: None, obligations: &["delegation", "evidence"] }
            }
            ApprovalMode::Destructive => Self { gate: Some(DESTRUCTIVE), obligations: &[] },
        }
    }
}
