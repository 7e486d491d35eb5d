//! The ways in which a person answers for a call, and those in which nobody can.

pub(crate) mod client;
mod whose;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use auth::{Doorkeeper, Key};
use model::{Answer, ApprovalState, Caller, Code, Fault, Principal, Secret};
use policy::Permit;
use serde_json::{Value, json};
use server::{Guard, Transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use toolgate_testkit::{Recorder, Script, TestGateway, World, capability, manifest, tool};
use upstream::{Connector, Egress, Errand, Webhook};

use crate::{code, mcp};
use client::Client;

fn gate(recorder: &Recorder) -> TestGateway {
    before(recorder.clone())
}

fn before(bank: impl Connector + 'static) -> TestGateway {
    let binding =
        json!({"class": "act", "approval_mode": "destructive", "requires_gate": "GATE_MONEY"});
    TestGateway::new()
        .upstream("bank", bank)
        .manifest("bank", manifest([capability("bank.pay", "pay", binding)]))
        .settings(|settings| {
            settings.mode = gateway::Mode::Native;
            settings.ask_client = true;
        })
}

fn bank() -> Recorder {
    Recorder::one("pay", Script::Echo)
}

const ERAS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// CO-97, CO-208: the person at the client says yes, and the same call goes on to its end.
#[tokio::test]
async fn the_person_at_the_client_lets_the_call_go_ahead() {
    for era in ERAS {
        let recorder = bank();
        let world = gate(&recorder).start().await;
        let mut client = Client::connect(&world, era, json!({"elicitation": {}})).await;
        let yes = json!({"action": "accept", "content": {"decision": "approve", "reason": "fine"}});
        let (asked, answer) = client.call("pay", json!({"amount": 5}), yes).await;
        let asked = asked.expect("somebody was asked");
        assert_eq!(asked["method"], "elicitation/create", "{era}");
        let message = asked["params"]["message"].as_str().unwrap();
        assert!(message.contains("bank/pay") && message.contains("\"amount\": 5"), "{message}");
        assert_eq!(answer["result"]["structuredContent"], json!({"amount": 5}), "{era}: {answer}");
        assert_eq!(recorder.count(), 1);
        let approval = world.gateway.approvals(None).await.unwrap().remove(0);
        assert_eq!(approval.state, ApprovalState::Redeemed);
        assert_eq!(approval.approver.as_deref(), Some("client:user:local"));
        assert_eq!(approval.reason.as_deref(), Some("fine"));
    }
}

/// CO-208: a no is a no, and a form that was put away leaves the question open.
#[tokio::test]
async fn a_declined_form_refuses_and_one_put_away_leaves_the_question_open() {
    for era in ERAS {
        let check = async |said: Value, state: ApprovalState, part: &str| {
            let recorder = bank();
            let world = gate(&recorder).start().await;
            let mut client = Client::connect(&world, era, json!({"elicitation": {}})).await;
            let (_, answer) = client.call("pay", json!({"amount": 5}), said).await;
            assert!(answer.to_string().contains(part), "{era}: {answer}");
            assert_eq!(recorder.count(), 0);
            let approval = world.gateway.approvals(None).await.unwrap().remove(0);
            assert_eq!(approval.state, state, "{era}");
        };
        let (rejected, pending) = (ApprovalState::Rejected, ApprovalState::Pending);
        check(json!({"action": "decline"}), rejected, "APPROVAL_REJECTED").await;
        let no =
            json!({"action": "accept", "content": {"decision": "reject", "reason": "no money"}});
        check(no, rejected, "no money").await;
        check(json!({"action": "cancel"}), pending, "APPROVAL_PENDING").await;
        let nonsense = json!({"action": "accept", "content": {"decision": 7}});
        check(nonsense, pending, "APPROVAL_PENDING").await;
    }
}

/// A client that cannot ask, a gate that is set not to, and a policy that forbids it: nobody is asked.
#[tokio::test]
async fn nobody_is_asked_at_the_client_where_that_is_not_offered() {
    let check = async |able: Value, ask_client: bool, policy: &str| {
        let recorder = bank();
        let gate = gate(&recorder).policy(policy);
        let world = gate.settings(|settings| settings.ask_client = ask_client).start().await;
        let mut client = Client::connect(&world, "2025-11-25", able).await;
        let yes = json!({"action": "accept", "content": {"decision": "approve"}});
        let (asked, answer) = client.call("pay", json!({"amount": 5}), yes).await;
        assert_eq!(asked, None);
        assert!(answer.to_string().contains("APPROVAL_PENDING"), "{answer}");
        assert_eq!(recorder.count(), 0);
    };
    let all = "permit(principal, action, resource);";
    check(json!({}), true, all).await;
    check(json!({"elicitation": {}}), false, all).await;
    let others = "permit(principal, action, resource);
        forbid(principal, action == Action::\"approve\", resource);";
    check(json!({"elicitation": {}}), true, others).await;
}

/// A bank that may stop offering what it offered.
#[derive(Clone, Debug)]
struct Closing {
    bank: Recorder,
    closed: Arc<AtomicBool>,
}

#[async_trait]
impl Connector for Closing {
    fn protocol(&self) -> &'static str {
        "custom"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        if self.closed.load(Ordering::SeqCst) {
            return Ok(vec![tool("other", json!({}))]);
        }
        self.bank.list().await
    }

    async fn call(&self, permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
        self.bank.call(permit, errand).await
    }
}

/// E2: the same for a tool that is gone.
#[tokio::test]
async fn an_answer_that_comes_after_the_tool_has_gone_releases_nothing() {
    let recorder = bank();
    let closing = Closing { bank: recorder.clone(), closed: Arc::default() };
    let world = before(closing.clone()).start().await;
    let mut client = Client::connect(&world, "2025-11-25", json!({"elicitation": {}})).await;
    let question = client.begin("pay", json!({"amount": 5})).await;
    closing.closed.store(true, Ordering::SeqCst);
    world.gateway.refresh().await;
    let yes = json!({"action": "accept", "content": {"decision": "approve"}});
    let answer = client.reply(&question, yes).await;
    assert!(answer.to_string().contains("changed while somebody was asked"), "{answer}");
    assert_eq!(recorder.count(), 0);
}

/// E2: what was asked about must still be so when the answer comes.
#[tokio::test]
async fn an_answer_that_comes_after_the_policy_changed_releases_nothing() {
    let recorder = bank();
    let world = gate(&recorder).start().await;
    let mut client = Client::connect(&world, "2025-11-25", json!({"elicitation": {}})).await;
    let question = client.begin("pay", json!({"amount": 5})).await;
    let rules = "permit(principal, action, resource); // another";
    world.gateway.swap_rules(policy::Rules::parse("new", rules).unwrap());
    let yes = json!({"action": "accept", "content": {"decision": "approve"}});
    let answer = client.reply(&question, yes).await;
    assert!(answer.to_string().contains("changed while somebody was asked"), "{answer}");
    assert_eq!(recorder.count(), 0);
}

/// Keys of an agent, of ann who may answer, of bob who may not, and of two who may for their tenants.
fn door() -> Doorkeeper {
    let key = |name: &str, approver: bool, tenant: Option<&str>| Key {
        token: Secret::new(format!("token-of-{name}")),
        approver,
        caller: Caller::new(Principal {
            tenant_id: tenant.map(str::to_owned),
            ..Principal::user(name)
        }),
    };
    let nobodys = [key("agent", true, None), key("ann", true, None), key("bob", false, None)];
    let tenants = [key("nora", true, Some("north")), key("sam", true, Some("south"))];
    Doorkeeper::new(nobodys.into_iter().chain(tenants).collect(), Vec::new())
}

/// One request to the gate's HTTP door: its status and body.
async fn http(
    world: &World,
    method: &str,
    path: &str,
    token: &str,
    body: (&str, &str),
) -> (u16, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let guard = Guard::new(to, &[], &[]);
    let mcp = mcp(world, door());
    let serving = server::serve(mcp, Transport::Streamable, listener, guard, stop.clone());
    let serving = tokio::spawn(serving);
    let (kind, body) = body;
    let bearer =
        if token.is_empty() { String::new() } else { format!("authorization: Bearer {token}\r\n") };
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {to}\r\nconnection: close\r\n{bearer}\
         content-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(to).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).await.unwrap();
    stop.cancel();
    serving.await.unwrap().unwrap();
    let status = heard.split(' ').nth(1).unwrap().parse().unwrap();
    (status, heard.split_once("\r\n\r\n").unwrap().1.to_owned())
}

