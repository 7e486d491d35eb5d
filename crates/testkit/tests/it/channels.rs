//! What only a program can correct is an error of the protocol, on the wire and on record.

use gateway::Mode;
use model::{Code, ErrorKind, RecordStatus};
use serde_json::{Value, json};
use toolgate_testkit::{Recorder, Script, TestGateway};

use crate::around::line::{Era, Line, Over};

/// CO-130: unknown tools and methods, and messages that are none.
#[tokio::test]
async fn what_breaks_the_protocol_is_an_error_of_the_protocol_and_on_record_as_failed() {
    let recorder = Recorder::one("peek", Script::Echo);
    let gate = TestGateway::new().upstream("shelf", recorder.clone());
    let gate = gate.upstream("other", Recorder::one("pick", Script::Echo));
    let world = gate.settings(|settings| settings.mode = Mode::Native).start().await;
    for (over, era) in [(Over::Stdio, Era::Old), (Over::Http, Era::Old), (Over::Sse, Era::Old)] {
        let mut line = Line::connect(&world, over, era).await;
        let check = |said: &Value, code: i64| {
            assert_eq!(said["error"]["code"], code, "{over:?}: {said}");
        };
        let before = world.records().await.len();
        let unknown = json!({"name": "no_such_tool", "arguments": {}});
        check(&line.ask("tools/call", unknown).await, -32602);
        let records = world.records().await;
        assert_eq!(records.len(), before + 1);
        let record = records.last().unwrap();
        assert_eq!(record.status, RecordStatus::Failed);
        let fault = record.result.as_ref().unwrap().error.as_ref().unwrap();
        assert_eq!((fault.code, fault.code.kind()), (Code::ToolNotFound, ErrorKind::Protocol));
        check(&line.ask("vendor/magic", json!({})).await, -32601);
        check(&line.say(&json!({"id": 77, "method": "ping"})).await, -32600);
    }
    assert_eq!(recorder.count(), 0);
}
