//! What upstreams ask of clients, and what becomes of it: passed on, held back, counted, recorded.

use gateway::queue::queue;
use gateway::{CallRequest, News, Watch};
use model::fault::WireError;
use model::run::RunBudget;
use model::{ApprovalId, ApprovalState, Client, Code, Finding, Subject};
use serde_json::{Value, json};
use std::sync::Arc;
use store::Verdict;
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
    /// With which parameters the client was asked.
    params: Vec<Value>,
    /// The gate's own questions, in the end.
    left: Vec<(ApprovalId, ApprovalState)>,
    /// The one that was answered.
    answered: Option<ApprovalId>,
}

/// Lets an upstream ask all these of a client that answers each with `said`.
async fn ask(gate: TestGateway, questions: Vec<(&str, Value)>, said: Value) -> Asked {
    ask_watched(gate, questions, said, None).await
}

/// The same with somebody who answers the one question of the gate's own, if there is one.
async fn ask_watched(
    gate: TestGateway,
    questions: Vec<(&str, Value)>,
    said: Value,
    approved: Option<bool>,
) -> Asked {
    let asker = Asker::new(questions);
    let world = gate.upstream("it", asker.clone()).start().await;
    let gateway = Arc::clone(&world.gateway);
    let person = approved.map(|approved| {
        tokio::spawn(async move {
            let id = loop {
                let asked = gateway.approvals(Some(ApprovalState::Pending)).await.unwrap();
                if let Some(asked) = asked.first() {
                    assert_eq!(asked.subject, Subject::Sampling);
                    assert_eq!(
                        (asked.tool.as_str(), asked.args.get("maxTokens").unwrap()),
                        ("it/ask", &json!(9))
                    );
                    break asked.approval_id.clone();
                }
                tokio::task::yield_now().await;
            };
            let reason = Some("not today".to_owned());
            let verdict = Verdict { approved, approver: "user:bob".to_owned(), reason };
            gateway.answer(id.as_str(), verdict).await.unwrap()
        })
    });
    let able = json!({"elicitation": {"url": {}}, "sampling": {"tools": {}}, "roots": {}});
    let client = Client { capabilities: able.as_object().cloned().unwrap(), ..Client::default() };
    let request = CallRequest {
        client: Arc::new(client),
        run_id: Some("r1".to_owned()),
        ..World::request("ask", json!({}))
    };
    let (news, mut heard) = queue(16);
    let running = world.spawn(request, Watch { news: Some(news), ..Watch::default() });
    let (mut reached, mut params) = (Vec::new(), Vec::new());
    while let Some(news) = heard.recv().await {
        if let News::Question(question) = news {
            reached.push(question.method.clone());
            params.push(Value::Object(question.params.get().clone()));
            question.reply.send(Ok(said.clone())).unwrap();
        }
    }
    running.await.unwrap();
    let answered = match person {
        Some(person) => Some(person.await.unwrap().approval_id),
        None => None,
    };
    let left = world.gateway.approvals(None).await.unwrap();
    let left = left.into_iter().map(|approval| (approval.approval_id, approval.state)).collect();
    let record = world.last_record().await;
    let findings = record.result.unwrap().findings;
    Asked { reached, params, heard: asker.heard(), findings, left, answered }
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

/// Sampling as `production` wants it declared, with nobody who looks at it.
fn unseen() -> Value {
    json!({"declared": true, "max_per_run": 5, "review": "never", "eval_ref": "goldenset://a.v1"})
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
        let asked = Box::pin(ask(gate, questions, json!({"action": "decline"}))).await;
        assert_eq!(asked.reached, wanted, "{more}");
        let refused = asked.heard.iter().filter(|heard| heard.is_err()).count();
        assert_eq!(refused, 3 - wanted.len(), "{more}");
    };
    check(json!({}), &[]).await;
    check(json!({"elicitation": {"form": true}}), &["elicitation/create"]).await;
    check(json!({"sampling": unseen()}), &["sampling/createMessage"]).await;
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

/// CO-96, CO-97, CO-171: asked and answered by the person, it is on record, and so is what was not passed on.
#[tokio::test]
async fn every_question_is_on_record() {
    let said = json!({"action": "accept", "content": {"city": "Oslo"}});
    let asked = ask(TestGateway::new(), vec![form("city"), form("password")], said.clone()).await;
    assert_eq!(asked.heard.first().unwrap().as_ref().unwrap(), &said);
    let told: Vec<&str> = asked.findings.iter().map(|finding| finding.message.as_str()).collect();
    let hash = model::canonical::hash(&form("city").1);
    let asked_form = format!("asked `elicitation/create`, saying `?`, parameters {hash}");
    assert_eq!(
        told,
        [
            asked_form.as_str(),
            "`elicitation/create` was answered: accept",
            "not asked `elicitation/create`: its field `password` asks for a secret",
        ]
    );
}

/// CO-96, CO-97: where a person was sent and which model was asked is on record, without secrets.
#[tokio::test]
async fn the_record_tells_what_was_asked_of_whom() {
    let check = async |method: &'static str, params: Value, said: Value, parts: [&str; 2]| {
        let asked = ask(TestGateway::new(), vec![(method, params.clone())], said).await;
        let told: Vec<&str> = asked.findings.iter().map(|f| f.message.as_str()).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(parts.iter().zip(&told).all(|(part, told)| told.contains(part)), "{told:?}");
        assert!(told[0].ends_with(&model::canonical::hash(&params)), "{told:?}");
        assert!(!told.concat().contains("sk-ant-"), "{told:?}");
    };
    let link = json!({"mode": "url", "url": "https://id.example/a?flow=1", "message": "Go",
        "elicitationId": "e1"});
    let parts = ["saying `Go`, at `https://id.example/a?flow=1`, parameters ", "answered: accept"];
    check("elicitation/create", link, json!({"action": "accept"}), parts).await;
    let (method, mut params) = sample();
    params["modelPreferences"] = json!({"hints": [{"name": "small"}]});
    let parts = ["of model `small`", "by model `small-1`"];
    check(method, params, json!({"model": "small-1"}), parts).await;
    let (method, mut params) = form("city");
    params["message"] = format!("use sk-ant-api03-{}", "a".repeat(93)).into();
    check(method, params, json!({"action": "cancel"}), ["saying `use ", "cancel"]).await;
}

