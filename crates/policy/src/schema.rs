//! What policies may speak of, and how a policy is held against it.
//!
//! Arguments differ from tool to tool, so nothing is said about them: what reads one without asking
//! for it first is worth a note, not a refusal.

use std::collections::BTreeSet;
use std::str::FromStr;

use cedar_policy::{
    PolicyId, PolicySet, Schema, ValidationError, ValidationMode, ValidationWarning, Validator,
};
use miette::Diagnostic;
use model::ApprovalMode;
use serde::Serialize;

use crate::owed;
use crate::rules::PolicyError;

/// The published schema, in Cedar's own words.
pub const SCHEMA: &str = include_str!("../toolgate.cedarschema");

/// One thing about a policy that its author should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Whether the policy cannot be used with it.
    pub grave: bool,
    pub policy: String,
    /// Counted from one; absent where nobody can say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    pub message: String,
    /// What to write instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// Everything that is wrong or odd about policy text that can be read, in the order of its lines.
pub fn look_over(file: &str, text: &str) -> Result<Vec<Finding>, PolicyError> {
    let rules = crate::Rules::parse(file, text)?;
    let refuse = |message: String| PolicyError { file: file.to_owned(), message };
    let schema = Schema::from_str(SCHEMA).map_err(|error| refuse(error.to_string()))?;
    let checked = Validator::new(schema).validate(rules.policies(), ValidationMode::Strict);
    let mut findings: Vec<Finding> =
        checked.validation_errors().filter_map(|error| of_error(text, error)).collect();
    // What is odd about a policy follows from what is wrong with it, where something is.
    let wrong: BTreeSet<String> =
        findings.iter().filter(|f| f.grave).map(|f| f.policy.clone()).collect();
    let odd = checked.validation_warnings().filter_map(|odd| of_warning(text, odd));
    findings.extend(odd.filter(|finding| !wrong.contains(&finding.policy)));
    findings.extend(annotations(text, rules.policies()));
    // By their words too: Cedar finds them in no order.
    findings.sort_by(|one, other| {
        let key = |f: &Finding| (f.line, f.policy.clone(), !f.grave, f.message.clone());
        key(one).cmp(&key(other))
    });
    // Cedar says the same of every kind of caller and thing.
    findings.dedup_by(|later, former| {
        (later.line, &later.policy, &later.fix) == (former.line, &former.policy, &former.fix)
    });
    Ok(findings)
}

fn of_error(text: &str, error: &ValidationError) -> Option<Finding> {
    let message = plain(&error.to_string());
    let on_arguments = message.contains("`arguments.") || message.contains("`arguments[");
    match error {
        ValidationError::UnsafeAttributeAccess(_) if on_arguments => {
            let message = "an argument is read that may be missing, and then the call is refused";
            let fix = "ask first: `context.arguments has NAME && context.arguments.NAME …`";
            Some(
                finding(text, error.policy_id(), error, message.to_owned(), Some(fix.to_owned()))
                    .mild(),
            )
        }
        ValidationError::EmptySetForbidden(_) => None,
        _ => {
            let fix = error.help().map(|help| plain(&help.to_string()));
            Some(finding(text, error.policy_id(), error, message, fix))
        }
    }
}

/// A condition on arguments looks impossible to Cedar, which knows of none.
fn of_warning(text: &str, odd: &ValidationWarning) -> Option<Finding> {
    if matches!(odd, ValidationWarning::ImpossiblePolicy(_)) {
        return None;
    }
    let fix = odd.help().map(|help| plain(&help.to_string()));
    Some(finding(text, odd.policy_id(), odd, plain(&odd.to_string()), fix).mild())
}

fn finding(
    text: &str,
    policy: &PolicyId,
    place: &dyn Diagnostic,
    message: String,
    fix: Option<String>,
) -> Finding {
    let offset = place.labels().and_then(|mut labels| labels.next()).map(|label| label.offset());
    let line = offset.or_else(|| place_of(text, policy)).map(|offset| line_of(text, offset));
    Finding { grave: true, policy: policy.to_string(), line, message, fix }
}

impl Finding {
    fn mild(self) -> Self {
        Self { grave: false, ..self }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "policy `{}`: {}", self.policy, self.message)?;
        match &self.fix {
            Some(fix) => write!(f, "; {fix}"),
            None => Ok(()),
        }
    }
}

/// Annotations that say nothing we know, or cannot be meant.
fn annotations(text: &str, policies: &PolicySet) -> Vec<Finding> {
    const KNOWN: [&str; 5] = ["id", "reason", "gate", "mode", "obligations"];
    let mut found = Vec::new();
    for policy in policies.policies() {
        let mut say = |grave: bool, message: String, fix: String| {
            let line = place_of(text, policy.id()).map(|offset| line_of(text, offset));
            let policy = policy.id().to_string();
            found.push(Finding { grave, policy, line, message, fix: Some(fix) });
        };
        for (key, value) in policy.annotations() {
            if !KNOWN.contains(&key) {
                let fix = format!("the annotations are @{}", KNOWN.join(", @"));
                say(false, format!("the annotation `@{key}` means nothing here"), fix);
            }
            if key == "mode" && ApprovalMode::read(value).is_none() {
                let modes = ApprovalMode::ALL.map(ApprovalMode::as_str).join(", ");
                say(true, format!("`{value}` is no mode"), format!("write one of {modes}"));
            }
        }
        let owed = policy.annotation("obligations").unwrap_or_default();
        for word in owed::words(owed).filter(|word| !owed::is_known(word)) {
            let message = format!("nobody would see to the obligation `{word}`");
            say(true, message, owed::instead_of(word));
        }
        let forbids = policy.effect() == cedar_policy::Effect::Forbid;
        if forbids && policy.annotation("obligations").is_some() {
            let fix = "put them on a `permit`".to_owned();
            say(true, "obligations on a `forbid` bind nobody".to_owned(), fix);
        }
        if forbids && policy.annotation("gate").is_some() {
            let fix = "put it on a `permit`".to_owned();
            say(false, "a gate on a `forbid` asks nobody".to_owned(), fix);
        }
    }
    found
}

