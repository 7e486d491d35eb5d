//! Both designs of tasks, seen from clients of both and of neither. CO-182, CO-185 (the wire).

use std::sync::Mutex;

use async_trait::async_trait;

use super::super::wire::{Followed, Greeting};
use super::*;
use crate::connector::Bell;
use crate::errand::{Listener, News};
use crate::limits;
use protocol::{Revision, RpcError, peer};

/// A server of one revision that answers from a list: method, what it needs, what it says.
#[derive(Debug)]
struct Scripted {
    revision: Revision,
    answers: Mutex<Vec<(&'static str, Result<Value, RpcError>)>>,
    seen: Mutex<Vec<(String, Value)>>,
}

impl Scripted {
    fn new(revision: Revision, answers: Vec<(&'static str, Result<Value, RpcError>)>) -> Arc<Self> {
        Arc::new(Self { revision, answers: Mutex::new(answers), seen: Mutex::default() })
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
            .push((asking.method.to_owned(), Value::Object(asking.params.clone().into_owned())));
        if self.answers.lock().unwrap().is_empty() {
            return std::future::pending().await;
        }
        let (method, outcome) = self.answers.lock().unwrap().remove(0);
        assert_eq!(method, asking.method);
        outcome.map(|value| Reply { value, written: None }).map_err(peer::call_fault)
    }

    async fn follow(&self, _: Followed, _: bool) -> Result<(), Fault> {
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

async fn told(server: &Arc<Scripted>, verb: TaskVerb, errand: &Errand) -> Result<Value, Fault> {
    let params = Map::from_iter([("taskId".to_owned(), "7".into())]);
    let told = ask(server, &Inputs::default(), &Method::Task(verb), &params, errand).await;
    told.unwrap().map(Value::Object)
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
}

#[tokio::test]
async fn sides_of_one_design_are_left_alone() {
    let params = Map::from_iter([("taskId".to_owned(), "7".into())]);
    for (revision, client) in [(MODERN, follower()), (LEGACY, errand(false, &json!({})))] {
        let server = Scripted::new(revision, Vec::new());
        let verb = Method::Task(TaskVerb::Get);
        let told = ask(&server, &Inputs::default(), &verb, &params, &client).await;
        assert!(told.is_none());
    }
}

/// A server of 2025-11-25 whose task asks before it ends, as these do: while its result is waited for.
#[derive(Debug, Default)]
struct Curious {
    answered: Mutex<Option<Value>>,
}

#[async_trait]
impl Wire for Curious {
    async fn greet(&self) -> Result<Arc<Greeting>, Fault> {
        Ok(Arc::new(Greeting::read(LEGACY, &json!({}))))
    }

    async fn ask(&self, asking: &Asking<'_>) -> Result<Reply, Fault> {
        let done = json!({"content": [{"type": "text", "text": "deleted"}]});
        let answered = self.answered.lock().unwrap().is_some();
        let value = match asking.method {
            "tasks/get" if answered => legacy("completed"),
            "tasks/get" => legacy("input_required"),
            "tasks/result" if answered => done,
            "tasks/result" => {
                let params = json!({"message": "Sure?", "elicitationId": "e1", "_meta": {RELATED: {"taskId": "7"}}});
                let (reply, heard) = tokio::sync::oneshot::channel();
                let question = crate::errand::Question {
                    method: "elicitation/create".to_owned(),
                    params: params.as_object().cloned().unwrap(),
                    reply,
                };
                let news = asking.errand.unwrap().news.as_ref().unwrap();
                assert!(news.tell(News::Question(question)));
                *self.answered.lock().unwrap() = Some(heard.await.unwrap().unwrap());
                done
            }
            other => panic!("{other}"),
        };
        Ok(Reply { value, written: None })
    }

    async fn follow(&self, _: Followed, _: bool) -> Result<(), Fault> {
        Ok(())
    }

    fn attach(&self, _: Bell) {}
}

/// CO-184: what a task of 2025-11-25 asks, a client of 2026-07-28 finds when it looks, and answers by
/// `tasks/update`.
#[tokio::test(start_paused = true)]
async fn what_a_task_waits_for_is_asked_and_answered_in_the_other_design() {
    let (server, inputs) = (Arc::new(Curious::default()), Inputs::default());
    let about = async |verb: TaskVerb, params: Value| {
        let params = params.as_object().cloned().unwrap();
        let told = ask(&server, &inputs, &Method::Task(verb), &params, &follower()).await;
        told.unwrap().map(Value::Object)
    };
    let early = json!({"taskId": "7", "inputResponses": {"question-1": {"action": "accept"}}});
    assert_eq!(about(TaskVerb::Update, early).await.unwrap_err().code, Code::ArgsInvalid);
    for look in ["first", "second"] {
        let told = about(TaskVerb::Get, json!({"taskId": "7"})).await.unwrap();
        let wanted =
            json!({"question-1": {"method": "elicitation/create", "params": {"message": "Sure?"}}});
        assert_eq!(
            (&told["status"], &told["inputRequests"]),
            (&json!("input_required"), &wanted),
            "{look}"
        );
    }
    let given = json!({"question-1": {"action": "accept"}, "unknown": 1});
    let update = json!({"taskId": "7", "inputResponses": given});
    assert_eq!(about(TaskVerb::Update, update).await.unwrap(), json!({}));
    while server.answered.lock().unwrap().is_none() {
        tokio::task::yield_now().await;
    }
    assert_eq!(*server.answered.lock().unwrap(), Some(json!({"action": "accept"})));
    let told = about(TaskVerb::Get, json!({"taskId": "7"})).await.unwrap();
    assert_eq!(told["result"]["content"][0]["text"], "deleted");
    assert_eq!(told.get("inputRequests"), None);
}

/// A task that the gate alone knows of ends with the call it was made for, in both designs.
#[tokio::test(start_paused = true)]
async fn a_task_followed_for_a_client_is_cancelled_with_its_call() {
    for (revision, begun) in
        [(MODERN, modern("working")), (LEGACY, json!({"task": legacy("working")}))]
    {
        let server = Scripted::new(revision, vec![("tools/call", Ok(begun))]);
        let client = errand(false, &json!({}));
        let making = async {
            match revision {
                MODERN => in_its_place(&server, tool_call(false), &client).await,
                _ => call(&server, tool_call(false), &client).await,
            }
        };
        let giving_up = async {
            while server.seen().len() < 2 {
                tokio::time::advance(limits::TASK_POLL_MIN).await;
            }
            client.cancel.cancel();
        };
        let (made, ()) = tokio::join!(client.bound(making), giving_up);
        assert_eq!(made.unwrap_err().code, Code::Cancelled);
        tokio::task::yield_now().await;
        let last = server.seen().pop().unwrap();
        assert_eq!(last, ("tasks/cancel".to_owned(), json!({"taskId": "7"})), "{revision:?}");
    }
}

#[tokio::test]
async fn a_task_that_has_ended_is_not_cancelled() {
    let mut done = modern("completed");
    done["result"] = json!({"content": []});
    let server = Scripted::new(MODERN, vec![("tools/call", Ok(done))]);
    in_its_place(&server, tool_call(false), &errand(false, &json!({}))).await.unwrap();
    tokio::task::yield_now().await;
    assert_eq!(server.seen().len(), 1);
}

/// The extension says nothing to a client from before it, even to one that declares it.
#[tokio::test(start_paused = true)]
async fn a_task_that_an_older_client_did_not_ask_for_is_followed_for_it() {
    let able = json!({"extensions": {EXTENSION: {}}});
    let check = |rounds: bool, value: Value, wanted: bool| {
        let reply = Reply { value, written: None };
        assert_eq!(is_unasked(&reply, &errand(rounds, &able)), wanted, "{reply:?}");
    };
    check(false, modern("working"), true);
    check(true, modern("working"), false);
    check(false, json!({"content": []}), false);
    let undeclared = errand(true, &json!({}));
    assert!(is_unasked(&Reply { value: modern("working"), written: None }, &undeclared));
    let mut done = modern("completed");
    done["result"] = json!({"resultType": "complete", "content": []});
    let server = Scripted::new(MODERN, vec![("tasks/get", Ok(done))]);
    let begun = Reply { value: modern("working"), written: None };
    let reply = finish_unasked(&server, &begun, &errand(false, &able)).await.unwrap();
    assert_eq!(reply.value, json!({"content": []}));
}
