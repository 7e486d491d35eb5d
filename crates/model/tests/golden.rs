//! The nouns on paper. A changed snapshot is a changed format: walk old and new reader and writer.

#![expect(clippy::unwrap_used, reason = "a test may")]

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, json};
use toolgate_model::artifact::{ArtifactKind, ArtifactRef, Selector, View};
use toolgate_model::card::Safety;
use toolgate_model::evidence::{
    Evidence, EvidenceKind, EvidenceSource, Freshness, FreshnessKind, InstructionTreatment,
    Integrity, evidence_ref,
};
use toolgate_model::result::{Cleaning, Metrics, Provenance};
use toolgate_model::task::{Task, TaskState};
use toolgate_model::{
    Approval, ApprovalId, ApprovalMode, ApprovalState, ArtifactId, Call, CallId, CallResult,
    CallStatus, Caller, CapabilityId, Card, Class, Code, Decision, DecisionAction, DecisionId,
    Effect, EffectClaim, Fault, Finding, Generation, Grant, Handle, Hints, Item, ItemIds, ItemKey,
    ItemKind, Lineage, Outcome, Principal, Record, RecordId, RecordStatus, RunId, SessionId,
    Severity, Subject, Timestamp, TraceId, UpstreamName, Violation, call, result,
};

const AT: Timestamp = Timestamp::from_millis(1_763_251_200_000);

/// Writes the value, compares it with the page we keep, and reads it back.
fn check<T>(name: &str, value: &T)
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    insta::assert_json_snapshot!(name, value);
    let paper = serde_json::to_string(value).unwrap();
    assert_eq!(serde_json::from_str::<T>(&paper).unwrap(), *value, "{name} does not read back");
}

fn key() -> ItemKey {
    ItemKey {
        upstream: UpstreamName::from_string("demo"),
        name: "payments_issue_refund".to_owned(),
        kind: ItemKind::Tool,
    }
}

fn call() -> Call {
    let caller = Caller {
        client: Some("claude-code 2.1".to_owned()),
        session: Some(SessionId::from_string("5e55")),
        grants: vec![Grant::read("fs.read:/workspace/*")],
        ..Caller::new(Principal::user("ann"))
    };
    Call {
        envelope_version: call::ENVELOPE_VERSION.into(),
        call_id: CallId::from_string("call_1"),
        run_id: RunId::from_string("run_1"),
        trace_id: TraceId::from_string("4bf92f3577b34da6a3ce929d0e0e4736"),
        parent_span_id: None,
        parent_call_id: None,
        session_id: caller.session.clone(),
        method: None,
        asked_name: "payments_issue_refund".to_owned(),
        item_key: Some(key()),
        capability_id: Some(CapabilityId::from_string("payments.issue_refund")),
        args: json!({"amount_inr": 1499}),
        args_hash: "a".repeat(64),
        principal_chain: caller.chain(),
        acts_for: None,
        evidence_refs: Vec::new(),
        roles: Vec::new(),
        grants: Vec::new(),
        ceiling: None,
        scopes: None,
        intent: None,
        mode_effective: Some(ApprovalMode::Destructive),
        policy_decision_id: Some(DecisionId::from_string("dec_1")),
        idempotency_key: Some("ik_0123456789abcdef".to_owned()),
        dry_run: false,
        started_at: AT,
        deadline: AT.after(toolgate_model::limits::CALL_TIMEOUT_DEFAULT),
        lineage: Lineage {
            generation: Generation(3),
            catalogue_hash: "c".repeat(64),
            definition_hash: Some("d".repeat(64)),
            manifest: Some("demo@1.0.0".to_owned()),
            policy_hash: "e".repeat(64),
            gateway_version: "0.1.0".into(),
            server: None,
            prompt: None,
        },
    }
}

fn outcome() -> CallResult {
    CallResult {
        envelope_version: result::ENVELOPE_VERSION.into(),
        call_id: CallId::from_string("call_1"),
        run_id: RunId::from_string("run_1"),
        trace_id: TraceId::from_string("4bf92f3577b34da6a3ce929d0e0e4736"),
        capability_id: Some(CapabilityId::from_string("payments.issue_refund")),
        status: CallStatus::Completed,
        outcome: Outcome::Partial,
        summary: "refund rf_1001 accepted".to_owned(),
        lossy: true,
        facts: vec!["refund_id: rf_1001".to_owned()],
        artifacts: vec![artifact()],
        views: vec![View {
            label: "first lines".to_owned(),
            selector: Selector::Lines { start: 1, end: 20 },
        }],
        result_hash: Some("b".repeat(64)),
        evidence: Vec::new(),
        mutation_refs: Vec::new(),
        findings: Vec::new(),
        error: None,
        policy_decision_id: Some(DecisionId::from_string("dec_1")),
        approval_id: Some(ApprovalId::from_string("apr_1")),
        deduplicated: false,
        cleaning: Cleaning { profile: "plain".into(), version: 1, changed_leaves: 2 },
        metrics: Metrics { latency_ms: 12, upstream_ms: 9, ..Metrics::default() },
        provenance: Provenance {
            upstream: "demo".into(),
            tool: "payments_issue_refund".into(),
            protocol: "function".into(),
            content_annotations: Vec::new(),
        },
    }
}

fn artifact() -> ArtifactRef {
    ArtifactRef {
        handle: Handle::from_string("art_1"),
        artifact_id: ArtifactId::from_string("f".repeat(64)),
        kind: ArtifactKind::Text,
        media_type: "text/csv".to_owned(),
        size_bytes: 45_768,
        label: "text from reports_export_ledger".to_owned(),
        class: Class::Internal,
        created_at: AT,
    }
}

