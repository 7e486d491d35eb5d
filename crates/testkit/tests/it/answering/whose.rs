//! Whose question it is to answer: the tenant's of whoever asks, and of every kind of thing.

use gateway::CallRequest;
use model::{Code, Method, Principal};
use serde_json::json;
use toolgate_testkit::{TestGateway, World};

use super::{JSON, bank, gate, http};
use crate::code;
use crate::resources::Library;

fn of(tenant: &str, name: &str) -> Principal {
    Principal { tenant_id: Some(tenant.to_owned()), ..Principal::user(name) }
}

/// E2: another tenant's people neither see a question nor answer it; the operator's do both.
#[tokio::test]
async fn a_question_is_seen_and_answered_within_its_tenant_and_by_the_operator() {
    let recorder = bank();
    let world = gate(&recorder).start().await;
    let pay = async |who: Principal| world.call_as(who, "pay", json!({"amount": 5})).await;
    let done = pay(of("north", "agent")).await;
    assert_eq!(code(&done), Some(Code::ApprovalPending));
    let id = done.result.unwrap().approval_id.unwrap().to_string();
    let one = format!("/admin/approvals/{id}");
    let (approve, page) = (format!("{one}/approve"), format!("/approvals/{id}"));
    for token in ["token-of-nora", "token-of-ann"] {
        for path in ["/admin/approvals", &one] {
            let (status, said) = http(&world, "GET", path, token, (JSON, "")).await;
            assert!(status == 200 && said.contains(&id), "{token} {path}: {said}");
        }
    }
    let foreign = "token-of-sam";
    let (_, listed) = http(&world, "GET", "/admin/approvals", foreign, (JSON, "")).await;
    assert_eq!(listed.trim(), "{\"approvals\":[]}");
    for (method, path) in [("GET", &one), ("POST", &approve)] {
        let (status, said) = http(&world, method, path, foreign, (JSON, "")).await;
        assert_eq!(status, 404, "{method} {path}: {said}");
    }
    let form = ("application/x-www-form-urlencoded", "token=token-of-sam&decision=approve");
    assert_eq!(http(&world, "POST", &page, "", form).await.0, 404);
    assert_eq!(code(&pay(of("north", "agent")).await), Some(Code::ApprovalPending));
    assert_eq!(http(&world, "POST", &approve, "token-of-nora", (JSON, "")).await.0, 200);
    // A namesake elsewhere has nothing of it.
    assert_eq!(code(&pay(of("south", "agent")).await), Some(Code::ApprovalPending));
    assert_eq!(recorder.count(), 0);
    assert_eq!(code(&pay(of("north", "agent")).await), None);
    assert_eq!(recorder.count(), 1);
}

/// A read and a prompt wait for people like a call does, and are found where calls are.
#[tokio::test]
async fn a_question_about_a_read_or_a_prompt_is_seen_and_answered() {
    let check = async |method: Method, name: &str| {
        let policy = "@id(\"all\") permit(principal, action, resource);
            @gate(\"OPS\") permit(principal, action in [Action::\"read\", Action::\"get_prompt\"], resource);
            forbid(principal, action == Action::\"approve\", resource is Resource)
            unless { context.arguments has uri && context.arguments.uri == \"docs://policy/7\" };";
        let gate = TestGateway::new().upstream("docs", Library).policy(policy);
        let world = gate.start().await;
        let request = || CallRequest { method: method.clone(), ..World::request(name, json!({})) };
        let done = world.send(request()).await;
        assert_eq!(code(&done), Some(Code::ApprovalPending), "{name}");
        let id = done.result.unwrap().approval_id.unwrap().to_string();
        let one = format!("/admin/approvals/{id}");
        for path in ["/admin/approvals", &one] {
            let (status, said) = http(&world, "GET", path, "token-of-agent", (JSON, "")).await;
            assert!(status == 200 && said.contains(&id), "{name} {path}: {said}");
        }
        let approve = format!("{one}/approve");
        assert_eq!(http(&world, "POST", &approve, "token-of-agent", (JSON, "")).await.0, 200);
        assert_eq!(code(&world.send(request()).await), None, "{name}");
    };
    check(Method::ReadResource, "docs://policy/7").await;
    check(Method::GetPrompt, "greet").await;
}
