//! What goes through the gate letter by letter: numbers, unknown fields, the order of keys.

use gateway::Mode;
use server::stdio;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio_util::sync::CancellationToken;
use toolgate_testkit::{TestGateway, World};
use upstream::stdio::{Config, Stdio};

use crate::{mcp, open_door};

async fn world() -> World {
    let config = Config::new(env!("CARGO_BIN_EXE_fake_mcp"));
    let gateway = TestGateway::new().upstream("child", Stdio::new(config));
    gateway.settings(|settings| settings.mode = Mode::Native).start().await
}

/// Says one line to the gate and gives the line it answers with.
async fn answer(world: &World, line: &str) -> String {
    let (mut client, input) = tokio::io::duplex(64 * 1024);
    let (output, gate) = tokio::io::duplex(64 * 1024);
    let serving =
        tokio::spawn(stdio::serve(mcp(world, open_door()), input, gate, CancellationToken::new()));
    client.write_all(line.as_bytes()).await.unwrap();
    client.write_all(b"\n").await.unwrap();
    drop(client);
    let mut answer = String::new();
    BufReader::new(output).read_line(&mut answer).await.unwrap();
    serving.await.unwrap();
    answer.trim_end().to_owned()
}

/// What no value of ours could keep: more digits than fit, exponents, trailing zeros.
const ODD: &str = r#"{"big":123456789012345678901234567890,"e":1e2,"z":1.10,"a":{"b":-0.0}}"#;

#[tokio::test]
async fn numbers_are_passed_on_as_they_are_written() {
    let world = world().await;
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":"q-1","method":"tools/call","params":{{"name":"verbatim","arguments":{ODD}}}}}"#
    );
    let wanted = format!(
        r#"{{"jsonrpc":"2.0","id":"q-1","result":{{"x":1.50,"content":[],"structuredContent":{ODD},"_meta":{{"v/b":1e2,"v/a":[]}}}}}}"#
    );
    assert_eq!(answer(&world, &call).await, wanted);
}

#[tokio::test]
async fn a_stateless_client_gets_the_same_letters_and_its_stamps() {
    let world = world().await;
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"verbatim","arguments":{ODD},"_meta":{meta}}}}}"#
    );
    let said = answer(&world, &call).await;
    assert!(said.contains(&format!(r#""structuredContent":{ODD}"#)), "{said}");
    assert!(said.contains(r#""resultType":"complete""#), "{said}");
}

/// What was cleaned is no longer what was written; then the value counts.
#[tokio::test]
async fn an_answer_that_had_to_be_cleaned_is_written_anew() {
    let world = world().await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"verbatim","arguments":{"t":"a\u0007b","n":1e2}}}"#;
    let said = answer(&world, call).await;
    assert!(said.contains(r#""structuredContent":{"t":"ab","n":100.0}"#), "{said}");
}
