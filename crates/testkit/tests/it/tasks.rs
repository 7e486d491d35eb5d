//! Calls that go on as a task: what is on record of them, and that an end is an end. CO-209.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use gateway::{CallRequest, Change, Done};
use model::{Answer, CallStatus, Caller, Code, Fault, Method, Principal, RecordStatus, TaskVerb};
use policy::Permit;
use serde_json::{Map, Value, json};
use toolgate_testkit::{Notes, TestGateway, World, tool};
use upstream::{Bell, Connector, Errand, Ring, Split};

use crate::code;

/// An upstream whose one tool becomes task `t1`, and which then says these things of it in turn.
#[derive(Clone, Debug, Default)]
struct Worker {
    says: Arc<Mutex<VecDeque<Value>>>,
    /// What each request about the task carried.
    heard: Notes<Map<String, Value>>,
}

impl Worker {
    fn saying(says: impl IntoIterator<Item = Value>) -> Self {
        Self { says: Arc::new(Mutex::new(says.into_iter().collect())), heard: Notes::default() }
    }
}

#[async_trait]
impl Connector for Worker {
    fn protocol(&self) -> &'static str {
        "custom"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        Ok(vec![tool("dig", json!({}))])
    }

    async fn call(&self, _permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        let begun = json!({"resultType": "task", "taskId": "t1", "status": "working"});
        Ok(Answer::read(begun).unwrap())
    }

    async fn ask(&self, permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        self.heard.push(permit.params().clone());
        let said = self.says.lock().unwrap().pop_front();
        match said {
            Some(Value::Object(said)) => Ok(Answer::bare(said)),
            _ => std::future::pending().await,
        }
    }
}

fn state(status: &str) -> Value {
    json!({"taskId": "t1", "status": status})
}

async fn digging(says: impl IntoIterator<Item = Value>) -> World {
    let world = TestGateway::new().upstream("mine", Worker::saying(says)).start().await;
    let done = world.call("dig", json!({})).await;
    assert!(done.fault.is_none(), "{done:?}");
    world
}

async fn ask(world: &World, verb: TaskVerb) -> Done {
    let request = World::request("t1", Value::Null);
    world.send(CallRequest { method: Method::Task(verb), ..request }).await
}

fn status(done: &Done) -> &str {
    done.cleared.get().rest.get("status").unwrap().as_str().unwrap()
}

/// CO-183: the call stays open on record as deferred, and does not count as completed.
#[tokio::test]
async fn a_call_that_becomes_a_task_is_deferred() {
    let world = digging([]).await;
    let record = world.last_record().await;
    assert_eq!(record.status, RecordStatus::Deferred);
    assert_eq!(record.result.unwrap().status, CallStatus::Paused);
}

/// CO-188: polling is joined to the call that began the task, and to its trace.
#[tokio::test]
async fn what_is_asked_of_a_task_is_joined_to_the_call_that_began_it() {
    let world = digging([state("working"), state("input_required"), state("completed")]).await;
    let begun = world.last_record().await.call;
    for expected in ["working", "input_required", "completed"] {
        assert_eq!(status(&ask(&world, TaskVerb::Get).await), expected);
        let call = world.last_record().await.call;
        assert_eq!(call.method.as_deref(), Some("tasks/get"));
        assert_eq!(call.parent_call_id.as_ref(), Some(&begun.call_id));
        assert_eq!(call.trace_id, begun.trace_id);
        assert_eq!(call.item_key, begun.item_key);
    }
}

/// CO-185: the outcome that came late has the envelope of any other.
#[tokio::test]
async fn a_deferred_result_is_put_into_the_envelope() {
    let outcome = json!({"taskId": "t1", "status": "completed", "result": {"content": [
        {"type": "text", "text": "gold"}]}});
    let world = digging([outcome]).await;
    let done = ask(&world, TaskVerb::Get).await;
    let record = world.last_record().await;
    assert_eq!(record.status, RecordStatus::Completed);
    let result = record.result.unwrap();
    assert_eq!((result.status, result.error), (CallStatus::Completed, None));
    assert!(result.result_hash.is_some());
    assert_eq!(done.cleared.get().rest["result"]["content"][0]["text"], "gold");
}