const JSON: &str = "application/json";

/// A question by the agent, and the id it is known by.
async fn asked(world: &World) -> String {
    let done = world.call_as(Principal::user("agent"), "pay", json!({"amount": 5})).await;
    assert_eq!(code(&done), Some(Code::ApprovalPending));
    done.result.unwrap().approval_id.unwrap().to_string()
}

#[tokio::test]
async fn over_http_only_an_approver_sees_and_answers_and_never_for_themselves() {
    let recorder = bank();
    let world = gate(&recorder).start().await;
    let id = asked(&world).await;
    let approve = format!("/admin/approvals/{id}/approve");
    let one = format!("/admin/approvals/{id}");
    let check = async |method: &str, path: &str, token: &str, body: (&str, &str), wanted: u16| {
        let (status, said) = http(&world, method, path, token, body).await;
        assert_eq!(status, wanted, "{method} {path} {token}: {said}");
        said
    };
    let nothing = (JSON, "");
    for path in ["/admin/approvals", &one] {
        check("GET", path, "", nothing, 401).await;
        check("GET", path, "token-of-nobody", nothing, 401).await;
        check("GET", path, "token-of-bob", nothing, 403).await;
    }
    let listed = check("GET", "/admin/approvals", "token-of-ann", nothing, 200).await;
    assert!(listed.contains(&id) && listed.contains("\"amount\":5"), "{listed}");
    check("POST", &approve, "token-of-bob", nothing, 403).await;
    let own = check("POST", &approve, "token-of-agent", nothing, 403).await;
    assert!(own.contains("nobody answers their own question"), "{own}");
    check("POST", &approve, "token-of-ann", ("text/plain", ""), 400).await;
    check("POST", &approve, "token-of-ann", (JSON, "{\"why\": 1}"), 400).await;
    check("GET", "/admin/approvals/apr_none", "token-of-ann", nothing, 404).await;
    check("PUT", &one, "token-of-ann", nothing, 404).await;
    let said = check("POST", &approve, "token-of-ann", (JSON, "{\"reason\": \"fine\"}"), 200).await;
    assert!(said.contains("\"approver\":\"user:ann\"") && said.contains("approved"), "{said}");
    check("POST", &approve, "token-of-ann", nothing, 409).await;
    let done = world.call_as(Principal::user("agent"), "pay", json!({"amount": 5})).await;
    assert_eq!((code(&done), recorder.count()), (None, 1));
}

