//! A set of Cedar policies, read whole or not at all.

use std::collections::{BTreeSet, HashMap};
use std::str::FromStr;

use cedar_policy::{
    ActionConstraint, Policy, PolicyId, PolicySet, PrincipalConstraint, ResourceConstraint,
};
use model::{ApprovalMode, canonical};

use crate::decide::Ruling;
use crate::needs::DESTRUCTIVE;
use crate::sight::Looks;

/// Everything an upstream offers may be called. The default of profile `dev`.
const PERMIT_ALL: &str = r#"@id("dev-permit-all")
@reason("the dev profile permits every call")
permit (principal, action, resource);"#;

/// Only what a manifest declares may be seen or called. The default of profile `production`.
const PERMIT_DECLARED: &str = r#"@id("production-permit-declared")
@reason("a reviewed manifest declares this capability")
permit (principal, action, resource) when { resource.declared };"#;

/// Stands in the text of rules that are held to what each mode needs, so that whoever reads the
/// text again reads the same rules.
const BY_MODE: &str = "// toolgate: an allow still needs what its mode needs";

/// Policies in force, with the hash of the text they were read from.
#[derive(Clone, Debug)]
pub struct Rules {
    policies: PolicySet,
    hash: String,
    text: String,
    /// What each policy says about itself. Cedar reads the name of an annotation with a parser each
    /// time it is asked for one.
    notes: HashMap<PolicyId, Notes>,
    /// The answer to every request, where no policy looks at who asks for what.
    for_all: Option<Ruling>,
    looks: Looks,
    /// Whether an allow still needs what the mode of the call needs.
    by_mode: bool,
}

/// What the annotations of a policy say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    pub(crate) reason: Option<String>,
    pub(crate) gate: Option<String>,
    /// The most the call may count as.
    pub(crate) mode: Option<ApprovalMode>,
    pub(crate) obligations: Vec<String>,
}

/// Policy text that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {message}")]
pub struct PolicyError {
    pub file: String,
    pub message: String,
}

impl Rules {
    pub fn permit_all() -> Self {
        Self::built_in(PERMIT_ALL)
    }

    pub fn permit_declared() -> Self {
        Self::built_in(PERMIT_DECLARED).by_mode()
    }

    /// The same rules, under which an allow still needs what the mode of the call needs. Profile
    /// `production` reads every policy so.
    #[must_use]
    pub fn by_mode(self) -> Self {
        if self.by_mode {
            return self;
        }
        let text = format!("{}\n{BY_MODE}\n", self.text);
        Self::of(self.policies, &text)
    }

    /// Reads policy text. A policy is known by its `@id`, else by its place in the file.
    pub fn parse(file: &str, text: &str) -> Result<Self, PolicyError> {
        let refuse = |message: String| PolicyError { file: file.to_owned(), message };
        let read = PolicySet::from_str(text).map_err(|errors| refuse(describe(text, &errors)))?;
        if read.templates().next().is_some() {
            return Err(refuse(
                "policy templates are not supported; write plain policies".to_owned(),
            ));
        }
        let mut policies = PolicySet::new();
        for policy in read.policies() {
            policies.add(named(policy)).map_err(|error| refuse(error.to_string()))?;
        }
        Ok(Self::of(policies, text))
    }

    fn of(policies: PolicySet, text: &str) -> Self {
        let hash = canonical::hash_bytes(text.as_bytes());
        let notes = policies.policies().map(|policy| (policy.id().clone(), noted(policy)));
        let notes = notes.collect();
        let looks = Looks::of(policies.policies());
        let by_mode = text.lines().any(|line| line == BY_MODE);
        let text = text.to_owned();
        let mut rules = Self { policies, hash, text, notes, for_all: None, looks, by_mode };
        if rules.policies.policies().all(is_indifferent) {
            rules.for_all = Some(Ruling::for_all(&rules));
        }
        rules
    }

    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Whether no policy looks at who asks for what.
    pub fn is_indifferent(&self) -> bool {
        self.for_all.is_some()
    }

    pub(crate) const fn is_by_mode(&self) -> bool {
        self.by_mode
    }

    /// Whether no policy looks at who asks for what, and whatever is asked is permitted.
    pub fn permits_all(&self) -> bool {
        self.for_all.as_ref().is_some_and(Ruling::is_allowed)
    }

