//! The five dimensions of risk a manifest may state beside the approval mode (C46).
//! Only the words; when both are present, `policy` asks that both allow.

use model::Class;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionRisk {
    pub effect: Reach,
    pub authority: Authority,
    pub reversibility: Reversibility,
    pub interaction: Interaction,
    pub data_scope: Class,
}

/// How far the consequence goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    None,
    LocalState,
    ExternalState,
    PhysicalWorld,
}

/// In whose name it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Authority {
    Agent,
    Service,
    UserDelegated,
    HumanApproved,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reversibility {
    ReadOnly,
    Reversible,
    Compensatable,
    Irreversible,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interaction {
    Api,
    Browser,
    Computer,
    AgentToAgent,
    HumanHandoff,
}
