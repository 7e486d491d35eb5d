//! What goes through the gate letter by letter: numbers, unknown fields, the order of keys.

use gateway::Mode;
use server::stdio;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio_util::sync::CancellationToken;
use toolgate_testkit::{Recorder, Script, TestGateway, World};
use upstream::stdio::{Config, Stdio};

use crate::{mcp, open_door};

async fn world() -> World {
    world_in(Mode::Native).await
}

async fn world_in(mode: Mode) -> World {
    let config = Config::new(env!("CARGO_BIN_EXE_fake_mcp"));
    let gateway = TestGateway::new().upstream("child", Stdio::new(config));
    gateway.settings(|settings| settings.mode = mode).start().await
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

/// What no value of ours could repeat: exponents, trailing zeros.
const ODD: &str = r#"{"big":1.20e+30,"e":1e2,"z":1.10,"a":{"b":-0.0}}"#;

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

#[tokio::test]
async fn arguments_within_arguments_keep_their_letters_too() {
    let recorder = Recorder::one("peek", Script::Echo);
    let gate = TestGateway::new().upstream("it", recorder.clone());
    let world = gate.settings(|settings| settings.mode = Mode::Gateway).start().await;
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"tool_execute","arguments":{{"tool_id":"peek","args": {ODD} }}}}}}"#
    );
    let said = answer(&world, &call).await;
    let written = recorder.calls().pop().and_then(|seen| seen.written);
    assert_eq!(written.as_deref(), Some(ODD), "{said}");
}

/// A number is sent as it is written or not at all: what is judged, hashed and asked about is a value.
#[tokio::test]
async fn a_number_that_no_value_holds_is_refused() {
    let check = async |mode: Mode, name: &str, arguments: &str, wanted: Option<&str>| {
        let world = world_in(mode).await;
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
        );
        let said = answer(&world, &call).await;
        assert_eq!(said.contains("ARGS_INVALID"), wanted.is_some(), "{said}");
        let told = wanted.map(|number| format!("the number `{number}` cannot be held exactly"));
        assert!(told.is_none_or(|told| said.contains(&told)), "{said}");
    };
    let native = Mode::Native;
    check(native, "verbatim", r#"{"n":18446744073709551615}"#, None).await;
    let big = "18446744073709551617";
    check(native, "verbatim", &format!(r#"{{"n":{big}}}"#), Some(big)).await;
    let close = "100.00000000000000001";
    check(native, "verbatim", &format!(r#"{{"n":[{{"m":{close}}}]}}"#), Some(close)).await;
    let within = format!(r#"{{"tool_id":"verbatim","args":{{"n":{big}}}}}"#);
    check(Mode::Gateway, "tool_execute", &within, Some(big)).await;
    let rehearsed = within.replacen('{', r#"{"dry_run":true,"#, 1);
    check(Mode::Gateway, "tool_execute", &rehearsed, Some(big)).await;
}

/// What was cleaned is no longer what was written; then the value counts.
#[tokio::test]
async fn an_answer_that_had_to_be_cleaned_is_written_anew() {
    let world = world().await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"verbatim","arguments":{"t":"a\u0007b","n":1e2}}}"#;
    let said = answer(&world, call).await;
    assert!(said.contains(r#""structuredContent":{"t":"ab","n":100.0}"#), "{said}");
}
