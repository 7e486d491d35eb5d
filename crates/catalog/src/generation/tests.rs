//! A generation is the same whatever order it was built in, and every name leads home.

use std::collections::BTreeMap;

use super::*;
use crate::shown::Naming;
use model::{Code, Effect};
use proptest::prelude::*;
use serde_json::json;

fn source(upstream: &str, definitions: Vec<Value>) -> Source {
    let upstream = UpstreamName::from_string(upstream);
    Source {
        upstream,
        protocol: "mcp",
        namespace: None,
        definitions,
        manifest: None,
        extras: Extras::default(),
    }
}

fn tool(name: &str) -> Value {
    json!({"name": name, "description": "d", "inputSchema": {"type": "object"}})
}

fn build(sources: Vec<Source>) -> Catalogue {
    Catalogue::build(Generation(7), sources, Naming::Auto)
}

fn rules(catalogue: &Catalogue) -> Vec<&str> {
    catalogue.findings().iter().map(|finding| finding.rule.as_str()).collect()
}

fn payments() -> Source {
    let refund: Value =
        serde_json::from_str(include_str!("../../fixtures/payments_issue_refund.json")).unwrap();
    let manifest = manifest::from_value(json!({
        "adapter_id": "adp_payments_mcp",
        "version": "1.0.0",
        "name": "Payments",
        "owner_role": "payments_ops",
        "domain": "Payments",
        "protocol": "mcp",
        "capabilities": [
            {"capability_id": "payments.issue_refund", "tool": "payments_issue_refund", "class": "act", "approval_mode": "destructive"},
            {"capability_id": "payments.gone", "tool": "gone", "class": "observe", "approval_mode": "read_only"},
        ],
    }));
    let manifest = Some(Arc::new(manifest.unwrap()));
    Source {
        manifest,
        namespace: Some("ignored".to_owned()),
        ..source("pay", vec![refund, tool("other")])
    }
}

#[test]
fn listing_order_and_source_order_do_not_matter() {
    let a = || source("a", vec![tool("y"), tool("x")]);
    let b = || source("b", vec![tool("z")]);
    let one = build(vec![a(), b()]);
    let two = build(vec![b(), source("a", vec![tool("x"), tool("y")])]);
    assert_eq!(one.hash(), two.hash());
    assert_eq!(one.findings(), two.findings());
    let names = |catalogue: &Catalogue| -> Vec<String> {
        catalogue.entries().iter().map(|entry| entry.shown_name.clone()).collect()
    };
    assert_eq!(names(&one), ["mcp__a__x", "mcp__a__y", "mcp__b__z"]);
    assert_eq!(names(&one), names(&two));
    assert_eq!(one.generation(), Generation(7));
}

#[test]
fn a_changed_word_changes_the_hash() {
    let mut changed = tool("x");
    changed["description"] = json!("e");
    let hash = |definition| build(vec![source("a", vec![definition])]).hash().to_owned();
    assert_ne!(hash(tool("x")), hash(changed));
}

/// C1: every rendering is accepted and leads to the same entry.
#[test]
fn every_rendering_leads_to_its_entry() {
    let catalogue = build(vec![payments(), source("git", vec![tool("github.create_issue")])]);
    let check = |name: &str, key: &str| {
        assert_eq!(catalogue.resolve(name).unwrap().item.key.to_string(), key, "{name}");
    };
    check("payments:payments_issue_refund", "pay/payments_issue_refund");
    check("payments:payments_issue_refund#ffe601cf", "pay/payments_issue_refund");
    check("mcp__pay__payments_issue_refund", "pay/payments_issue_refund");
    check("payments.issue_refund", "pay/payments_issue_refund");
    check("payments_issue_refund", "pay/payments_issue_refund");
    check("github:create_issue", "git/github.create_issue");
    check("github.create_issue", "git/github.create_issue");
    assert!(catalogue.resolve("PAYMENTS_ISSUE_REFUND").is_none());
    assert!(catalogue.resolve("").is_none());
}

/// C20: a raw name that two upstreams offer means neither; the qualified names still work.
#[test]
fn an_ambiguous_name_means_nothing() {
    let catalogue = build(vec![source("a", vec![tool("x")]), source("b", vec![tool("x")])]);
    assert!(catalogue.resolve("x").is_none());
    assert!(catalogue.resolve("mcp:x").is_none());
    assert_eq!(catalogue.resolve("mcp__b__x").unwrap().item.key.to_string(), "b/x");
}

#[test]
fn an_upstream_cannot_blur_the_name_of_anothers_tool() {
    let rogue = source("rogue", vec![tool("mcp__a__x"), tool("payments.issue_refund")]);
    let catalogue = build(vec![source("a", vec![tool("x")]), payments(), rogue]);
    assert_eq!(catalogue.resolve("mcp__a__x").unwrap().item.key.to_string(), "a/x");
    let refund = catalogue.resolve("payments.issue_refund").unwrap();
    assert_eq!(refund.item.key.to_string(), "pay/payments_issue_refund");
}