/// Where a policy begins: at its `@id`, or as the one of this number.
fn place_of(text: &str, policy: &PolicyId) -> Option<usize> {
    let id = policy.to_string();
    if let Some(offset) = text.find(&format!("@id(\"{id}\")")) {
        return Some(offset);
    }
    let number: usize = id.strip_prefix("policy")?.parse().ok()?;
    let begins = |at: usize, word: &str| {
        let rest = text.get(at + word.len()..).unwrap_or_default();
        rest.trim_start().starts_with('(')
    };
    let mut starts: Vec<usize> = ["permit", "forbid"]
        .iter()
        .flat_map(|word| text.match_indices(word).filter(|(at, word)| begins(*at, word)))
        .map(|(at, _)| at)
        .collect();
    starts.sort_unstable();
    starts.get(number).copied()
}

/// Without the words that name the policy, which stand in front already.
fn plain(message: &str) -> String {
    match message.strip_prefix("for policy `").and_then(|rest| rest.split_once("`, ")) {
        Some((_, rest)) => rest.to_owned(),
        None => message.to_owned(),
    }
}

pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<String> {
        let found = look_over("gate.cedar", text).unwrap();
        let told = |finding: &Finding| {
            format!("{} {finding}", if finding.grave { "wrong" } else { "odd" })
        };
        found.iter().map(told).collect()
    }

    #[test]
    fn what_is_sound_is_not_complained_about() {
        let check = |text: &str| assert_eq!(said(text), [""; 0], "{text}");
        check("permit (principal, action, resource);");
        check(
            "permit (principal in Role::\"ops\", action == Action::\"call\", resource in Namespace::\"a\");",
        );
        check(
            "@id(\"a\") @gate(\"G\") @mode(\"network\") @obligations(\"delegation, evidence:balance, note:tell finance\") permit (principal, action, resource) when { resource.effect == \"external\" };",
        );
        check(
            "forbid (principal, action, resource) when { context.arguments has amount && context.arguments.amount > 5 };",
        );
        check(
            "permit (principal, action, resource) when { context.scopes.contains(\"fs.read\") && context.now_ms > 5 };",
        );
        check(
            "forbid (principal, action, resource) unless { context has intent && context.intent like \"refund*\" };",
        );
        check(
            "forbid (principal, action, resource) when { context has budget && context.budget.writes > 3 };",
        );
        check(
            "permit (principal, action == Action::\"approve\", resource) when { principal.tenant == \"a\" };",
        );
    }

    #[test]
    fn a_mistake_is_named_with_its_line_and_what_to_write_instead() {
        let check = |text: &str, wanted: &[&str]| {
            let said = said(text);
            assert_eq!(said.len(), 1, "{said:?}");
            assert!(wanted.iter().all(|part| said[0].contains(part)), "{said:?}");
        };
        check(
            "permit (principal, action, resource);\n\nforbid (principal, action, resource)\nwhen { resource.effct == \"external\" };",
            &["wrong line 4: policy `policy1`: attribute `effct`", "did you mean `effect`?"],
        );
        check("permit (principal, action == Action::\"cal\", resource);", &["wrong", "cal"]);
        check("permit (principal == Usr::\"ann\", action, resource);", &["wrong", "Usr", "User"]);
        check(
            "permit (principal, action, resource) when { context.now_ms == \"x\" };",
            &["wrong line 1"],
        );
        check(
            "permit (principal, action, resource) when { context.intent == \"x\" };",
            &["wrong", "has intent"],
        );
        check(
            "permit (principal, action, resource) when { context.arguments.amount < 5 };",
            &["odd line 1", "`context.arguments has NAME"],
        );
        check(
            "@mode(\"quiet\") permit (principal, action, resource);",
            &["wrong", "`quiet` is no mode", "read_only"],
        );
        let owes = |words: &str| {
            format!("@obligations(\"{words}\") permit (principal, action, resource);")
        };
        check(
            &owes("delegation, idempotency-key"),
            &["wrong line 1", "`idempotency-key`", "did you mean `idempotency_key`?"],
        );
        check(&owes("evidnce:balance"), &["wrong", "did you mean `evidence:KEY`?"]);
        check(&owes("scope"), &["wrong", "did you mean `scope:NAME`?"]);
        check(&owes("delegation:"), &["wrong", "did you mean `delegation`?"]);
        check(&owes("tell finance"), &["wrong", "`note:tell finance` is kept"]);
        check(
            "@obligations(\"evidence\") forbid (principal, action, resource);",
            &["wrong", "on a `forbid` bind nobody"],
        );
        check("@gat(\"G\") permit (principal, action, resource);", &["odd", "`@gat`"]);
        check("@gate(\"G\") forbid (principal, action, resource);", &["odd", "asks nobody"]);
    }

    #[test]
    fn text_that_cannot_be_read_is_an_error_with_its_line() {
        let error = look_over("gate.cedar", "permit (principal,\naction").unwrap_err().to_string();
        assert!(error.starts_with("gate.cedar: line 2"), "{error}");
    }
}