    /// What of a request to list they may look at.
    pub const fn looks(&self) -> Looks {
        self.looks
    }

    /// How many policies there are.
    pub fn count(&self) -> usize {
        self.policies.policies().count()
    }

    /// By what each policy is known.
    pub fn ids(&self) -> BTreeSet<String> {
        self.policies.policies().map(|policy| policy.id().to_string()).collect()
    }

    /// The gates at which these policies have humans asked.
    pub fn gates(&self) -> BTreeSet<&str> {
        let by_mode = self.by_mode.then_some(DESTRUCTIVE);
        self.notes.values().filter_map(|notes| notes.gate.as_deref()).chain(by_mode).collect()
    }

    /// The text they were read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How every request is ruled, where none need be put to Cedar.
    pub(crate) const fn for_all(&self) -> Option<&Ruling> {
        self.for_all.as_ref()
    }

    pub(crate) fn notes(&self, policy: &PolicyId) -> Option<&Notes> {
        self.notes.get(policy)
    }

    pub(crate) fn policies(&self) -> &PolicySet {
        &self.policies
    }

    fn built_in(text: &str) -> Self {
        // INVARIANT: the built-in texts are read by a test; without them nothing is permitted.
        Self::parse("built-in", text).unwrap_or_else(|_| Self::of(PolicySet::new(), ""))
    }
}

/// A policy without scope and without conditions applies to everything there is.
fn is_indifferent(policy: &Policy) -> bool {
    let any_scope = matches!(policy.principal_constraint(), PrincipalConstraint::Any)
        && matches!(policy.action_constraint(), ActionConstraint::Any)
        && matches!(policy.resource_constraint(), ResourceConstraint::Any);
    any_scope && !policy.has_non_scope_constraint()
}

fn noted(policy: &Policy) -> Notes {
    let note = |key: &str| policy.annotation(key).map(str::to_owned);
    let obligations = note("obligations").unwrap_or_default();
    let obligations = crate::owed::words(&obligations);
    Notes {
        reason: note("reason"),
        gate: note("gate"),
        mode: policy.annotation("mode").and_then(ApprovalMode::read),
        obligations: obligations.map(str::to_owned).collect(),
    }
}

fn named(policy: &Policy) -> Policy {
    match policy.annotation("id") {
        Some(id) => policy.new_id(PolicyId::new(id)),
        None => policy.clone(),
    }
}

/// The first error with its line, in one sentence.
fn describe(text: &str, errors: &cedar_policy::ParseErrors) -> String {
    use miette::Diagnostic as _;
    let mut places = errors.iter().filter_map(|error| Some(error.labels()?.next()?.offset()));
    let line = places.next().map(|offset| crate::schema::line_of(text, offset));
    match line {
        Some(line) => format!("line {line}: {errors}"),
        None => errors.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_rules_are_read() {
        for (rules, policies) in [(Rules::permit_all(), 1), (Rules::permit_declared(), 1)] {
            assert_eq!(rules.policies.policies().count(), policies);
            assert_eq!(rules.hash.len(), 64);
            assert_eq!(crate::schema::look_over("built-in", rules.text()).unwrap(), []);
        }
    }

    /// Replay reads the rules of then from their text.
    #[test]
    fn rules_read_again_from_their_text_are_the_same_rules() {
        let plain = Rules::permit_all();
        let strict = Rules::permit_all().by_mode();
        assert_ne!(plain.hash(), strict.hash());
        for rules in [plain, strict.clone(), strict.by_mode()] {
            let again = Rules::parse("again", rules.text()).unwrap();
            assert_eq!((again.hash(), again.by_mode), (rules.hash(), rules.by_mode));
        }
    }

    #[test]
    fn a_mistake_names_the_file_and_the_line() {
        let check = |text: &str, wanted: &str| {
            let error = Rules::parse("gate.cedar", text).unwrap_err().to_string();
            assert!(error.starts_with("gate.cedar: ") && error.contains(wanted), "{error}");
        };
        check("permit(principal, action, resource);\n\nforbid(", "line 3");
        check("permit(principal == ?principal, action, resource);", "templates");
        check(
            "@id(\"a\") permit(principal,action,resource);\n@id(\"a\") permit(principal,action,resource);",
            "a",
        );
    }
}
