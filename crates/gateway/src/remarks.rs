//! What was found out about definitions while a generation was built: said in the log once, not with
//! every list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use catalog::Catalogue;
use catalog::drift::{DRIFT_RULE, Drift, Name};
use model::fault::one_line;
use model::{Finding, Severity, UpstreamName};

use crate::settings::DriftRule;

/// Lines about one generation, and names in one line.
const SAID_MAX: usize = 50;
const NAMES_MAX: usize = 10;

/// Says what was not found in the generation before.
pub(crate) fn tell(former: &Catalogue, now: &Catalogue) {
    let new = new_findings(former, now);
    for Finding { severity, rule, message } in new.iter().take(SAID_MAX) {
        let message = one_line(message, 400);
        match severity {
            Severity::Info => tracing::info!(rule, "{message}"),
            Severity::Warning | Severity::Error => tracing::warn!(rule, "{message}"),
        }
    }
    if let Some(more) = new.len().checked_sub(SAID_MAX).filter(|more| *more > 0) {
        tracing::warn!(more, "more was found about definitions; see `toolgate doctor`");
    }
}

/// The gravest first. Drift is told of by itself.
fn new_findings<'a>(former: &Catalogue, now: &'a Catalogue) -> Vec<&'a Finding> {
    let key = |finding: &Finding| (finding.rule.clone(), finding.message.clone());
    let known: BTreeSet<_> = former.findings().iter().map(key).collect();
    let own = now.findings().iter().filter(|finding| finding.rule != DRIFT_RULE);
    let mut new: Vec<&Finding> = own.filter(|finding| !known.contains(&key(finding))).collect();
    new.sort_by_key(|finding| finding.severity == Severity::Info);
    new
}

/// The drifts of each upstream that were told of last.
#[derive(Debug, Default)]
pub(crate) struct Told(Mutex<BTreeMap<UpstreamName, BTreeMap<Name, Drift>>>);

impl Told {
    /// Says in one line how an upstream departs from what was accepted, if it did not so before.
    pub(crate) fn drift(
        &self,
        upstream: &UpstreamName,
        drifts: &BTreeMap<Name, Drift>,
        rule: DriftRule,
    ) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let former = told.insert(upstream.clone(), drifts.clone());
        if drifts.is_empty() || former.as_ref() == Some(drifts) {
            return;
        }
        tracing::warn!(
            upstream.name = upstream.as_str(),
            differ = drifts.len(),
            held = rule == DriftRule::Hold,
            items = names(drifts),
            "definitions differ from what was accepted; see `toolgate tools diff`"
        );
    }
}

fn names(drifts: &BTreeMap<Name, Drift>) -> String {
    let one = |((kind, name), drift): (&Name, &Drift)| {
        let name = one_line(name, 128);
        format!("{} {name} {} ({})", kind.as_str(), drift.as_str(), drift.grade())
    };
    let mut names: Vec<String> = drifts.iter().take(NAMES_MAX).map(one).collect();
    if let Some(more) = drifts.len().checked_sub(NAMES_MAX).filter(|more| *more > 0) {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::{Extras, Naming, Source};
    use model::Generation;
    use serde_json::{Value, json};

    fn catalogue(definitions: Vec<Value>) -> Catalogue {
        let source = Source {
            upstream: UpstreamName::from_string("u"),
            protocol: "mcp",
            namespace: None,
            definitions,
            manifest: None,
            extras: Extras::default(),
        };
        Catalogue::build(Generation(1), vec![source], Naming::Auto)
    }

    #[test]
    fn what_was_found_before_is_not_found_again() {
        let tool = json!({"name": "a", "description": "A.", "inputSchema": {"type": "object"}});
        let (none, seven) =
            (catalogue(vec![tool.clone()]), catalogue(vec![tool.clone(), json!(7)]));
        assert_eq!(new_findings(&none, &seven).len(), 1);
        assert_eq!(new_findings(&seven, &seven).len(), 0);
        let more = catalogue(vec![tool, json!(7), json!({"name": "b"})]);
        let rules: BTreeSet<&str> =
            new_findings(&seven, &more).iter().map(|finding| finding.rule.as_str()).collect();
        assert_eq!(rules, BTreeSet::from(["description_missing", "input_schema_missing"]));
    }

    #[test]
    fn many_drifts_are_one_line() {
        let drifts = (0..12).map(|i| ((model::ItemKind::Tool, format!("t{i:02}")), Drift::Removed));
        let line = names(&drifts.collect());
        assert!(line.starts_with("tool t00 removed (contract change), tool t01"), "{line}");
        assert!(line.ends_with("tool t09 removed (contract change), and 2 more"), "{line}");
    }
}