/// What policy keeps somebody from answering does not exist for them.
#[tokio::test]
async fn who_may_not_approve_a_tool_sees_no_question_about_it() {
    let recorder = bank();
    let gate = gate(&recorder).policy(
        "permit(principal, action, resource);
         forbid(principal == User::\"ann\", action == Action::\"approve\", resource);",
    );
    let world = gate.start().await;
    let id = asked(&world).await;
    let one = format!("/admin/approvals/{id}");
    let (status, foreign) = http(&world, "GET", &one, "token-of-ann", (JSON, "")).await;
    let (_, unknown) =
        http(&world, "GET", "/admin/approvals/apr_x", "token-of-ann", (JSON, "")).await;
    assert_eq!((status, foreign.replace(&id, "apr_x")), (404, unknown));
    let (_, listed) = http(&world, "GET", "/admin/approvals", "token-of-ann", (JSON, "")).await;
    assert_eq!(listed.trim(), "{\"approvals\":[]}");
}

#[tokio::test]
async fn the_page_tells_nothing_without_a_token_and_takes_an_answer_with_one() {
    let recorder = bank();
    let page = Some("https://gate.example/approvals".to_owned());
    let gate = gate(&recorder).settings(|settings| settings.approval_page = page);
    let world = gate.start().await;
    let args = json!({"to": "<script>alert(1)</script>"});
    let done = world.call_as(Principal::user("agent"), "pay", args.clone()).await;
    let fault = done.fault.unwrap();
    let url = fault.details["url"].as_str().unwrap().to_owned();
    let path = url.strip_prefix("https://gate.example").unwrap();
    let form = "application/x-www-form-urlencoded";
    let (status, blank) = http(&world, "GET", path, "", (form, "")).await;
    assert_eq!(status, 200);
    assert!(!blank.contains("bank/pay") && !blank.contains("script"), "{blank}");
    let say = async |fields: &str, wanted: u16| {
        let (status, said) = http(&world, "POST", path, "", (form, fields)).await;
        assert_eq!(status, wanted, "{said}");
        said
    };
    say("token=wrong&decision=approve", 401).await;
    say("token=token-of-bob&decision=approve", 403).await;
    say("token=token-of-agent&decision=approve", 403).await;
    let shown = say("token=token-of-ann&decision=show", 200).await;
    assert!(shown.contains("bank/pay") && shown.contains("&lt;script&gt;"), "{shown}");
    let answered = say("token=token-of-ann&decision=approve&reason=ok", 200).await;
    assert!(answered.contains("user:ann"), "{answered}");
    let done = world.call_as(Principal::user("agent"), "pay", args).await;
    assert_eq!((code(&done), recorder.count()), (None, 1));
}

/// A webhook is told of a question once, and signed.
#[tokio::test]
async fn a_webhook_is_told_of_a_new_question_once() {
    let (url, mut heard) = client::receiver().await;
    let key = Some(Secret::new("k3y"));
    let webhook = Webhook::new(&url, key, client::PATIENCE, &Egress::Open).unwrap();
    let recorder = bank();
    let gate = gate(&recorder);
    let hook = Some(Arc::new(webhook));
    let world = gate.settings(|settings| settings.approval_webhook = hook).start().await;
    let id = asked(&world).await;
    let (signature, body) = heard.recv().await.unwrap();
    let wanted = format!("sha256={}", auth::sign(&Secret::new("k3y"), body.as_bytes()));
    assert_eq!(signature, wanted);
    let told: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(told["event"], "approval.requested");
    assert_eq!(told["approval"]["approval_id"], id.as_str());
    assert_eq!(asked(&world).await, id);
    world.gateway.close(client::PATIENCE).await;
    assert!(heard.try_recv().is_err(), "the same question is told once");
}

/// A6: the person at the client sees what cannot be seen.
#[tokio::test]
async fn a_form_shows_what_is_hidden_in_the_arguments() {
    let recorder = bank();
    let world = gate(&recorder).start().await;
    let mut client = Client::connect(&world, "2025-11-25", json!({"elicitation": {}})).await;
    let no = json!({"action": "decline"});
    let (asked, _) = client.call("pay", json!({"to": "ann\u{202e}bob\u{200b}"}), no).await;
    let asked = asked.unwrap();
    let message = asked["params"]["message"].as_str().unwrap();
    assert!(message.contains("ann\\u202ebob\\u200b"), "{message}");
}
