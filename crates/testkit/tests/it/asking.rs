//! What upstreams ask of clients, and what becomes of it: passed on, held back, counted, recorded.

use gateway::{CallRequest, News, Watch};
use model::fault::WireError;
use model::run::RunBudget;
use model::{Client, Code, Finding};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::mpsc;
use toolgate_testkit::{Asker, TestGateway, World, capability, manifest};

/// A manifest of `asker` with more in it.
fn declaring(more: &Value) -> Value {
    let binding = json!({"class": "observe", "approval_mode": "read_only"});
    let mut manifest = manifest([capability("it.ask", "ask", binding)]);
    manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    manifest
}

struct Asked {
    /// What reached the client.
    reached: Vec<String>,
    /// What the upstream heard, question by question.
    heard: Vec<Result<Value, WireError>>,
    findings: Vec<Finding>,
}

/// Lets an upstream ask all these of a client that answers each with `said`.
async fn ask(gate: TestGateway, questions: Vec<(&str, Value)>, said: Value) -> Asked {
    let asker = Asker::new(questions);
    let world = gate.upstream("it", asker.clone()).start().await;
    let able = json!({"elicitation": {"url": {}}, "sampling": {"tools": {}}, "roots": {}});
    let client = Client { capabilities: able.as_object().cloned().unwrap(), ..Client::default() };
    let request = CallRequest {
        client: Arc::new(client),
        run_id: Some("r1".to_owned()),
        ..World::request("ask", json!({}))
    };
    let (news, mut heard) = mpsc::channel(16);
    let running = world.spawn(request, Watch { news: Some(news), ..Watch::default() });
    let mut reached = Vec::new();
    while let Some(news) = heard.recv().await {
        if let News::Question(question) = news {
            reached.push(question.method.clone());
            question.reply.send(Ok(said.clone())).unwrap();
        }
    }
    running.await.unwrap();
    let record = world.last_record().await;
    let findings = record.result.unwrap().findings;
    Asked { reached, heard: asker.heard(), findings }
}

fn form(field: &str) -> (&'static str, Value) {
    let schema = json!({"type": "object", "properties": {field: {"type": "string"}}});
    ("elicitation/create", json!({"message": "?", "requestedSchema": schema}))
}

fn sample() -> (&'static str, Value) {
    let message = json!({"role": "user", "content": {"type": "text", "text": "hi"}});
    ("sampling/createMessage", json!({"messages": [message], "maxTokens": 9}))
}

fn roots() -> (&'static str, Value) {
    ("roots/list", json!({}))
}

/// In `production`: nothing is passed on that no manifest declares.
fn strict() -> TestGateway {
    TestGateway::new().settings(|settings| settings.undeclared_asks = false)
}

/// CO-29: off unless declared, each for itself.
#[tokio::test]
async fn an_upstream_asks_only_what_its_manifest_declares() {
    let check = async |more: Value, wanted: &[&str]| {
        let gate = strict().manifest("it", declaring(&more));
        let questions = vec![form("city"), sample(), roots()];
        let asked = ask(gate, questions, json!({"action": "decline"})).await;
        assert_eq!(asked.reached, wanted, "{more}");
        let refused = asked.heard.iter().filter(|heard| heard.is_err()).count();
        assert_eq!(refused, 3 - wanted.len(), "{more}");
    };
    check(json!({}), &[]).await;
    check(json!({"elicitation": {"form": true}}), &["elicitation/create"]).await;
    check(json!({"sampling": {"declared": true}}), &["sampling/createMessage"]).await;
    check(json!({"sandbox": {"fs_read": ["/workspace"]}}), &["roots/list"]).await;
}

/// In `dev`, what nobody declared is passed on like the tools nobody declared; what is declared is
/// held to its word.
#[tokio::test]
async fn where_undeclared_tools_are_callable_their_questions_pass() {
    let asked = ask(TestGateway::new(), vec![form("city"), sample(), roots()], json!({})).await;
    assert_eq!(asked.reached.len(), 3);
    let gate = TestGateway::new().manifest("it", declaring(&json!({"elicitation": {}})));
    assert!(ask(gate, vec![form("city")], json!({})).await.reached.is_empty());
}

