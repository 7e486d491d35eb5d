//! Every pair of a client's revision and a server's, over every transport to the server: what the
//! one says reaches the other in words it knows.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fall over"
)]

mod client;
mod http;
mod servers;
mod shapes;
mod tasks;
mod visits;
mod words;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::client::Client;
use self::servers::{Front, Over, front};

/// How long what must happen may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
/// The first revision that asks people.
const ASKS: &str = "2025-06-18";

macro_rules! each_server {
    ($($name:ident: $over:expr, $revision:expr;)*) => {
        $(#[tokio::test] async fn $name() { every_client($over, $revision).await; })*
    };
}

each_server! {
    pipe_2024_11_05: Over::Pipe, "2024-11-05";
    pipe_2025_03_26: Over::Pipe, "2025-03-26";
    pipe_2025_06_18: Over::Pipe, "2025-06-18";
    pipe_2025_11_25: Over::Pipe, "2025-11-25";
    pipe_2026_07_28: Over::Pipe, "2026-07-28";
    http_2025_03_26: Over::Http, "2025-03-26";
    http_2025_06_18: Over::Http, "2025-06-18";
    http_2025_11_25: Over::Http, "2025-11-25";
    http_2026_07_28: Over::Http, "2026-07-28";
    sse_2024_11_05: Over::Sse, "2024-11-05";
    sse_2025_03_26: Over::Sse, "2025-03-26";
    sse_2025_06_18: Over::Sse, "2025-06-18";
    sse_2025_11_25: Over::Sse, "2025-11-25";
}

/// CW-80, CW-81, CO-11, CO-12 (without a sandbox), CO-20, CO-21, CO-22 (towards upstreams), CO-28 and
/// CO-30 (passed on).
async fn every_client(over: Over, server: &'static str) {
    let front = front(over, server).await;
    for revision in REVISIONS {
        let mut client = Client::connect(&front.world, revision).await;
        lists(&mut client).await;
        calls(&mut client).await;
        fails(&mut client).await;
        reports(&mut client).await;
        samples(&mut client).await;
        roots(&mut client).await;
        cancels(&mut client).await;
        logs(&mut client).await;
        if revision >= ASKS && server >= ASKS {
            asks(&mut client).await;
        }
        client.leave().await;
        becomes_a_task(&front, revision, server).await;
        hears_of_changes(&front, revision).await;
    }
}

async fn lists(client: &mut Client) {
    let listed = client.ask("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
    assert!(tools.iter().any(|tool| tool["name"] == "test_simple_text"));
    assert_eq!(listed["result"]["resultType"] == "complete", client.is_modern());
}

async fn calls(client: &mut Client) {
    let answer = client.call("test_simple_text", json!({})).await;
    let text = answer["result"]["content"][0]["text"].as_str();
    assert_eq!(text, Some("This is a simple text response for testing."), "{answer}");
    assert_eq!(answer["result"]["resultType"] == "complete", client.is_modern(), "{answer}");
}

async fn fails(client: &mut Client) {
    let answer = client.call("test_error_handling", json!({})).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let unknown = client.call("no_such_tool", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

async fn reports(client: &mut Client) {
    let mut params = json!({"name": "test_tool_with_progress", "arguments": {}});
    params["_meta"] = json!({"progressToken": "mine"});
    let answer = client.ask("tools/call", params).await;
    assert!(answer["result"]["content"].is_array(), "{answer}");
    let steps: Vec<Value> = client.take_news("notifications/progress");
    let done: Vec<_> = steps.iter().map(|step| step["params"]["progress"].as_f64()).collect();
    assert_eq!(done, [Some(0.0), Some(50.0), Some(100.0)]);
    assert!(steps.iter().all(|step| step["params"]["progressToken"] == "mine"));
}

async fn samples(client: &mut Client) {
    let content = json!({"type": "text", "text": "Paris"});
    client.will_answer(json!({"role": "assistant", "model": "m", "content": content}));
    let answer = client.call("test_sampling", json!({"prompt": "Capital of France?"})).await;
    let text = answer["result"]["content"][0]["text"].as_str();
    assert_eq!(text, Some("LLM response: Paris"), "{answer}");
    assert_eq!(client.take_asked(), ["sampling/createMessage"]);
}

async fn roots(client: &mut Client) {
    client.will_answer(json!({"roots": [{"uri": "file:///home/ann", "name": "home"}]}));
    let answer = client.call("test_input_required_result_list_roots", json!({})).await;
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("file:///home/ann"), "{answer}");
    assert_eq!(client.take_asked(), ["roots/list"]);
}

/// What a client gives up, the server gives up, and nothing is said about it any more.
async fn cancels(client: &mut Client) {
    let cancelled = async |client: &mut Client| {
        let answer = client.call("test_waits_cancelled", json!({})).await;
        answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    };
    let before = cancelled(client).await;
    client.begin_and_cancel("test_wait").await;
    let began = Instant::now();
    while cancelled(client).await == before {
        assert!(began.elapsed() < PATIENCE, "the server does not know that it was cancelled");
    }
    // An answer would have been taken for that of another request.
    assert!(client.take_news("notifications/progress").is_empty());
}

/// A level said once, or with each request: the server logs as it says, and what one client does not
/// want to hear is kept from no other.
async fn logs(client: &mut Client) {
    let logged = async |client: &mut Client| {
        client.call("test_tool_with_logging", json!({})).await;
        client.take_news("notifications/message").len()
    };
    client.wants_logs("debug").await;
    let began = Instant::now();
    while logged(client).await == 0 {
        assert!(began.elapsed() < PATIENCE, "nothing is logged");
    }
    client.wants_logs("error").await;
    assert_eq!(logged(client).await, 0);
}

/// Lists that change and resources that somebody follows, told in the client's own way.
async fn hears_of_changes(front: &Front, revision: &'static str) {
    const WATCHED: &str = "test://watched-resource";
    let mut client = Client::connect(&front.world, revision).await;
    client.follow(WATCHED).await;
    for (trigger, told) in [
        ("test_trigger_tool_change", "notifications/tools/list_changed"),
        ("test_trigger_resource_change", "notifications/resources/updated"),
    ] {
        let began = Instant::now();
        let news = loop {
            client.call(trigger, json!({})).await;
            if let Some(news) = client.take_news(told).pop() {
                break news;
            }
            assert!(began.elapsed() < PATIENCE, "{revision} does not hear of {told}");
        };
        let uri = news["params"]["uri"].as_str();
        assert_eq!(uri, told.ends_with("updated").then_some(WATCHED), "{news}");
    }
    client.leave().await;
}

/// A job that its server makes a task is one for a client that follows tasks, and for others an answer
/// that takes its time. Servers before 2026-07-28 have none here; those with tasks of their own are in
/// `tasks.rs`.
async fn becomes_a_task(front: &Front, revision: &'static str, server: &str) {
    let modern = |revision: &str| revision == "2026-07-28";
    let follows = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let able = if modern(revision) { follows } else { json!({}) };
    let mut client = Client::connect_able(&front.world, revision, able).await;
    let answer = match (modern(revision), modern(server)) {
        (true, true) => {
            let begun = client.call("slow_compute", json!({"seconds": 0.01})).await;
            assert_eq!(begun["result"]["resultType"], "task", "{begun}");
            client.until_done(&begun["result"]["taskId"]).await
        }
        (false, true) => client.call("failing_job", json!({})).await["result"].clone(),
        _ => client.call("slow_compute", json!({"seconds": 0.01})).await["result"].clone(),
    };
    let text = answer["content"][0]["text"].as_str().unwrap_or_default();
    let wanted = if modern(server) && !modern(revision) { "always fails" } else { "computed for" };
    assert!(text.contains(wanted), "{revision} on {server}: {answer}");
    client.leave().await;
}

/// CO-208: accepted, declined, given up; each in the client's own way.
async fn asks(client: &mut Client) {
    for (given, told) in [
        (json!({"action": "accept", "content": {"username": "Ann", "email": "a@b.c"}}), "accept"),
        (json!({"action": "decline"}), "decline"),
        (json!({"action": "cancel"}), "cancel"),
    ] {
        client.will_answer(given);
        let answer = client.call("test_elicitation", json!({"message": "Who are you?"})).await;
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains(told), "{told}: {answer}");
        assert_eq!(client.take_asked(), ["elicitation/create"]);
    }
}

/// CO-184, CO-208: the state of a call put aside is of this caller and this request, and counts once.
#[tokio::test]
async fn a_state_is_used_once_and_only_for_what_it_was_given_for() {
    let front = front(Over::Pipe, "2025-11-25").await;
    let mut client = Client::connect(&front.world, "2026-07-28").await;
    let ask = json!({"name": "test_elicitation", "arguments": {"message": "Who?"}});
    let first = client.once("tools/call", ask.clone()).await;
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let requests = first["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(requests["question-1"]["method"], "elicitation/create");
    let again = |arguments: Value, state: Value| {
        let responses = json!({"question-1": {"action": "decline"}});
        json!({"name": "test_elicitation", "arguments": arguments,
               "inputResponses": responses, "requestState": state})
    };
    let state = first["result"]["requestState"].clone();
    let other =
        client.once("tools/call", again(json!({"message": "Another?"}), state.clone())).await;
    assert_eq!(other["error"]["code"], -32602, "{other}");
    let forged = json!("toolgate-1.0000000000000000");
    let forged = client.once("tools/call", again(json!({"message": "Who?"}), forged)).await;
    assert_eq!(forged["error"]["code"], -32602, "{forged}");
    let good = client.once("tools/call", again(json!({"message": "Who?"}), state.clone())).await;
    assert!(good["result"]["content"][0]["text"].as_str().unwrap().contains("decline"), "{good}");
    let twice = client.once("tools/call", again(json!({"message": "Who?"}), state)).await;
    assert_eq!(twice["error"]["code"], -32602, "{twice}");
    client.leave().await;
}

/// PROTOCOL 1.5: whoever comes back without an answer is asked again, under a new state.
#[tokio::test]
async fn what_was_not_answered_is_asked_again() {
    let front = front(Over::Pipe, "2025-11-25").await;
    let mut client = Client::connect(&front.world, "2026-07-28").await;
    let call = |state: Value, responses: Value| {
        json!({"name": "test_elicitation", "arguments": {"message": "Who?"},
               "inputResponses": responses, "requestState": state})
    };
    let mut asked = client.once("tools/call", call(Value::Null, json!({}))).await;
    let questions = asked["result"]["inputRequests"].clone();
    for responses in [Value::Null, json!({}), json!({"question-9": {"action": "accept"}})] {
        let state = asked["result"]["requestState"].clone();
        asked = client.once("tools/call", call(state.clone(), responses)).await;
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        assert_eq!(asked["result"]["inputRequests"], questions, "{asked}");
        assert_ne!(asked["result"]["requestState"], state, "{asked}");
    }
    let state = asked["result"]["requestState"].clone();
    let answered = json!({"question-1": {"action": "decline"}});
    let done = client.once("tools/call", call(state, answered)).await;
    assert!(done["result"]["content"][0]["text"].as_str().unwrap().contains("decline"), "{done}");
    client.leave().await;
}

/// Who did not say that it can be asked is not, in either direction.
#[tokio::test]
async fn nobody_is_asked_what_it_cannot_answer() {
    for server in ["2025-11-25", "2026-07-28"] {
        let front = front(Over::Pipe, server).await;
        for revision in ["2025-11-25", "2026-07-28"] {
            let mut client = Client::connect_able(&front.world, revision, json!({})).await;
            let answer = client.call("test_elicitation", json!({"message": "Who?"})).await;
            assert!(client.take_asked().is_empty());
            let told = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
            let refused = answer.get("error").is_some() || answer["result"]["isError"] == true;
            assert!(refused || told.contains("decline"), "{answer}");
            client.leave().await;
        }
    }
}