fn decision() -> Decision {
    Decision {
        policy_decision_id: DecisionId::from_string("dec_1"),
        action: DecisionAction::RequireApproval,
        reason: "refunds need a human".to_owned(),
        matched_rule_ids: vec!["refunds".to_owned()],
        policy_hash: "e".repeat(64),
        effective_mode: ApprovalMode::Destructive,
        gate: Some("GATE_FINANCE_APPROVAL".to_owned()),
        obligations: Vec::new(),
        spent: None,
        inputs_hash: "9".repeat(64),
        at: AT,
    }
}

#[test]
fn items_and_cards() {
    check(
        "item",
        &Item {
            kind: ItemKind::Tool,
            key: key(),
            ids: ItemIds {
                legacy: "payments:payments_issue_refund".to_owned(),
                canonical: "payments:payments_issue_refund#ffe601cf".to_owned(),
                wire: "mcp__demo__payments_issue_refund".to_owned(),
                capability: Some(CapabilityId::from_string("payments.issue_refund")),
            },
            namespace: "payments".to_owned(),
            name: "payments_issue_refund".to_owned(),
            title: Some("Issue Refund".to_owned()),
            description: "Issue a refund.".to_owned(),
            input_schema: (&json!({"type": "object"})).into(),
            output_schema: None,
            version: "1".to_owned(),
            hints: Hints {
                destructive: Some(true),
                cost: Some(0.5),
                extra: Map::from_iter([("vendor".to_owned(), json!("x"))]),
                ..Hints::default()
            },
            effect: EffectClaim::declared(Effect::External),
            tags: vec!["destructive".to_owned(), "mcp".to_owned()],
            icons: vec![json!({"src": "https://payments.example.com/icons/refund.png"})],
            shape_hash: "ffe601cf".to_owned(),
            full_hash: "d".repeat(64),
            findings: vec![Finding::new(Severity::Warning, "prose_only", "no output schema")],
        },
    );
    check(
        "card",
        &Card {
            id: "payments_issue_refund".to_owned(),
            name: "payments_issue_refund".to_owned(),
            description: "Issue a refund.".to_owned(),
            tags: vec!["mcp".to_owned()],
            kind: ItemKind::Tool,
            namespace: "payments".to_owned(),
            signature: "payments_issue_refund(transaction_id, amount_inr)".to_owned(),
            has_schema: true,
            score: Some(0.75),
            cost_hint: 0.0,
            side_effects: true,
            safety: Safety::Destructive,
            generation: Generation(3),
        },
    );
}

#[test]
fn envelopes_and_records() {
    check("call", &call());
    check("result", &outcome());
    check("decision", &decision());
    check(
        "record",
        &Record {
            record_id: RecordId::from_string("rec_1"),
            status: RecordStatus::Completed,
            call: call(),
            decision: Some(decision()),
            approval_id: Some(ApprovalId::from_string("apr_1")),
            result: Some(outcome()),
            answer: None,
            scorecard: None,
            redacted: false,
            replay_rule: None,
            opened_at: AT,
            closed_at: Some(AT),
            stages: vec!["resolve".into(), "grants".into()],
        },
    );
}

#[test]
fn approvals_tasks_and_evidence() {
    check(
        "approval",
        &Approval {
            approval_id: ApprovalId::from_string("apr_1"),
            gate: "GATE_FINANCE_APPROVAL".to_owned(),
            state: ApprovalState::Approved,
            subject: Subject::Call,
            subject_hash: "6".repeat(64),
            frozen_hash: "7".repeat(64),
            requested_by: "user:ann".to_owned(),
            tenant: None,
            requested_for: CallId::from_string("call_1"),
            tool: "demo/payments_issue_refund".to_owned(),
            args: json!({"amount_inr": 1499}),
            requested_at: AT,
            expires_at: AT.after(toolgate_model::limits::APPROVAL_TTL_DEFAULT),
            approver: Some("cli:bob".to_owned()),
            answered_at: Some(AT),
            reason: None,
        },
    );
    check(
        "task",
        &Task {
            task_id: "task_1".to_owned(),
            call_id: CallId::from_string("call_1"),
            state: TaskState::InputRequired,
            created_at: AT,
            updated_at: AT,
            ttl_ms: 60_000,
            poll_ms: 500,
            upstream_task_id: None,
            principal: Principal::user("ann"),
        },
    );
    let source = EvidenceSource {
        upstream: UpstreamName::from_string("demo"),
        uri: None,
        capability_id: Some(CapabilityId::from_string("payments.issue_refund")),
        call_id: CallId::from_string("call_1"),
    };
    check(
        "evidence",
        &Evidence {
            evidence_ref: evidence_ref(&source, "/refund_id", "h"),
            kind: EvidenceKind::ResultField,
            source,
            key: "refund_id".to_owned(),
            value: Some(json!("rf_1001")),
            json_pointer: Some("/refund_id".to_owned()),
            payload_hash: "h".to_owned(),
            freshness: Some(Freshness { kind: FreshnessKind::Timestamp, value: AT.to_string() }),
            class: Class::Internal,
            integrity: Integrity::Authoritative,
            instruction_treatment: InstructionTreatment::DataOnly,
        },
    );
}

#[test]
fn faults_apart_for_client_and_log() {
    let fault = Fault::new(Code::ArgsInvalid, "amount is too high")
        .logging("caller sent 90000")
        .at("payments_issue_refund")
        .with("hint", "at most 50000")
        .violating(vec![Violation {
            instance_path: "/amount_inr".to_owned(),
            schema_path: "/properties/amount_inr/maximum".to_owned(),
            message: "value is greater than the maximum of 50000".to_owned(),
        }]);
    check("fault", &Fault { log: None, ..fault.clone() });
    insta::assert_json_snapshot!("fault_for_clients", fault.to_client_json());
}
