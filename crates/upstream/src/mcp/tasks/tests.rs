//! Both designs of tasks, seen from clients of both and of neither. CO-182, CO-185, CO-186 (the wire).

use std::sync::{Arc, Mutex};

use async_trait::async_trait;

use super::super::wire::Greeting;
use super::*;
use crate::connector::Bell;
use crate::errand::{Listener, News};

/// A server of one revision that answers from a list: method, what it needs, what it says.
#[derive(Debug)]
struct Scripted {
    revision: Revision,
    answers: Mutex<Vec<(&'static str, Result<Value, RpcError>)>>,
    seen: Mutex<Vec<(String, Value)>>,
}

impl Scripted {
    fn new(revision: Revision, answers: Vec<(&'static str, Result<Value, RpcError>)>) -> Self {
        Self { revision, answers: Mutex::new(answers), seen: Mutex::default() }
    }

    fn seen(&self) -> Vec<(String, Value)> {
        self.seen.lock().unwrap().clone()
    }
}

#[async_trait]
impl Wire for Scripted {
    async fn greet(&self) -> Result<Arc<Greeting>, Fault> {
        Ok(Arc::new(Greeting::read(self.revision, &json!({}))))
    }

    async fn ask(&self, asking: &Asking<'_>) -> Result<Reply, Fault> {
        self.seen
            .lock()
            .unwrap()
            .push((asking.method.to_owned(), Value::Object(asking.params.clone())));
        let (method, outcome) = self.answers.lock().unwrap().remove(0);
        assert_eq!(method, asking.method);
        outcome.map(|value| Reply { value, written: None }).map_err(peer::call_fault)
    }

    async fn follow(&self, _: &str, _: bool) -> Result<(), Fault> {
        Ok(())
    }

    fn attach(&self, _: Bell) {}