/// CO-98, CO-135: what a task is heard to be is what the record of the asking says.
#[tokio::test]
async fn the_end_of_a_task_is_on_record() {
    let check = async |said: Value, record: RecordStatus, call: CallStatus| {
        let world = digging([said.clone()]).await;
        let done = ask(&world, TaskVerb::Get).await;
        assert_eq!(code(&done), None, "{said}");
        let last = world.last_record().await;
        assert_eq!((last.status, last.result.unwrap().status), (record, call), "{said}");
    };
    check(state("working"), RecordStatus::Deferred, CallStatus::Paused).await;
    check(state("input_required"), RecordStatus::Escalated, CallStatus::Paused).await;
    check(state("completed"), RecordStatus::Completed, CallStatus::Completed).await;
    check(state("failed"), RecordStatus::Failed, CallStatus::Failed).await;
    check(state("cancelled"), RecordStatus::Cancelled, CallStatus::Cancelled).await;
    let no =
        json!({"taskId": "t1", "status": "completed", "result": {"content": [], "isError": true}});
    check(no, RecordStatus::Failed, CallStatus::Failed).await;
}

/// CO-186: why a task failed, and whether it may be begun again.
#[tokio::test]
async fn a_failed_task_says_on_record_whether_it_may_be_tried_again() {
    let failed = json!({"taskId": "t1", "status": "failed", "error": {
        "code": -32603, "message": "the roof came down"}});
    let world = digging([failed]).await;
    ask(&world, TaskVerb::Get).await;
    let fault = world.last_record().await.result.unwrap().error.unwrap();
    assert_eq!(fault.code, Code::UpstreamError);
    assert_eq!(fault.message, "the task failed: the roof came down");
    assert_eq!(fault.details["retryable"], false);
    assert_eq!(fault.details["upstream_code"], -32603);
}

/// CO-187: late success after a cancellation is ignored; nothing that has ended goes on.
#[tokio::test]
async fn what_has_ended_stays_ended() {
    let check = async |first: &str, later: Value| {
        let world = digging([state(first), later.clone()]).await;
        assert_eq!(status(&ask(&world, TaskVerb::Cancel).await), first);
        let done = ask(&world, TaskVerb::Get).await;
        assert_eq!(status(&done), first, "{later}");
        assert_eq!(done.cleared.get().rest.get("result"), None, "{later}");
    };
    let success = json!({"taskId": "t1", "status": "completed", "result": {"content": []}});
    check("cancelled", success.clone()).await;
    check("cancelled", state("working")).await;
    check("failed", success).await;
    check("completed", state("cancelled")).await;
}

#[tokio::test]
async fn a_task_that_is_not_ones_own_is_unknown() {
    let world = digging([state("working")]).await;
    let request = CallRequest {
        method: Method::Task(TaskVerb::Get),
        ..CallRequest::new(Caller::new(Principal::user("eve")), "t1", Value::Null)
    };
    assert_eq!(code(&world.send(request).await), Some(Code::TaskNotFound));
}

