//! Two gates on one database: what one claims, asks and records, the other knows.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use gateway::{CallRequest, Gateway, Mode, Parts, Watch};
use model::{Answer, Clock, Code, Fault, Method, Principal, Secret, TaskVerb, UpstreamName};
use policy::{Permit, Rules};
use serde_json::{Value, json};
use store::{Config, Store};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};
use toolgate_testkit::{Asker, Recorder, Script, capability, manifest, tool};
use upstream::{Connector, Errand, Member, Upstreams};

use crate::{code, open_door, surface};

/// On PostgreSQL where there is one; else two stores on one file stand in for it.
async fn config(home: &tempfile::TempDir) -> Config {
    let dir = home.path().join("data");
    let Ok(url) = std::env::var("TOOLGATE_TEST_POSTGRES") else { return Config::folder(dir) };
    let name = home.path().file_name().unwrap().to_str().unwrap().replace('.', "r_");
    let separator = if url.contains('?') { '&' } else { '?' };
    let url = Secret::new(format!("{url}{separator}options[search_path]={}", name.to_lowercase()));
    store::testing::create_schema(&url).await.unwrap();
    Config { url: Some(url), ..Config::folder(dir) }
}

async fn replica(config: &Config, recorder: &Recorder) -> Arc<Gateway> {
    bounded_replica(config, recorder, gateway::RunLimits::default()).await
}

async fn bounded_replica(
    config: &Config,
    recorder: &Recorder,
    runs: gateway::RunLimits,
) -> Arc<Gateway> {
    let pay = json!({"class": "act", "idempotency": {"required": true}});
    let contract = manifest::from_value(manifest([capability("ledger.pay", "pay", pay)])).unwrap();
    bounded_gate(config, Arc::new(recorder.clone()), Some(contract), runs).await
}

async fn gate(
    config: &Config,
    upstream: Arc<dyn Connector>,
    contract: Option<manifest::AdapterManifest>,
) -> Arc<Gateway> {
    bounded_gate(config, upstream, contract, gateway::RunLimits::default()).await
}

async fn bounded_gate(
    config: &Config,
    upstream: Arc<dyn Connector>,
    contract: Option<manifest::AdapterManifest>,
    runs: gateway::RunLimits,
) -> Arc<Gateway> {
    let name = UpstreamName::from_string("ledger");
    let settings = gateway::Settings {
        in_flight_wait: Duration::from_secs(30),
        mode: Mode::Native,
        runs,
        ..gateway::Settings::default()
    };
    let gateway = Gateway::new(Parts {
        upstreams: Upstreams::new([(name.clone(), Member::new(upstream))]),
        manifests: contract.map(|contract| (name, Arc::new(contract))).into_iter().collect(),
        namespaces: BTreeMap::default(),
        naming: catalog::Naming::Auto,
        rules: Rules::permit_all(),
        store: Store::open(config, Clock::System).await.unwrap(),
        clock: Clock::System,
        settings,
    });
    gateway.refresh().await;
    Arc::new(gateway)
}

fn pay(key: &str) -> CallRequest {
    let caller = model::Caller::new(Principal::user("ann"));
    let request = CallRequest::new(caller, "pay", json!({"amount": 1}));
    CallRequest { idempotency_key: Some(key.to_owned()), ..request }
}

/// CO-199 and CO-205: 200 calls with 20 keys over both take effect 20 times, and all are answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_calls_with_twenty_keys_have_twenty_effects() {
    let home = tempfile::tempdir().unwrap();
    let config = config(&home).await;
    let recorder = Recorder::one("pay", Script::Answer(Answer::text("paid")));
    let gates = [replica(&config, &recorder).await, replica(&config, &recorder).await];
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..200 {
        let gate = Arc::clone(&gates[number % 2]);
        calls.spawn(async move {
            let request = pay(&format!("key-{}", number % 20));
            Box::pin(gate.call(request, Watch::default())).await.fault
        });
    }
    let faults: Vec<_> = calls.join_all().await.into_iter().flatten().collect();
    assert_eq!(faults, []);
    assert_eq!(recorder.count(), 20);
    for gate in gates {
        gate.close(Duration::from_secs(5)).await;
    }
    let store = Store::open(&config, Clock::System).await.unwrap();
    assert_eq!(store.verify_chain().await.unwrap().damage, None);
}