    fn revision(&self) -> Option<Revision> {
        Some(self.revision)
    }
}

const LEGACY: Revision = Revision::V2025_11_25;
const MODERN: Revision = Revision::V2026_07_28;

fn errand(rounds: bool, capabilities: &Value) -> Errand {
    let capabilities = capabilities.as_object().cloned().unwrap();
    let client = Arc::new(Client { rounds, capabilities, ..Client::default() });
    let news = Listener::new(|news| {
        if let News::Question(question) = news {
            drop(question.reply.send(Ok(json!({"action": "accept"}))));
        }
        true
    });
    Errand { client, news: Some(news), ..Errand::quiet() }
}

fn follower() -> Errand {
    errand(true, &json!({"extensions": {EXTENSION: {}}}))
}

fn tool_call(task: bool) -> Asking<'static> {
    let params = if task { json!({"name": "t", "task": {}}) } else { json!({"name": "t"}) };
    Asking::own("tools/call", params.as_object().cloned().unwrap())
}

fn legacy(status: &str) -> Value {
    json!({"taskId": "7", "status": status, "ttl": 60_000, "pollInterval": 100})
}

fn modern(status: &str) -> Value {
    json!({"resultType": "task", "taskId": "7", "status": status, "ttlMs": 60_000, "pollIntervalMs": 100})
}

#[tokio::test]
async fn a_tool_that_must_be_a_task_is_one_for_whoever_follows_tasks() {
    let server =
        Scripted::new(LEGACY, vec![("tools/call", Ok(json!({"task": legacy("working")})))]);
    let reply = call(&server, tool_call(false), &follower()).await.unwrap();
    assert_eq!(reply.value, modern("working"));
    assert_eq!(server.seen()[0].1["task"], json!({}));
}

#[tokio::test]
async fn whoever_follows_none_gets_the_result_once_it_is_there() {
    for client in [errand(true, &json!({})), errand(false, &json!({}))] {
        let result = json!({"content": [{"type": "text", "text": "done"}]});
        let server = Scripted::new(
            LEGACY,
            vec![
                ("tools/call", Ok(json!({"task": legacy("working")}))),
                ("tasks/result", Ok(result.clone())),
            ],
        );
        let reply = call(&server, tool_call(false), &client).await.unwrap();
        assert_eq!(reply.value, result);
    }
}

#[tokio::test]
async fn a_client_that_asked_for_a_task_gets_it_in_its_own_words() {
    let server = Scripted::new(MODERN, vec![("tools/call", Ok(modern("working")))]);
    let client = errand(false, &json!({"tasks": {}}));
    let reply = call(&server, tool_call(true), &client).await.unwrap();
    assert_eq!(reply.value, json!({"task": legacy("working")}));
    assert_eq!(server.seen()[0].1, json!({"name": "t"}));
    let both = Scripted::new(LEGACY, vec![("tools/call", Ok(json!({"task": legacy("working")})))]);
    let reply = call(&both, tool_call(true), &client).await.unwrap();
    assert_eq!(reply.value, json!({"task": legacy("working")}));
}

#[tokio::test(start_paused = true)]
async fn the_gate_follows_a_task_for_a_client_that_cannot_know_of_any() {
    let question = json!({"q": {"method": "elicitation/create", "params": {"message": "Sure?"}}});
    let mut asked = modern("input_required");
    asked["inputRequests"] = question;
    let mut done = modern("completed");
    done["result"] = json!({"resultType": "complete", "content": []});
    let needed = json!({"requiredCapabilities": {"extensions": {EXTENSION: {}}}});
    let refused = RpcError::new(jsonrpc::MISSING_CAPABILITY, "no").with_data(needed);
    let client = errand(false, &json!({"elicitation": {}}));
    assert!(stand_in(&peer::call_fault(refused.clone()), &client));
    assert!(!stand_in(&peer::call_fault(refused), &follower()));
    let server = Scripted::new(
        MODERN,
        vec![
            ("tools/call", Ok(modern("working"))),
            ("tasks/get", Ok(asked)),
            ("tasks/update", Ok(json!({}))),
            ("tasks/get", Ok(done)),
        ],
    );
    let reply = in_its_place(&server, tool_call(false), &client).await.unwrap();
    assert_eq!(reply.value, json!({"content": []}));
    let update = &server.seen()[2].1;
    assert_eq!(update["inputResponses"], json!({"q": {"action": "accept"}}));
}

async fn told(server: &Scripted, verb: TaskVerb, errand: &Errand) -> Result<Value, Fault> {
    let params = Map::from_iter([("taskId".to_owned(), "7".into())]);
    ask(server, &Method::Task(verb), &params, errand).await.unwrap().map(Value::Object)
}

#[tokio::test]
async fn a_task_that_has_ended_brings_its_result_or_its_error() {
    let result = json!({"content": [], "isError": true});
    let check = async |status: &str, outcome: Result<Value, RpcError>, key: &str, wanted: Value| {
        let answers = vec![("tasks/get", Ok(legacy(status))), ("tasks/result", outcome)];
        let server = Scripted::new(LEGACY, answers);
        let told = told(&server, TaskVerb::Get, &follower()).await.unwrap();
        assert_eq!((&told["resultType"], &told[key]), (&json!("complete"), &wanted));
        assert_eq!((&told["ttlMs"], &told["status"]), (&json!(60_000), &json!(status)));
    };
    check("completed", Ok(result.clone()), "result", result.clone()).await;
    check("failed", Ok(result.clone()), "result", result).await;
    let error = json!({"code": -7, "message": "broke", "data": null});
    check("failed", Err(RpcError::new(-7, "broke")), "error", error).await;
}

#[tokio::test]
async fn what_is_asked_about_a_task_reaches_the_other_design() {
    let client = errand(false, &json!({"tasks": {}}));
    let server = Scripted::new(MODERN, vec![("tasks/get", Ok(modern("working")))]);
    assert_eq!(told(&server, TaskVerb::Get, &client).await.unwrap(), legacy("working"));

    let mut done = modern("completed");
    done["result"] = json!({"content": []});
    let server = Scripted::new(MODERN, vec![("tasks/get", Ok(done))]);
    let result = told(&server, TaskVerb::Result, &client).await.unwrap();
    assert_eq!(result, json!({"content": [], "_meta": {RELATED: {"taskId": "7"}}}));

    let mut failed = modern("failed");
    failed["error"] = json!({"code": -7, "message": "broke"});
    let server = Scripted::new(MODERN, vec![("tasks/get", Ok(failed))]);
    let fault = told(&server, TaskVerb::Result, &client).await.unwrap_err();
    assert_eq!(fault.upstream.unwrap().code, -7);

    let answers = vec![("tasks/cancel", Ok(json!({}))), ("tasks/get", Ok(modern("cancelled")))];
    let server = Scripted::new(MODERN, answers);
    assert_eq!(told(&server, TaskVerb::Cancel, &client).await.unwrap(), legacy("cancelled"));

    let server = Scripted::new(LEGACY, vec![("tasks/cancel", Ok(legacy("cancelled")))]);
    assert_eq!(told(&server, TaskVerb::Cancel, &follower()).await.unwrap(), json!({}));
    let server = Scripted::new(LEGACY, Vec::new());
    assert!(told(&server, TaskVerb::Update, &follower()).await.is_err());
}

#[tokio::test]
async fn sides_of_one_design_are_left_alone() {
    let params = Map::from_iter([("taskId".to_owned(), "7".into())]);
    for (revision, client) in [(MODERN, follower()), (LEGACY, errand(false, &json!({})))] {
        let server = Scripted::new(revision, Vec::new());
        let told = ask(&server, &Method::Task(TaskVerb::Get), &params, &client).await;
        assert!(told.is_none());
    }
}