/// C2 and C6: a manifest's domain and effect go before what is configured or assumed.
#[test]
fn a_manifest_declares_effect_capability_and_namespace() {
    let catalogue = build(vec![payments()]);
    let refund = catalogue.resolve("payments.issue_refund").unwrap();
    assert_eq!(refund.item.effect.declared, Some(Effect::External));
    assert_eq!(refund.item.namespace, "payments");
    assert_eq!(refund.manifest.as_deref(), Some("adp_payments_mcp@1.0.0"));
    assert_eq!(refund.capability.as_ref().unwrap().tool, "payments_issue_refund");
    let other = catalogue.resolve("other").unwrap();
    assert_eq!(other.item.effect, EffectClaim::UNLISTED);
    assert!(other.capability.is_none());
    assert!(rules(&catalogue).contains(&"capability_without_tool"));
}

#[test]
fn bad_repeated_and_broken_definitions_are_reported_and_the_rest_stays() {
    let broken = json!({"name": "broken", "description": "d", "inputSchema": {"type": 5}});
    let mut twin = tool("x");
    twin["description"] = json!("another");
    let listed = vec![json!(null), tool("x"), twin.clone(), broken];
    let catalogue = build(vec![source("a", listed)]);
    assert_eq!(catalogue.entries().len(), 2);
    assert_eq!(rules(&catalogue), ["definition_invalid", "tool_repeated", "schema_invalid"]);
    let broken = catalogue.resolve("broken").unwrap();
    assert_eq!(broken.check_input(&json!({})).unwrap_err().code, Code::SchemaInvalid);
    let swapped = build(vec![source("a", vec![twin, tool("x")])]);
    assert_eq!(
        swapped.resolve("x").unwrap().definition(),
        catalogue.resolve("x").unwrap().definition()
    );
}

#[test]
fn the_definition_is_kept_untouched() {
    let odd =
        json!({"z": 1, "name": "x", "vendor": {"b": 1, "a": 2}, "inputSchema": {"type": "object"}});
    let catalogue = build(vec![source("a", vec![odd.clone()])]);
    assert_eq!(catalogue.resolve("x").unwrap().definition().to_string(), odd.to_string());
}

/// An upstream whose manifest declares those of its tools that have plain names, with ids that
/// upstreams may share.
fn declared(upstream: &str, tools: Vec<Value>) -> Source {
    let plain = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric());
    let names = tools.iter().filter_map(|tool| tool["name"].as_str()).filter(plain);
    let bind = |(number, name): (usize, &str)| {
        let id = format!("shelf.do_{number}");
        json!({"capability_id": id, "tool": name, "class": "act", "approval_mode": "destructive"})
    };
    let capabilities: Vec<Value> = names.enumerate().map(bind).collect();
    let declares = !capabilities.is_empty();
    let manifest = json!({
        "adapter_id": "adp_x", "version": "1.0.0", "name": "X", "owner_role": "ops",
        "domain": "Shelf", "protocol": "mcp", "capabilities": capabilities,
    });
    let manifest = declares.then(|| Arc::new(manifest::from_value(manifest).unwrap()));
    Source { manifest, ..source(upstream, tools) }
}

proptest! {
    /// C1: no two tools of whatever names share one, and every rendering leads back to its tool
    /// unless several tools go by it, in which case it leads nowhere.
    #[test]
    fn names_are_injective_and_lead_home_through_the_index(
        tools in prop::collection::btree_set(("[a-zA-Z0-9_.-]{1,6}", prop_oneof![any::<String>(), "[ab]{1,2}"]), 1..12),
        naming in prop::sample::select(vec![
            Naming::Auto, Naming::None, Naming::Wire, Naming::Short,
            Naming::Legacy, Naming::Canonical, Naming::Capability,
        ]),
    ) {
        let mut sources: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for (upstream, name) in tools {
            sources.entry(upstream).or_default().push(tool(&name));
        }
        let sources = sources.into_iter().map(|(upstream, tools)| declared(&upstream, tools));
        let catalogue = Catalogue::build(Generation(1), sources.collect(), naming);
        for entry in catalogue.entries() {
            let ids = &entry.item.ids;
            for own in [&entry.shown_name, &ids.wire] {
                let found = catalogue.resolve(own).map(|found| &found.item.key);
                prop_assert_eq!(found, Some(&entry.item.key), "{}", own);
            }
            let capability = |entry: &Entry| -> Option<String> {
                entry.item.ids.capability.as_ref().map(ToString::to_string)
            };
            let others = [ids.canonical.clone(), ids.legacy.clone(), entry.item.name.clone()];
            for shared in others.iter().chain(&capability(entry)) {
                let bearers = catalogue.entries().iter().filter(|other| {
                    let ids = &other.item.ids;
                    capability(other).as_ref() == Some(shared)
                        || [
                            &other.shown_name, &ids.wire, &ids.canonical, &ids.legacy,
                            &other.item.name,
                        ]
                        .contains(&shared)
                });
                let bearers: Vec<_> = bearers.map(|other| &other.item.key).collect();
                let found = catalogue.resolve(shared).map(|found| &found.item.key);
                prop_assert!(found.is_none_or(|found| bearers.contains(&found)), "{}", shared);
                prop_assert!(bearers.len() > 1 || found == Some(&entry.item.key), "{}", shared);
            }
        }
    }
}
