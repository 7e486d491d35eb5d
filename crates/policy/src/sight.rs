//! What one caller may know of among many things. Rules that tell two tools apart by nothing but
//! what they have in common give one answer for both, and are asked once.

use std::collections::HashMap;

use cedar_policy::Policy;
use model::{ApprovalMode, CapClass, Effect, ItemKind, UpstreamName};
use serde_json::Value;

use crate::decide::may_list;
use crate::facts::Facts;
use crate::rules::Rules;

/// What of a request to list the policies may look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks {
    /// The time; an answer then holds only for the moment.
    pub at_clock: bool,
    /// The very thing, and not only its upstream, namespace, capability and grades.
    pub at_each: bool,
}

impl Looks {
    pub(crate) fn of<'a>(policies: impl Iterator<Item = &'a Policy>) -> Self {
        let mut looks = Self { at_clock: false, at_each: false };
        for policy in policies {
            // A policy that cannot be read may look at anything.
            let text = policy.to_json().ok();
            let any = |wanted: &dyn Fn(&str, Option<&str>) -> bool| {
                text.as_ref().is_none_or(|text| mentions(text, wanted))
            };
            looks.at_clock |= any(&|word, _| word == "now_ms");
            looks.at_each |=
                any(&|word, key| word == "name" || (key == Some("type") && THINGS.contains(&word)));
        }
        looks
    }
}

/// Kinds of which a policy can name one by its id.
const THINGS: [&str; 3] = ["Tool", "Resource", "Prompt"];

/// Whether any key or text of a policy is wanted; a text is given with the key it stands under.
fn mentions(value: &Value, wanted: &dyn Fn(&str, Option<&str>) -> bool) -> bool {
    match value {
        Value::String(text) => wanted(text, None),
        Value::Array(items) => items.iter().any(|item| mentions(item, wanted)),
        Value::Object(fields) => fields.iter().any(|(key, field)| {
            let under = field.as_str().is_some_and(|text| wanted(text, Some(key)));
            under || wanted(key, None) || mentions(field, wanted)
        }),
        _ => false,
    }
}

/// One caller's view by one set of rules at one moment.
#[derive(Debug)]
pub struct Sight<'r> {
    rules: &'r Rules,
    known: HashMap<Kindred, bool>,
}

/// What things have in common that such rules cannot tell apart.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Kindred {
    kind: ItemKind,
    upstream: UpstreamName,
    namespace: String,
    capability: Option<String>,
    declared: bool,
    grades: (CapClass, ApprovalMode, Effect),
}

impl<'r> Sight<'r> {
    pub fn new(rules: &'r Rules) -> Self {
        Self { rules, known: HashMap::new() }
    }

    /// Whether the caller may know of a thing.
    ///
    /// INVARIANT: all that is asked of one sight is of one caller, without arguments or intent, at
    /// one time.
    pub fn sees(&mut self, facts: &Facts<'_>) -> bool {
        if self.rules.is_indifferent() || self.rules.looks().at_each {
            return may_list(self.rules, facts);
        }
        let kindred = Kindred {
            kind: facts.item.kind,
            upstream: facts.item.key.upstream.clone(),
            namespace: facts.item.namespace.clone(),
            capability: facts.capability.map(|capability| capability.capability_id.to_string()),
            declared: facts.is_declared(),
            grades: (facts.class(), facts.mode(), facts.effect()),
        };
        let rules = self.rules;
        *self.known.entry(kindred).or_insert_with(|| may_list(rules, facts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_policies_look_at_is_read_from_them() {
        let check = |text: &str, at_clock: bool, at_each: bool| {
            let rules = Rules::parse("test", text).unwrap();
            assert_eq!(rules.looks(), Looks { at_clock, at_each }, "{text}");
        };
        check("permit(principal, action, resource);", false, false);
        check(
            "permit(principal in Role::\"a\", action, resource in Upstream::\"b\");",
            false,
            false,
        );
        check(
            "permit(principal, action, resource) when { resource.namespace == \"x\" };",
            false,
            false,
        );
        check("permit(principal, action, resource) when { resource is Tool };", false, false);
        check(
            "permit(principal, action, resource) when { resource.name like \"x*\" };",
            false,
            true,
        );
        check("permit(principal, action, resource) when { resource has name };", false, true);
        check("permit(principal, action, resource == Tool::\"a/b\");", false, true);
        check(
            "permit(principal, action, resource) when { [resource].contains(Prompt::\"a/b\") };",
            false,
            true,
        );
        check("permit(principal, action, resource) when { context.now_ms > 5 };", true, false);
        check(
            "permit(principal, action, resource) when { context[\"now\\u{5f}ms\"] > 5 };",
            true,
            false,
        );
        check(
            "permit(principal, action, resource) unless { context == {\"now_ms\": 5} };",
            true,
            false,
        );
    }
}
