//! Several messages in one array: in the one revision that has them, with an end, on every transport.

use gateway::Mode;
use model::Answer;
use model::limits::BATCH_MAX;
use serde_json::{Value, json};
use server::Transport;
use toolgate_testkit::{Asker, Recorder, Script, TestGateway, World};

use crate::around::line::{Era, Line, Over};
use crate::door::{Door, session_line};
use crate::{mcp, open_door};

const HAS: &str = "2025-03-26";

fn ping(id: impl Into<Value>) -> Value {
    let id: Value = id.into();
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

fn call(id: u64, tool: &str) -> Value {
    let params = json!({"name": tool, "arguments": {}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

async fn native(gate: TestGateway) -> World {
    gate.settings(|settings| settings.mode = Mode::Native).start().await
}

#[tokio::test]
async fn a_batch_is_answered_by_one_array_where_there_are_batches() {
    let world = native(TestGateway::new().demo()).await;
    for over in [Over::Stdio, Over::Http, Over::Sse] {
        let mut line = Line::open(&world, over, Era::Old).await;
        line.greet(HAS, json!({})).await;
        let news = json!({"jsonrpc": "2.0", "method": "notifications/vendor"});
        let hello = json!({"jsonrpc": "2.0", "id": 9, "method": "initialize", "params": {"protocolVersion": HAS}});
        let said = line.say(&json!([ping("a"), news, hello, {"id": 8}])).await;
        assert_eq!(said[0], json!({"jsonrpc": "2.0", "id": "a", "result": {}}), "{over:?}: {said}");
        assert_eq!((&said[1]["id"], &said[1]["error"]["code"]), (&json!(9), &json!(-32600)));
        assert_eq!((&said[2]["id"], &said[2]["error"]["code"]), (&json!(8), &json!(-32600)));
        let said = line.say(&json!([ping("alone")])).await;
        assert_eq!(said[0]["id"], "alone", "{over:?}: {said}");
    }
}

#[tokio::test]
async fn a_batch_too_long_or_out_of_its_time_is_refused() {
    let world = native(TestGateway::new().demo()).await;
    for over in [Over::Stdio, Over::Http, Over::Sse] {
        let check = async |revision: &str, count: usize| {
            let mut line = Line::open(&world, over, Era::Old).await;
            line.greet(revision, json!({})).await;
            let batch: Vec<Value> = (0..count).map(|id| ping(id + 100)).collect();
            let said = line.say(&json!(batch)).await;
            assert_eq!(said["error"]["code"], -32600, "{over:?} {revision} {count}: {said}");
        };
        check(HAS, BATCH_MAX + 1).await;
        for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
            check(revision, 2).await;
        }
    }
}

/// A client that waits for an array cannot be asked: the upstream hears so at once.
#[tokio::test]
async fn nobody_is_asked_in_the_course_of_a_batch() {
    for over in [Over::Stdio, Over::Http, Over::Sse] {
        let form =
            json!({"message": "Where?", "requestedSchema": {"type": "object", "properties": {}}});
        let asker = Asker::new(vec![("elicitation/create", form), ("roots/list", json!({}))]);
        let world = native(TestGateway::new().upstream("it", asker.clone())).await;
        let mut line = Line::open(&world, over, Era::Old).await;
        line.greet(HAS, json!({"elicitation": {}, "roots": {}})).await;
        let said = line.say(&json!([call(2, "ask"), ping(3)])).await;
        assert_eq!(said[0]["result"]["content"][0]["text"], "asked", "{over:?}: {said}");
        assert_eq!(said[1]["id"], 3, "{said}");
        assert!(asker.heard().iter().all(Result::is_err), "{:?}", asker.heard());
    }
}

/// One request that cannot be taken costs the others nothing, and says why in words and a code.
#[tokio::test]
async fn a_request_that_is_refused_leaves_the_other_answers() {
    let recorder = Recorder::one("sleep", Script::Wait(Answer::text("awake")));
    let world = native(TestGateway::new().upstream("bed", recorder.clone())).await;
    let door = Door::open(mcp(&world, open_door()), Transport::Streamable).await;
    let params = json!({"protocolVersion": HAS, "capabilities": {}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let session = session_line(&door.send("POST /mcp", "", &hello.to_string()).await);
    let (sleep, batch) = (call(7, "sleep").to_string(), json!([ping(1), ping(7), ping(2)]));
    let sleeping = door.send("POST /mcp", &session, &sleep);
    let batching = async {
        recorder.arrived().await;
        let said = door.send("POST /mcp", &session, &batch.to_string()).await;
        let alone = door.send("POST /mcp", &session, &ping(7).to_string()).await;
        recorder.release();
        [said, alone].map(|said| {
            let body = said.split_once("\r\n\r\n").unwrap().1;
            serde_json::from_str::<Value>(body).unwrap()
        })
    };
    let (_, [said, alone]) = tokio::join!(sleeping, batching);
    assert_eq!((&said[0]["id"], &said[2]["id"]), (&json!(1), &json!(2)), "{said}");
    for refused in [&said[1], &alone] {
        assert_eq!(refused["id"], 7, "{refused}");
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
        assert_eq!(refused["error"]["data"]["error"], "PROTOCOL", "{refused}");
    }
}