/// CO-182, CO-187: the next run of the gate knows whose a task is, and how it ended.
#[tokio::test]
async fn a_task_outlives_the_gate_that_began_it() {
    let world = digging([]).await;
    let begun = world.last_record().await.call;
    let says = [state("working"), state("cancelled")];
    let world = world.restart(TestGateway::new().upstream("mine", Worker::saying(says))).await;
    let eve = Caller::new(Principal::user("eve"));
    let foreign = CallRequest::new(eve.clone(), "t1", Value::Null);
    let foreign = CallRequest { method: Method::Task(TaskVerb::Get), ..foreign };
    assert_eq!(code(&world.send(foreign).await), Some(Code::TaskNotFound));
    assert_eq!(status(&ask(&world, TaskVerb::Get).await), "working");
    assert_eq!(world.last_record().await.call.parent_call_id, Some(begun.call_id));
    assert_eq!(status(&ask(&world, TaskVerb::Cancel).await), "cancelled");
    let late = json!({"taskId": "t1", "status": "completed", "result": {"content": []}});
    let worker = Worker::saying([late.clone(), late]);
    let world = world.restart(TestGateway::new().upstream("mine", worker)).await;
    assert_eq!(status(&ask(&world, TaskVerb::Get).await), "cancelled");
    let client = Arc::default();
    assert_eq!(world.gateway.tasks_of(&World::ann(), &client).await.len(), 1);
    assert!(world.gateway.tasks_of(&eve, &client).await.is_empty());
}

/// Names of tasks are their upstreams' own, and two may choose the same.
#[tokio::test]
async fn two_callers_may_have_tasks_of_one_name() {
    let world = digging([state("working"), state("working")]).await;
    let bob = || Caller::new(Principal::user("bob"));
    let begun = world.send(CallRequest::new(bob(), "dig", json!({}))).await;
    assert_eq!(code(&begun), None);
    let his = CallRequest::new(bob(), "t1", Value::Null);
    let his = CallRequest { method: Method::Task(TaskVerb::Get), ..his };
    assert_eq!(code(&world.send(his).await), None);
    assert_eq!(code(&ask(&world, TaskVerb::Get).await), None);
}

/// CO-97: what a task asks is judged like any other question, and on record.
#[tokio::test]
async fn what_a_task_asks_is_judged_like_any_question() {
    let asks = |field: &str| {
        let schema = json!({"type": "object", "properties": {field: {"type": "string"}}});
        let params = json!({"message": "?", "requestedSchema": schema});
        let question = json!({"method": "elicitation/create", "params": params});
        json!({"taskId": "t1", "status": "input_required", "inputRequests": {"q": question}})
    };
    let world = digging([asks("city"), asks("password")]).await;
    let asked = ask(&world, TaskVerb::Get).await;
    assert_eq!(code(&asked), None, "{asked:?}");
    assert!(asked.cleared.get().rest["inputRequests"]["q"].is_object());
    let findings = world.last_record().await.result.unwrap().findings;
    assert!(
        findings.iter().any(|finding| finding.message.starts_with("asked `elicitation/create`"))
    );
    let refused = ask(&world, TaskVerb::Get).await;
    assert_eq!(code(&refused), Some(Code::UpstreamError));
    assert!(refused.fault.unwrap().message.contains("asks for a secret"));
}

/// A poll that gets no answer ends in time, and the task is still there for the next.
#[tokio::test(start_paused = true)]
async fn a_poll_has_its_time() {
    let worker = Worker::saying([]);
    let world = TestGateway::new()
        .upstream("mine", worker.clone())
        .settings(|settings| settings.call_timeout = Duration::from_millis(50))
        .start()
        .await;
    world.call("dig", json!({})).await;
    assert_eq!(code(&ask(&world, TaskVerb::Get).await), Some(Code::UpstreamTimeout));
    worker.says.lock().unwrap().push_back(state("completed"));
    assert_eq!(status(&ask(&world, TaskVerb::Get).await), "completed");
}