/// A person who is asked at one gate may answer at another, where the call is then made, once.
#[tokio::test]
async fn what_is_asked_at_one_gate_is_approved_and_made_at_another() {
    let home = tempfile::tempdir().unwrap();
    let config = config(&home).await;
    let recorder = Recorder::one("pay", Script::Answer(Answer::text("paid")));
    let gated = json!({"class": "act", "requires_gate": "GATE_MONEY"});
    let contract = || manifest::from_value(manifest([capability("l.pay", "pay", gated.clone())]));
    let connector = || Arc::new(recorder.clone()) as Arc<dyn Connector>;
    let one = gate(&config, connector(), contract().ok()).await;
    let other = gate(&config, connector(), contract().ok()).await;
    let call = async |gate: &Gateway| {
        let caller = model::Caller::new(Principal::user("ann"));
        let request = CallRequest::new(caller, "pay", json!({"amount": 1}));
        Box::pin(gate.call(request, Watch::default())).await
    };
    let asked = call(&one).await;
    assert_eq!(code(&asked), Some(Code::ApprovalPending));
    let question = asked.result.unwrap().approval_id.unwrap();
    let verdict = store::Verdict { approved: true, approver: "user:bob".to_owned(), reason: None };
    other.answer(question.as_str(), verdict).await.unwrap();
    assert_eq!(code(&call(&other).await), None);
    assert_eq!(recorder.count(), 1);
    assert_eq!(code(&call(&one).await), Some(Code::ApprovalPending), "a yes counts once");
    for gate in [one, other] {
        gate.close(Duration::from_secs(5)).await;
    }
}

/// An upstream of 2026-07-28: it remembers nothing between rounds, and its jobs become tasks.
#[derive(Debug, Default)]
struct Stateless {
    effects: AtomicUsize,
}

#[async_trait]
impl Connector for Stateless {
    fn protocol(&self) -> &'static str {
        "custom"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        Ok(vec![tool("ask", json!({})), tool("dig", json!({}))])
    }

    async fn call(&self, permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        if permit.tool() == "dig" {
            let begun = json!({"resultType": "task", "taskId": "t1", "status": "working"});
            return Ok(Answer::read(begun).unwrap());
        }
        let params = permit.params();
        if params.get("requestState").is_some_and(|state| state == "their own")
            && params.get("inputResponses").is_some()
        {
            self.effects.fetch_add(1, Ordering::SeqCst);
            return Ok(Answer::text("done"));
        }
        let question = json!({"method": "elicitation/create", "params": elicitation()});
        let asked = json!({"resultType": "input_required", "inputRequests": {"q": question}, "requestState": "their own"});
        Ok(Answer::read(asked).unwrap())
    }

    async fn ask(&self, _permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        let told = json!({"taskId": "t1", "status": "working"});
        Ok(Answer::bare(told.as_object().cloned().unwrap()))
    }
}

fn elicitation() -> Value {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    json!({"message": "Where?", "requestedSchema": schema})
}

/// One request of a 2026-07-28 client, which stands for itself, and its answer.
async fn say(mcp: &server::Mcp, round: Value) -> Value {
    say_with(mcp, None, round).await
}

/// The same under an idempotency key.
async fn say_with(mcp: &server::Mcp, key: Option<&str>, round: Value) -> Value {
    let able = json!({"elicitation": {}});
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": able,
    });
    if let (Some(key), Some(meta)) = (key, meta.as_object_mut()) {
        meta.insert("toolgate/idempotency_key".to_owned(), key.into());
    }
    let mut params = json!({"name": "ask", "arguments": {}, "_meta": meta});
    params.as_object_mut().unwrap().extend(round.as_object().cloned().unwrap());
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let ((mut input, theirs), (output, answers)) =
        (tokio::io::duplex(1 << 16), tokio::io::duplex(1 << 16));
    let stop = CancellationToken::new();
    let serving = tokio::spawn(server::stdio::serve(mcp.clone(), theirs, answers, stop));
    input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    let line = BufReader::new(output).lines().next_line().await.unwrap().unwrap();
    drop(input);
    serving.await.unwrap();
    serde_json::from_str(&line).unwrap()
}

fn answered(key: &str, state: &Value) -> Value {
    let accepted = json!({"action": "accept", "content": {"city": "Oslo"}});
    json!({"inputResponses": {key: accepted}, "requestState": state})
}

