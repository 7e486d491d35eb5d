//! Heads of requests that say a thing twice or not at all, written by hand: no client library would.

use serde_json::json;
use server::Transport;
use toolgate_testkit::{Recorder, Script, TestGateway};

use crate::door::{Door, OldStream, status};
use crate::{mcp, open_door};

const JSON: &str = "content-type: application/json\r\n";
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// CW-117, CO-190: whoever stands before the gate may go by the other of two, so neither counts.
#[tokio::test]
async fn a_name_that_comes_twice_or_not_at_all_is_not_ours() {
    let world = TestGateway::new().demo().start().await;
    for (transport, first) in [
        (Transport::Streamable, "POST /mcp"),
        (Transport::LegacySse, "POST /messages/?session_id=x"),
        (Transport::LegacySse, "GET /healthz"),
    ] {
        let door = Door::open(mcp(&world, open_door()), transport).await;
        let check = async |lines: String, wanted: Option<u16>| {
            let said = door.raw(first, &format!("{JSON}{lines}"), LIST).await;
            let refused = Some(status(&said)).filter(|status| [421, 403].contains(status));
            assert_eq!(refused, wanted, "{first} {lines:?}: {said}");
        };
        let (host, origin) =
            (format!("host: {}\r\n", door.to), format!("origin: http://{}\r\n", door.to));
        check(host.clone(), None).await;
        check(String::new(), Some(421)).await;
        check(format!("{host}{host}"), Some(421)).await;
        check(format!("{host}host: evil.example\r\n"), Some(421)).await;
        check(format!("{host}{origin}"), None).await;
        check(format!("{host}{origin}{origin}"), Some(403)).await;
        check(format!("{host}{origin}origin: https://evil.example\r\n"), Some(403)).await;
    }
}

/// 2026-07-28: what is repeated in the head is repeated once.
#[tokio::test]
async fn a_repeated_head_that_comes_twice_does_not_fit_its_body() {
    let schema = json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
    let definition = json!({"name": "peek", "description": "Look.", "inputSchema": schema});
    let gate = TestGateway::new().upstream("it", Recorder::new().tool(definition, Script::Echo));
    let world = gate.settings(|settings| settings.mode = gateway::Mode::Native).start().await;
    let door = Door::open(mcp(&world, open_door()), Transport::Streamable).await;
    let check = async |region: Option<&str>, more: &str, wanted: u16| {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let arguments = region.map_or(json!({}), |region| json!({"region": region}));
        let params = json!({"name": "peek", "arguments": arguments, "_meta": meta});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let head =
            "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: peek\r\n";
        let said = door.send("POST /mcp", &format!("{head}{more}"), &call.to_string()).await;
        assert_eq!(status(&said), wanted, "{more:?}: {said}");
        assert_eq!(said.contains("-32020"), wanted == 400, "{said}");
    };
    let region = "mcp-param-region: eu\r\n";
    check(None, "", 200).await;
    check(Some("eu"), region, 200).await;
    check(Some("eu"), &region.repeat(2), 400).await;
    check(None, &region.repeat(2), 400).await;
    for twice in
        ["mcp-method: tools/list\r\n", "mcp-name: peek\r\n", "mcp-protocol-version: 2025-11-25\r\n"]
    {
        check(None, twice, 400).await;
    }
}

/// On the older transport nothing holds a head against its body, and nothing ends a request with its
/// connection: one of 2026-07-28 is told where it belongs.
#[tokio::test]
async fn a_stateless_request_is_not_served_on_the_older_transport() {
    let world = TestGateway::new().demo().start().await;
    let door = Door::open(mcp(&world, open_door()), Transport::LegacySse).await;
    for revision in ["2024-11-05", "2025-03-26"] {
        let stream = OldStream::open(&door, revision).await;
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"_meta": meta});
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
        for sent in [list.clone(), json!([list])] {
            let said = stream.post("", &sent).await;
            assert_eq!(status(&said), 400, "{said}");
            assert!(said.contains("content-type: application/json\r\n"), "{said}");
            assert!(said.contains("-32600") && said.contains("Streamable HTTP"), "{said}");
        }
    }
}

/// A key may stand in the head on every route that takes messages over HTTP.
#[tokio::test]
async fn a_key_in_the_head_counts_on_the_older_transport() {
    let recorder = Recorder::one("pay", Script::Echo);
    let gate = TestGateway::new().upstream("bank", recorder.clone());
    let world = gate.settings(|settings| settings.mode = gateway::Mode::Native).start().await;
    let door = Door::open(mcp(&world, open_door()), Transport::LegacySse).await;
    let mut stream = OldStream::open(&door, "2025-03-26").await;
    let key = "idempotency-key: k1\r\n";
    let pay = |id: u64| {
        let params = json!({"name": "pay", "arguments": {}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    for id in [1, 2] {
        assert_eq!(status(&stream.post(key, &pay(id)).await), 202);
        let said = stream.heard().await;
        assert!(said.contains(&format!("\"id\":{id},\"result\"")), "{said}");
    }
    assert_eq!(recorder.count(), 1, "the second is answered with the first's answer");
    let said = stream.post(key, &json!([pay(3), pay(4)])).await;
    assert!(status(&said) == 400 && said.contains("Idempotency-Key"), "{said}");
}

/// CW-118: before anything is looked up, on both transports.
#[tokio::test]
async fn only_json_is_read() {
    let world = TestGateway::new().demo().start().await;
    for (transport, first) in [
        (Transport::Streamable, "POST /mcp"),
        (Transport::LegacySse, "POST /messages/?session_id=x"),
    ] {
        let door = Door::open(mcp(&world, open_door()), transport).await;
        let check = async |kind: &str, refused: bool| {
            let lines = format!("host: {}\r\n{kind}", door.to);
            let said = door.raw(first, &lines, LIST).await;
            assert_eq!(status(&said) == 415, refused, "{first} {kind:?}: {said}");
        };
        check("", true).await;
        check("content-type: text/plain\r\n", true).await;
        check("content-type: application/x-www-form-urlencoded\r\n", true).await;
        check("content-type: application/json; charset=utf-8\r\n", false).await;
    }
}