/// CO-208: what a task is told is held to what it asked.
#[tokio::test]
async fn what_a_task_is_told_must_fit_what_it_asked() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let form = json!({"message": "?", "requestedSchema": schema});
    let visit = json!({"mode": "url", "url": "https://id.example/", "message": "Sign in"});
    let question = |params: Value| json!({"method": "elicitation/create", "params": params});
    let asks = json!({"form": question(form), "visit": question(visit)});
    let asks = json!({"taskId": "t1", "status": "input_required", "inputRequests": asks});
    let worker = Worker::saying([asks, json!({}), json!({})]);
    let world = TestGateway::new().upstream("mine", worker.clone()).start().await;
    world.call("dig", json!({})).await;
    assert_eq!(code(&ask(&world, TaskVerb::Get).await), None);
    let tell = async |said: Value| {
        let params = Map::from_iter([("inputResponses".to_owned(), said)]);
        let method = Method::Task(TaskVerb::Update);
        let done =
            world.send(CallRequest { method, params, ..World::request("t1", json!({})) }).await;
        (code(&done), worker.heard.all().pop().unwrap_or_default().shift_remove("inputResponses"))
    };
    let (refused, heard) = tell(json!({"form": {"action": "accept", "content": {"n": "x"}}})).await;
    assert_eq!((refused, heard), (Some(Code::AnswerInvalid), None));
    let filled = json!({"action": "accept", "content": {"n": 1}});
    let went = json!({"action": "accept", "content": {"token": "t"}});
    let (passed, heard) = tell(json!({"form": filled, "visit": went, "unasked": {"a": 1}})).await;
    assert_eq!(passed, None);
    assert_eq!(heard, Some(json!({"form": filled, "visit": {"action": "accept"}})));
}

/// Begins task `t1` for whoever calls, and tells of it.
#[derive(Clone, Debug, Default)]
struct Teller {
    bell: Arc<Mutex<Option<Bell>>>,
}

#[async_trait]
impl Connector for Teller {
    fn protocol(&self) -> &'static str {
        "custom"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        Ok(vec![tool("dig", json!({}))])
    }

    async fn call(&self, _permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
        let news = json!({"taskId": "t1", "status": "working", "statusMessage": errand.owner});
        let bell = self.bell.lock().unwrap().clone().unwrap();
        // What is told while nobody knows the task yet concerns nobody.
        bell.ring(Ring::Task { owner: None, params: news.as_object().cloned().unwrap() });
        Ok(Answer::read(json!({"resultType": "task", "taskId": "t1", "status": "working"}))
            .unwrap())
    }

    fn attach(&self, bell: Bell) {
        *self.bell.lock().unwrap() = Some(bell);
    }
}

/// Two callers may each have a task of one name, if each has the upstream to itself: what it tells one
/// is not the other's, and what another upstream tells of that name is nobody's.
#[tokio::test]
async fn news_of_a_task_reach_its_owner_alone() {
    let split = Split::new(|| Ok(Arc::new(Teller::default()) as Arc<dyn Connector>)).unwrap();
    let stranger = Teller::default();
    let gate = TestGateway::new().upstream("mine", split).upstream("else", stranger.clone());
    let world = gate.start().await;
    let watching = Arc::clone(&world.gateway);
    tokio::spawn(async move { watching.watch().await });
    let [ann, bob] = ["ann", "bob"].map(|name| Caller::new(Principal::user(name)));
    let dig = async |caller: &Caller| {
        let request =
            CallRequest { caller: caller.clone(), ..World::request("mcp__mine__dig", json!({})) };
        let done = world.send(request).await;
        assert!(done.fault.is_none(), "{done:?}");
    };
    for caller in [&ann, &bob] {
        dig(caller).await;
    }
    let mut told = world.gateway.changes();
    let params = json!({"taskId": "t1", "status": "completed"}).as_object().cloned().unwrap();
    let bell = stranger.bell.lock().unwrap().clone().unwrap();
    bell.ring(Ring::Task { owner: None, params });
    // Known by now, and told with the next call.
    dig(&bob).await;
    let change = told.recv().await.unwrap();
    let Change::Task { owner, params, .. } = &change else { panic!("{change:?}") };
    assert_eq!(owner.as_deref(), Some("user:bob"));
    assert_eq!(params.get()["statusMessage"], "user:bob");
    assert!(world.gateway.concerns(&bob, &change));
    assert!(!world.gateway.concerns(&ann, &change));
}