/// CO-184, CO-208: where the upstream waits for nobody, any gate goes on, for whom and what it was
/// asked, once, and with an answer that fits. The upstream's own state never leaves the gate.
#[tokio::test]
async fn any_gate_goes_on_with_an_upstream_that_remembers_nothing() {
    let home = tempfile::tempdir().unwrap();
    let config = config(&home).await;
    let upstream = Arc::new(Stateless::default());
    let connector = || Arc::clone(&upstream) as Arc<dyn Connector>;
    let gates = [gate(&config, connector(), None).await, gate(&config, connector(), None).await];
    let [one, other] = gates.each_ref().map(|gate| surface(gate, open_door()));
    let asked = say(&one, json!({})).await;
    let state = &asked["result"]["requestState"];
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert!(!asked.to_string().contains("their own"), "{asked}");
    let forged = say(&other, answered("q", &json!("their own"))).await;
    assert_eq!(forged["error"]["code"], -32602, "{forged}");
    let mut elsewhere = answered("q", state);
    elsewhere["arguments"] = json!({"another": "request"});
    assert_eq!(say(&other, elsewhere).await["error"]["code"], -32602);
    let mut unfit = answered("q", state);
    unfit["inputResponses"]["q"]["content"]["city"] = json!(7);
    let unfit = say(&other, unfit).await;
    let why = unfit["error"]["message"].as_str().unwrap_or_default();
    assert!(why.contains("does not fit the form"), "{unfit}");
    assert_eq!(upstream.effects.load(Ordering::SeqCst), 0);
    let done = say(&other, answered("q", state)).await;
    assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
    for gate in [&one, &other] {
        assert_eq!(say(gate, answered("q", state)).await["error"]["code"], -32602);
    }
    assert_eq!(upstream.effects.load(Ordering::SeqCst), 1);
    for gate in gates {
        gate.close(Duration::from_secs(5)).await;
    }
}

/// CO-184, CO-205: a question is no answer: the next round makes the call, and only what came of that
/// is given again.
#[tokio::test]
async fn a_call_with_a_key_comes_through_its_rounds_once() {
    let home = tempfile::tempdir().unwrap();
    let config = config(&home).await;
    let upstream = Arc::new(Stateless::default());
    let gate = gate(&config, Arc::clone(&upstream) as Arc<dyn Connector>, None).await;
    let mcp = surface(&gate, open_door());
    let key = Some("k1");
    let asked = say_with(&mcp, key, json!({})).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let state = &asked["result"]["requestState"];
    let done = say_with(&mcp, key, answered("q", state)).await;
    assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
    let again = say_with(&mcp, key, json!({})).await;
    assert_eq!(again["result"]["content"][0]["text"], "done", "{again}");
    assert_eq!(upstream.effects.load(Ordering::SeqCst), 1);
    gate.close(Duration::from_secs(5)).await;
}

/// Where the upstream waits on a connection, only the gate that holds it can go on. Another says so,
/// in a word of its own, and sends nothing.
#[tokio::test]
async fn a_gate_that_does_not_hold_the_call_says_so_and_does_nothing() {
    let home = tempfile::tempdir().unwrap();
    let config = config(&home).await;
    let askers = [(); 2].map(|()| Asker::new(vec![("elicitation/create", elicitation())]));
    let gates = [
        gate(&config, Arc::new(askers[0].clone()), None).await,
        gate(&config, Arc::new(askers[1].clone()), None).await,
    ];
    let [one, other] = gates.each_ref().map(|gate| surface(gate, open_door()));
    let asked = say(&one, json!({})).await;
    let state = &asked["result"]["requestState"];
    let unknown = say(&other, answered("question-1", &json!("toolgate-1.guess"))).await;
    assert_eq!(unknown["error"]["data"]["error"], "ARGS_INVALID", "{unknown}");
    let lost = say(&other, answered("question-1", state)).await;
    assert_eq!(lost["error"]["data"]["error"], "ROUND_LOST", "{lost}");
    let message = lost["error"]["message"].as_str().unwrap();
    assert!(message.contains("call again without `requestState`"), "{message}");
    assert!(askers[1].heard().is_empty());
    let done = say(&one, answered("question-1", state)).await;
    assert_eq!(done["result"]["content"][0]["text"], "asked", "{done}");
    assert_eq!(askers[0].heard().len(), 1);
    for gate in gates {
        gate.close(Duration::from_secs(5)).await;
    }
}