/// CO-96: a call that only read leaves a record all the same if somebody was asked in it.
#[tokio::test]
async fn what_was_asked_is_on_record_where_reads_leave_none() {
    let gate = || TestGateway::new().settings(|settings| settings.reads = gateway::Reads::Skip);
    let binding = declaring(&json!({"elicitation": {"form": true}}));
    let asked = ask(gate().manifest("it", binding), vec![form("city")], json!({})).await;
    assert_eq!(asked.findings.len(), 2);
}

/// CO-178: an upstream that asks without end, in one call, is heard so often and no more, and its
/// record has an end too.
#[tokio::test]
async fn a_flood_of_questions_ends_and_so_does_its_record() {
    let questions = vec![form("city"); 200];
    let asked = ask(TestGateway::new(), questions, json!({"action": "cancel"})).await;
    assert_eq!(asked.reached.len(), 64);
    let refused = asked.heard.iter().filter(|heard| heard.is_err()).count();
    assert_eq!(refused, 200 - 64);
    assert_eq!(asked.findings.len(), 65);
    assert!(asked.findings[64].message.contains("more was asked"), "{:?}", asked.findings[64]);
}

/// CO-178: the same where each question is a round: the client comes back with its answers, and an
/// upstream that always has one more is refused, whether it keeps a state or not.
#[tokio::test]
async fn rounds_have_an_end_wherever_the_client_takes_part_in_them() {
    let check = async |state: Option<&str>, question: (&str, Value), rule: Value, wanted: u32| {
        let mut interim = json!({
            "resultType": "input_required",
            "inputRequests": {"q": {"method": question.0, "params": question.1}},
        });
        if let Some(state) = state {
            interim["requestState"] = state.into();
        }
        let answer = model::Answer::read(interim).unwrap();
        let script = toolgate_testkit::Script::Answer(answer);
        let recorder = toolgate_testkit::Recorder::one("ask", script);
        let gate = TestGateway::new().upstream("it", recorder.clone());
        let world = gate.manifest("it", declaring(&rule)).start().await;
        let able = json!({"elicitation": {}, "sampling": {}});
        let capabilities = able.as_object().cloned().unwrap();
        let client = Arc::new(Client { capabilities, rounds: true, ..Client::default() });
        let request =
            || CallRequest { client: Arc::clone(&client), ..World::request("ask", json!({})) };
        let mut next = request();
        for round in 0.. {
            let done = world.send(next).await;
            let Some(fault) = done.fault else {
                let rest = &done.cleared.get().rest;
                let said = json!({"q": {"action": "cancel", "model": "m"}});
                next = request();
                match rest.get("requestState").and_then(Value::as_str) {
                    Some(ours) => {
                        let opened = world.gateway.open_round(ours, &mut next, Some(said)).await;
                        opened.unwrap();
                    }
                    None => drop(next.params.insert("inputResponses".to_owned(), said)),
                }
                continue;
            };
            assert_eq!((fault.code, round), (Code::UpstreamError, wanted), "{fault}");
            return;
        }
    };
    let forms = || json!({"elicitation": {"form": true}});
    check(Some("s"), form("city"), forms(), 16).await;
    check(None, form("city"), forms(), 16).await;
    let samples = json!({"sampling": {"declared": true, "review": "never", "max_iterations": 3}});
    check(Some("s"), sample(), samples.clone(), 3).await;
    check(None, sample(), samples, 3).await;
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
    let mut rule = unseen();
    rule["max_iterations"] = 1.into();
    let rule = json!({"sampling": rule});
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

/// CO-28, CO-180: where the manifest wants it, a person's yes comes before the client's model.
#[tokio::test]
async fn a_person_looks_at_what_a_model_is_asked() {
    for (approved, state) in [(true, ApprovalState::Redeemed), (false, ApprovalState::Rejected)] {
        let mut rule = unseen();
        rule["review"] = "always".into();
        let gate = strict().manifest("it", declaring(&json!({"sampling": rule})));
        let said = json!({"model": "m", "role": "assistant"});
        let asked = ask_watched(gate, vec![sample()], said.clone(), Some(approved)).await;
        let id = asked.answered.unwrap();
        assert_eq!(asked.left, [(id.clone(), state)]);
        assert_eq!(asked.reached.len(), usize::from(approved));
        let told: Vec<&str> = asked.findings.iter().map(|f| f.message.as_str()).collect();
        let heard = asked.heard.first().unwrap();
        if approved {
            assert_eq!(heard.as_ref().unwrap(), &said);
            let passed =
                format!("`sampling/createMessage` was let pass by `user:bob`: approval {id}");
            assert_eq!(told.first().copied(), Some(passed.as_str()));
        } else {
            assert!(heard.as_ref().unwrap_err().message.contains("refused it: not today"));
            let kept = "not asked `sampling/createMessage`: a human refused it: not today";
            assert_eq!(told, [kept]);
        }
    }
}

/// CO-179: the manifest's models are asked for, whatever the upstream prefers, and answer alone.
#[tokio::test]
async fn the_manifest_says_which_models_are_asked() {
    let mut rule = unseen();
    rule["models"] = json!(["small"]);
    let (method, mut params) = sample();
    params["modelPreferences"] = json!({"hints": [{"name": "huge"}], "speedPriority": 0});
    let gate = || strict().manifest("it", declaring(&json!({"sampling": rule.clone()})));
    let asked = ask(gate(), vec![(method, params.clone())], json!({"model": "small-1"})).await;
    let preferred = &asked.params.first().unwrap()["modelPreferences"];
    assert_eq!(preferred, &json!({"hints": [{"name": "small"}]}));
    assert!(asked.heard.first().unwrap().is_ok());
    let asked = ask(gate(), vec![(method, params)], json!({"model": "huge-1"})).await;
    assert!(asked.heard.first().unwrap().as_ref().unwrap_err().message.contains("`huge-1`"));
}

/// CO-175: what is declared and nothing more is not asked in `production`, and the record says why.
#[tokio::test]
async fn a_model_is_asked_only_under_budget_record_and_evaluation() {
    let check = async |without: &str, gate: TestGateway, part: &str| {
        let mut rule = unseen();
        rule.as_object_mut().unwrap().remove(without);
        let gate = gate.manifest("it", declaring(&json!({"sampling": rule})));
        let asked = ask(gate, vec![sample()], json!({})).await;
        assert!(asked.reached.is_empty(), "{without}");
        assert!(asked.heard.first().unwrap().as_ref().unwrap_err().message.contains(part));
        assert!(asked.findings.first().unwrap().message.contains(part));
    };
    Box::pin(check("declared", strict(), "no manifest declares")).await;
    Box::pin(check("max_per_run", strict(), "no budget")).await;
    Box::pin(check("eval_ref", strict(), "no evaluation")).await;
}

/// A 2026-07-28 server asks for a sample by an answer; nobody waits, and the same call again passes.
#[tokio::test]
async fn a_sample_within_an_answer_waits_for_a_person_like_a_call() {
    let interim = json!({
        "resultType": "input_required",
        "inputRequests": {"q": {"method": sample().0, "params": sample().1}},
        "requestState": "s",
    });
    let answer = model::Answer::read(interim).unwrap();
    let recorder = toolgate_testkit::Recorder::one("ask", toolgate_testkit::Script::Answer(answer));
    let mut rule = unseen();
    rule["review"] = "risky".into();
    let mut contract = declaring(&json!({"sampling": rule}));
    contract["capabilities"][0]["class"] = "act".into();
    contract["capabilities"][0]["approval_mode"] = "network".into();
    let world = strict().upstream("it", recorder).manifest("it", contract).start().await;
    let able = json!({"sampling": {}});
    let client = Client { capabilities: able.as_object().cloned().unwrap(), ..Client::default() };
    let request =
        || CallRequest { client: Arc::new(client.clone()), ..World::request("ask", json!({})) };
    let first = world.send(request()).await;
    assert_eq!(crate::code(&first), Some(Code::ApprovalPending));
    let id = first.fault.unwrap().details["approval_id"].as_str().unwrap().to_owned();
    let verdict = Verdict { approved: true, approver: "user:bob".to_owned(), reason: None };
    world.gateway.answer(&id, verdict).await.unwrap();
    assert_eq!(crate::code(&world.send(request()).await), None);
    let third = world.send(request()).await;
    assert_eq!(crate::code(&third), Some(Code::ApprovalPending), "a yes lets one pass");
}
