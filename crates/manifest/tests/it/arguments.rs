//! Bounds on arguments, as a call meets them.

use proptest::prelude::*;
use serde_json::{Value, json};
use toolgate_manifest as manifest;

use crate::{payments, small};

/// The rules that `args` breaks under `constraints`, as schema paths.
fn broken(constraints: &Value, args: &Value) -> Vec<String> {
    let value = small(json!({"capabilities": [{"arg_constraints": constraints}]}));
    let manifest = manifest::from_value(value).unwrap();
    let violations = manifest.capabilities[0].check_args(args);
    violations.into_iter().map(|violation| violation.schema_path).collect()
}

fn check(bound: Value, value: Value, expected: &[&str]) {
    let paths: Vec<String> =
        expected.iter().map(|rule| format!("/arg_constraints/x/{rule}")).collect();
    assert_eq!(broken(&json!({"x": bound}), &json!({"x": value})), paths, "{bound} {value}");
}

/// CO-86.
#[test]
fn numbers_stay_between_their_bounds() {
    let bound = || json!({"min": 1, "max": 50000});
    check(bound(), json!(1), &[]);
    check(bound(), json!(50000), &[]);
    check(bound(), json!(50000.0), &[]);
    check(bound(), json!(0.99), &["min"]);
    check(bound(), json!(50001), &["max"]);
    check(bound(), json!(-1), &["min"]);
    check(bound(), json!(u64::MAX), &["max"]);
}

#[test]
fn what_cannot_be_compared_is_not_within_bounds() {
    for value in [json!("7"), json!(null), json!([7]), json!({"n": 7}), json!(true)] {
        check(json!({"min": 1}), value.clone(), &["min"]);
        check(json!({"max": 9}), value, &["max"]);
    }
    for value in [json!(7), json!(null), json!(["txn_1"])] {
        check(json!({"pattern": "^txn_"}), value, &["pattern"]);
    }
}

/// CO-87.
#[test]
fn an_enum_takes_only_what_it_lists() {
    check(json!({"enum": ["INR"]}), json!("INR"), &[]);
    check(json!({"enum": ["INR"]}), json!("inr"), &["enum"]);
    check(json!({"enum": ["INR"]}), json!(["INR"]), &["enum"]);
    check(json!({"enum": [1, null]}), json!(1.0), &[]);
    check(json!({"enum": [1, null]}), json!(null), &[]);
    check(json!({"enum": []}), json!("anything"), &["enum"]);
}

#[test]
fn a_pattern_matches_anywhere_unless_anchored() {
    check(json!({"pattern": "b+"}), json!("abba"), &[]);
    check(json!({"pattern": "^b+$"}), json!("abba"), &["pattern"]);
}

#[test]
fn an_absent_argument_matters_only_if_required() {
    let bound = json!({"x": {"min": 1}});
    assert!(broken(&bound, &json!({})).is_empty());
    let required = json!({"x": {"min": 1, "required": true}});
    assert_eq!(broken(&required, &json!({})), ["/arg_constraints/x/required"]);
    assert_eq!(broken(&required, &json!(null)), ["/arg_constraints/x/required"]);
}

#[test]
fn a_pointer_reaches_into_nested_arguments() {
    let bound = json!({"/body/amount": {"max": 10}});
    assert!(broken(&bound, &json!({"body": {"amount": 10}})).is_empty());
    let path = "/arg_constraints/~1body~1amount/max";
    assert_eq!(broken(&bound, &json!({"body": {"amount": 11}})), [path]);
}

#[test]
fn a_violation_says_where_and_why() {
    let manifest = payments();
    let refund = manifest.capability_for_tool("payments_issue_refund").unwrap();
    let violations = refund.check_args(&json!({"amount_inr": 60000, "currency": "USD"}));
    let said: Vec<_> =
        violations.iter().map(|v| (v.instance_path.as_str(), v.message.as_str())).collect();
    assert_eq!(
        said,
        [
            ("/amount_inr", "`amount_inr` must be at most 50000"),
            ("/currency", "`currency` must be one of `\"INR\"`"),
        ]
    );
}

proptest! {
    /// The bound decides, whatever the number.
    #[test]
    fn a_number_passes_exactly_when_it_lies_within(n in any::<i32>(), min in any::<i32>(), max in any::<i32>()) {
        let passes = broken(&json!({"x": {"min": min, "max": max}}), &json!({"x": n})).is_empty();
        prop_assert_eq!(passes, min <= n && n <= max);
    }

    #[test]
    fn any_argument_name_can_be_bounded(name in "[^/].{0,8}") {
        let broken = broken(&json!({&name: {"max": 1}}), &json!({&name: 2}));
        prop_assert_eq!(broken.len(), 1);
    }
}