/// CO-182: a task is its owner's on every gate, and nobody else's.
#[tokio::test]
async fn a_task_begun_at_one_gate_is_known_at_another_to_its_owner_alone() {
    let home = tempfile::tempdir().unwrap();
    let config = config(&home).await;
    let upstream = Arc::new(Stateless::default());
    let connector = || Arc::clone(&upstream) as Arc<dyn Connector>;
    let gates = [gate(&config, connector(), None).await, gate(&config, connector(), None).await];
    let send = async |gate: &Gateway, who: &str, method: Method, name: &str| {
        let caller = model::Caller::new(Principal::user(who));
        let request = CallRequest { method, ..CallRequest::new(caller, name, json!({})) };
        Box::pin(gate.call(request, Watch::default())).await
    };
    assert_eq!(code(&send(&gates[0], "ann", Method::CallTool, "dig").await), None);
    let get = Method::Task(TaskVerb::Get);
    // Whoever listens for a task asks the same.
    for (who, theirs) in [("eve", false), ("ann", true)] {
        let caller = model::Caller::new(Principal::user(who));
        let followed = Box::pin(gates[1].follow_task(&caller, "t1", true)).await;
        assert_eq!(followed.is_ok(), theirs, "{who}: {followed:?}");
    }
    let foreign = send(&gates[1], "eve", get.clone(), "t1").await;
    assert_eq!(code(&foreign), Some(Code::TaskNotFound));
    assert_eq!(code(&send(&gates[1], "ann", get, "t1").await), None);
    for gate in gates {
        gate.close(Duration::from_secs(5)).await;
    }
}

/// A surface over HTTP, until the guard is dropped.
async fn listening(mcp: server::Mcp) -> (SocketAddr, DropGuard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (to, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
    let guard = server::Guard::new(to, &[], &[]);
    let transport = server::Transport::Streamable;
    tokio::spawn(server::serve(mcp, transport, listener, guard, stop.clone()));
    (to, stop.drop_guard())
}

async fn post(to: SocketAddr, session: &str, message: Value) -> String {
    let body = message.to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {to}\r\nconnection: close\r\n{session}\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(to).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).await.unwrap();
    heard
}

/// A session is a client's at every gate, until it ends at one.
#[tokio::test]
async fn a_session_begun_at_one_gate_goes_on_at_another() {
    let home = tempfile::tempdir().unwrap();
    let config = config(&home).await;
    let recorder = Recorder::one("peek", Script::Echo);
    let connector = || Arc::new(recorder.clone()) as Arc<dyn Connector>;
    let gates = [gate(&config, connector(), None).await, gate(&config, connector(), None).await];
    let (one, _one) = listening(surface(&gates[0], open_door())).await;
    let (other, _other) = listening(surface(&gates[1], open_door())).await;
    let info = json!({"name": "c", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    let message = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let begun = post(one, "", message("initialize", params)).await;
    let id = begun.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let call = || message("tools/call", json!({"name": "peek", "arguments": {"n": 7}}));
    let made = post(other, &format!("mcp-session-id: {id}\r\n"), call()).await;
    assert!(made.starts_with("HTTP/1.1 200") && made.contains(r#""n":7"#), "{made}");
    let unknown = post(other, "mcp-session-id: somebody-elses\r\n", call()).await;
    assert!(unknown.starts_with("HTTP/1.1 404"), "{unknown}");
    assert_eq!(recorder.count(), 1);
    for gate in gates {
        gate.close(Duration::from_secs(5)).await;
    }
}

/// A run's budget is one budget, however many gates its calls come in at.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_gates_spend_one_budget() {
    let home = tempfile::tempdir().unwrap();
    let config = config(&home).await;
    let recorder = Recorder::one("pay", Script::Answer(Answer::text("paid")));
    let budget = model::run::RunBudget { max_calls: Some(7), ..model::run::RunBudget::default() };
    let runs = gateway::RunLimits { budget, ..gateway::RunLimits::default() };
    let gates = [
        bounded_replica(&config, &recorder, runs.clone()).await,
        bounded_replica(&config, &recorder, runs).await,
    ];
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..64 {
        let gate = Arc::clone(&gates[number % 2]);
        let run_id = Some("r1".to_owned());
        let request = CallRequest { run_id, ..pay(&format!("key-{number}")) };
        calls.spawn(async move { Box::pin(gate.call(request, Watch::default())).await.fault });
    }
    let refused: Vec<_> = calls.join_all().await.into_iter().flatten().map(|f| f.code).collect();
    assert_eq!((recorder.count(), refused.len()), (7, 57));
    assert!(refused.iter().all(|code| *code == Code::BudgetExceeded), "{refused:?}");
    for gate in gates {
        gate.close(Duration::from_secs(5)).await;
    }
}
