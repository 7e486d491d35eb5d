//! Who acts, and for whom.

use serde::{Deserialize, Serialize};

use crate::canonical::{self, Field};
use crate::grade::ApprovalMode;
use crate::ids::SessionId;
use crate::origin::Origin;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrincipalKind {
    User,
    Service,
    Agent,
    Automation,
}

impl PrincipalKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Service => "service",
            Self::Agent => "agent",
            Self::Automation => "automation",
        }
    }
}

/// Somebody or something that can be held to account.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Principal {
    pub kind: PrincipalKind,
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
}

impl Principal {
    pub fn user(id: impl Into<String>) -> Self {
        Self { kind: PrincipalKind::User, id: id.into(), tenant_id: None }
    }

    pub fn agent(id: impl Into<String>) -> Self {
        Self { kind: PrincipalKind::Agent, id: id.into(), tenant_id: None }
    }

    /// By what the things of this principal are told from everybody else's, other tenants' included.
    pub fn account(&self) -> String {
        match &self.tenant_id {
            // Quoted, so that no name within one tenant reads like a name within another.
            Some(tenant) => format!("{tenant:?}/{self}"),
            None => [self.kind.as_str(), ":", &self.id].concat(),
        }
    }
}

impl std::fmt::Display for Principal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.kind.as_str(), self.id)
    }
}

/// A named permission somebody holds, optionally only within a scope such as `/workspace/*`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Grant {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

impl Grant {
    /// Reads `name` or `name:scope`; an empty scope is no scope.
    pub fn read(text: &str) -> Self {
        let (name, scope) = text.split_once(':').unwrap_or((text, ""));
        let scope = (!scope.is_empty()).then(|| scope.to_owned());
        Self { name: name.to_owned(), scope }
    }
}

impl std::fmt::Display for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.scope {
            None => f.write_str(&self.name),
            Some(scope) => write!(f, "{}:{scope}", self.name),
        }
    }
}

/// The other end of a request, after authentication.
///
/// Made by `auth` alone in the running product; everything behind it trusts the principal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    pub principal: Principal,
    /// Who has the principal act for them, where somebody has. Boxed: few do, and a caller travels with
    /// every call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acts_for: Option<Box<Principal>>,
    /// The hash of a session's id: what is kept of a call must not let its reader go on with the
    /// session.
    pub session: Option<SessionId>,
    /// What the client calls itself. A claim: shown and recorded, never decided on.
    pub client: Option<String>,
    /// What the principal may use at all. Nothing granted means nothing that asks for a grant.
    pub grants: Vec<Grant>,
    /// Grants without a scope count for nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scoped_only: bool,
    /// The groups the principal belongs to, for policies to speak of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// What is graver than this does not exist for the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<ApprovalMode>,
    /// The page the request came from, where a browser sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

impl Caller {
    pub fn new(principal: Principal) -> Self {
        Self {
            principal,
            acts_for: None,
            session: None,
            client: None,
            grants: Vec::new(),
            scoped_only: false,
            roles: Vec::new(),
            ceiling: None,
            origin: None,
        }
    }

    /// The canonical JSON of [`Caller::chain`], which is part of the hash of every decision.
    pub fn write_chain(&self, out: &mut Vec<u8>) {
        let agent = self.client.as_deref().map(|client| (PrincipalKind::Agent, client, None));
        let chain = self.acts_for.as_deref().into_iter().chain([&self.principal]);
        let chain = chain.map(|who| (who.kind, who.id.as_str(), who.tenant_id.as_deref()));
        out.push(b'[');
        for (index, (kind, id, tenant)) in chain.chain(agent).enumerate() {
            if index > 0 {
                out.push(b',');
            }
            let kind = ("kind", Field::Text(kind.as_str()));
            match tenant {
                None => canonical::write_fields(&[("id", Field::Text(id)), kind], out),
                Some(tenant) => canonical::write_fields(
                    &[("id", Field::Text(id)), kind, ("tenant_id", Field::Text(tenant))],
                    out,
                ),
            }
        }
        out.push(b']');
    }

    /// Who acts for whom, outermost first: whoever has it done, the principal, the agent software.
    pub fn chain(&self) -> Vec<Principal> {
        let agent = self.client.as_ref().map(Principal::agent);
        self.acts_for
            .as_deref()
            .into_iter()
            .chain([&self.principal])
            .cloned()
            .chain(agent)
            .collect()
    }

    /// Nothing graver than `mode` from now on; a ceiling can be lowered, never raised.
    pub fn lower_ceiling(&mut self, mode: ApprovalMode) {
        self.ceiling = Some(self.ceiling.map_or(mode, |held| held.min(mode)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_chain_is_written_as_the_value_it_makes() {
        let tenant = Principal { tenant_id: Some("t\"1".to_owned()), ..Principal::user("ann") };
        for principal in [Principal::user("é\n"), tenant] {
            for acts_for in [None, Some(Box::new(Principal::user("boss")))] {
                for client in [None, Some("agent 1".to_owned())] {
                    let acts_for = acts_for.clone();
                    let caller = Caller { acts_for, client, ..Caller::new(principal.clone()) };
                    let mut out = Vec::new();
                    caller.write_chain(&mut out);
                    assert_eq!(out, canonical::bytes(&json!(caller.chain())));
                }
            }
        }
    }
}
