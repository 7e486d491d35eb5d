//! Clients that ask and do not read: what waits for one of them has an end, on every line that is not
//! its request's own, and nothing of it is lost once it reads.

use std::collections::BTreeSet;

use gateway::Mode;
use model::limits::{FRAMES_QUEUED, REQUESTS_PER_SESSION_MAX};
use serde_json::{Value, json};
use server::{Transport, stdio};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio_util::sync::CancellationToken;
use toolgate_testkit::{Recorder, Script, TestGateway, World};

use crate::door::{Door, OldStream, PATIENCE, status};
use crate::{mcp, open_door};

/// What may be under way and queued, and more than fits into any socket on the way.
const MOST: usize = FRAMES_QUEUED + REQUESTS_PER_SESSION_MAX + 256;

/// A gate with a long list.
async fn gate() -> World {
    let recorder = (0..40).fold(Recorder::new(), |recorder, number| {
        let (name, description) = (format!("tool_{number}"), "long ".repeat(400));
        let schema = json!({"type": "object"});
        let tool = json!({"name": name, "description": description, "inputSchema": schema});
        recorder.tool(tool, Script::Echo)
    });
    let gate = TestGateway::new().upstream("it", recorder);
    gate.settings(|settings| settings.mode = Mode::Native).start().await
}

fn list(id: usize) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})
}

#[tokio::test]
async fn a_stream_that_is_not_read_takes_no_more() {
    let world = gate().await;
    let door = Door::open(mcp(&world, open_door()), Transport::LegacySse).await;
    let check = async |message: fn(usize) -> Value, id: fn(&Value) -> &Value| {
        let mut stream = OldStream::open(&door, "2025-03-26").await;
        let mut taken = BTreeSet::new();
        let refused = loop {
            let number = taken.len();
            assert!(number < MOST, "nothing is refused");
            match status(&stream.post("", &message(number)).await) {
                202 => taken.insert(number.to_string()),
                refused => break refused,
            };
        };
        assert_eq!(refused, 429);
        while !taken.is_empty() {
            let said: Value = serde_json::from_str(&stream.heard().await).unwrap();
            // One more was told on the stream that it was too much, as long as there was room for it.
            taken.remove(&id(&said).to_string());
        }
        assert_eq!(status(&stream.post("", &message(MOST)).await), 202, "there is room again");
        let said: Value = serde_json::from_str(&stream.heard().await).unwrap();
        assert_eq!(id(&said), MOST);
    };
    check(list, |said| &said["id"]).await;
    check(|number| json!([list(number)]), |said| &said[0]["id"]).await;
}

/// Nothing more is read from whoever reads nothing.
#[tokio::test]
async fn a_pipe_that_is_not_read_takes_no_more() {
    let world = gate().await;
    let check = async |message: fn(usize) -> Value, id: fn(&Value) -> &Value| {
        let (mut input, theirs) = tokio::io::duplex(1 << 12);
        let (output, gate) = tokio::io::duplex(1 << 12);
        let surface = mcp(&world, open_door());
        let serving = tokio::spawn(stdio::serve(surface, theirs, gate, CancellationToken::new()));
        let mut lines = BufReader::new(output).lines();
        let hello = json!({"protocolVersion": "2025-03-26", "capabilities": {}});
        let hello = json!({"jsonrpc": "2.0", "id": "h", "method": "initialize", "params": hello});
        input.write_all(format!("{hello}\n").as_bytes()).await.unwrap();
        lines.next_line().await.unwrap().unwrap();
        let mut writing = tokio::spawn(async move {
            for number in 0..MOST {
                input.write_all(format!("{}\n", message(number)).as_bytes()).await.unwrap();
            }
            input
        });
        // From here on time passes as soon as nobody has anything to do.
        tokio::time::pause();
        let stalled = tokio::time::timeout(PATIENCE, &mut writing).await;
        tokio::time::resume();
        assert!(stalled.is_err(), "all of it was taken");
        let mut left: BTreeSet<String> = (0..MOST).map(|number| number.to_string()).collect();
        let mut refused = 0;
        while left.len() > refused {
            let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.unwrap();
            let said: Value = serde_json::from_str(&line.unwrap().unwrap()).unwrap();
            match said.get("error").filter(|_| said.get("id").is_none()) {
                Some(_) => refused += 1,
                None => assert!(left.remove(&id(&said).to_string()), "{said}"),
            }
        }
        drop(writing.await.unwrap());
        drop(lines);
        serving.await.unwrap();
    };
    check(list, |said| &said["id"]).await;
    check(|number| json!([list(number)]), |said| &said[0]["id"]).await;
}
