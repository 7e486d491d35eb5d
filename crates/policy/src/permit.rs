//! The first of the two doors: no permit, no upstream.

use model::{ApprovalId, CallId, CapabilityId, Effect, ItemKey, Method, UpstreamName, canonical};
use serde_json::{Map, Value};

use crate::facts::Facts;

/// Leave to do exactly one thing: this method on this item, with these arguments.
///
/// A permit carries what was judged, and upstreams send what the permit carries; so what is sent is
/// what was judged. Only this crate can make one:
///
/// ```compile_fail,E0451
/// use toolgate_policy::Permit;
/// fn forge(honest: Permit, args: serde_json::Value) -> Permit {
///     Permit { args, ..honest }
/// }
/// ```
///
/// The way that does compile goes through [`crate::decide()`]:
///
/// ```
/// use toolgate_policy::{Facts, Permit, Rules, Way, decide};
/// fn earn(rules: &Rules, facts: &Facts<'_>) -> Option<Permit> {
///     match decide(rules, facts).way {
///         Way::Go(permit) => Some(permit),
///         Way::Ask(_) | Way::No(_) => None,
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Permit {
    call_id: CallId,
    method: Method,
    key: ItemKey,
    capability_id: Option<CapabilityId>,
    args: Value,
    written: Option<String>,
    params: Map<String, Value>,
    effect: Effect,
    approval_id: Option<ApprovalId>,
}

impl Permit {
    pub(crate) fn make(facts: &Facts<'_>) -> Self {
        Self {
            call_id: facts.call_id.clone(),
            method: facts.method.clone(),
            key: facts.item.key.clone(),
            capability_id: facts.capability.map(|capability| capability.capability_id.clone()),
            args: facts.args.clone(),
            written: facts.written.map(str::to_owned),
            params: facts.params.clone(),
            effect: facts.effect(),
            approval_id: None,
        }
    }

    pub(crate) fn approved_by(mut self, approval_id: ApprovalId) -> Self {
        self.approval_id = Some(approval_id);
        self
    }

    pub fn call_id(&self) -> &CallId {
        &self.call_id
    }

    pub fn method(&self) -> &Method {
        &self.method
    }

    /// What else the request carries, beside name and arguments.
    pub fn params(&self) -> &Map<String, Value> {
        &self.params
    }

    pub fn upstream(&self) -> &UpstreamName {
        &self.key.upstream
    }

    /// The item's name as its upstream spells it: a tool's or prompt's name, a resource's URI.
    pub fn tool(&self) -> &str {
        &self.key.name
    }

    pub fn key(&self) -> &ItemKey {
        &self.key
    }

    pub fn capability_id(&self) -> Option<&CapabilityId> {
        self.capability_id.as_ref()
    }

    pub fn arguments(&self) -> &Value {
        &self.args
    }

    /// The arguments letter by letter, where [`Permit::arguments`] does not keep how numbers are
    /// spelled. Read from the same bytes, so that what is sent is still what was judged.
    pub fn written(&self) -> Option<&str> {
        self.written.as_deref()
    }

    pub fn args_hash(&self) -> String {
        canonical::hash(&self.args)
    }

    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// The human answer that released this call, if one was needed. It must be redeemed once.
    pub fn approval_id(&self) -> Option<&ApprovalId> {
        self.approval_id.as_ref()
    }
}