/// CO-96, CO-97: asked and answered, it is on record, and so is what was not passed on.
#[tokio::test]
async fn every_question_is_on_record() {
    let said = json!({"action": "accept", "content": {"city": "Oslo"}});
    let asked = ask(TestGateway::new(), vec![form("city"), form("password")], said.clone()).await;
    assert_eq!(asked.heard.first().unwrap().as_ref().unwrap(), &said);
    let told: Vec<&str> = asked.findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        told,
        [
            "asked `elicitation/create`",
            "`elicitation/create` was answered: accept",
            "not asked `elicitation/create`: its field `password` asks for a secret",
        ]
    );
}

/// CO-97, CO-178: a manifest's bound and a run's budget both hold.
#[tokio::test]
async fn questions_have_an_end() {
    let rule = json!({"elicitation": {"form": true, "max_per_run": 2}});
    let gate = strict().manifest("it", declaring(&rule));
    let asked = ask(gate, vec![form("a"), form("b"), form("c")], json!({"action": "cancel"})).await;
    assert_eq!(asked.reached.len(), 2);
    let gate = TestGateway::new().settings(|settings| {
        settings.runs.budget = RunBudget { max_samples: Some(1), ..RunBudget::default() };
    });
    let asked = ask(gate, vec![sample(), sample(), form("a")], json!({})).await;
    assert_eq!(asked.reached, ["sampling/createMessage", "elicitation/create"]);
    let rule = json!({"sampling": {"declared": true, "max_iterations": 1}});
    let gate = strict().manifest("it", declaring(&rule));
    assert_eq!(ask(gate, vec![sample(), sample()], json!({})).await.reached.len(), 1);
}

/// CO-208: an answer that does not fit the form does not reach the upstream.
#[tokio::test]
async fn an_answer_that_does_not_fit_the_form_is_not_passed_back() {
    let said = json!({"action": "accept", "content": {"city": 7}});
    let asked = ask(TestGateway::new(), vec![form("city")], said).await;
    let error = asked.heard.first().unwrap().as_ref().unwrap_err();
    assert!(error.message.contains("does not fit the form"), "{error:?}");
}

/// CO-27, CO-95: folders are cut to what is declared, and a call in them is judged all the same.
#[tokio::test]
async fn a_folder_is_no_leave() {
    let sandbox = json!({"sandbox": {"fs_read": ["/workspace"]}});
    let gate = strict().manifest("it", declaring(&sandbox));
    let said = json!({"roots": [{"uri": "file:///workspace/app"}, {"uri": "file:///etc"}]});
    let asked = ask(gate, vec![roots()], said).await;
    let given = asked.heard.first().unwrap().as_ref().unwrap();
    assert_eq!(given, &json!({"roots": [{"uri": "file:///workspace/app"}]}));

    let recorder = toolgate_testkit::Recorder::one("read", toolgate_testkit::Script::Echo);
    let policy = "permit(principal, action, resource);
        forbid(principal, action == Action::\"call\", resource)
        when { context.arguments has path && context.arguments.path like \"/workspace/secret*\" };";
    let world = TestGateway::new().upstream("fs", recorder.clone()).policy(policy).start().await;
    let done = world.call("read", json!({"path": "/workspace/secret/key"})).await;
    assert_eq!((crate::code(&done), recorder.count()), (Some(Code::PolicyDenied), 0));
}

/// A 2026-07-28 server asks by an answer that is not the last; the same rules hold.
#[tokio::test]
async fn a_question_within_an_answer_is_judged_too() {
    let interim = json!({
        "resultType": "input_required",
        "inputRequests": {"q": {"method": "elicitation/create", "params": form("password").1}},
        "requestState": "s",
    });
    let answer = model::Answer::read(interim).unwrap();
    let recorder = toolgate_testkit::Recorder::one("ask", toolgate_testkit::Script::Answer(answer));
    let world = TestGateway::new().upstream("it", recorder).start().await;
    let done = world.send(World::request("ask", json!({}))).await;
    let fault = done.fault.unwrap();
    assert_eq!(fault.code, Code::UpstreamError);
    assert!(fault.message.contains("asks for a secret"), "{fault}");
}
