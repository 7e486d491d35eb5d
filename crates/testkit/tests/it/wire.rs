//! What goes through the gate letter by letter: numbers, unknown fields, the order of keys.

use gateway::Mode;
use server::{Transport, stdio};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio_util::sync::CancellationToken;
use toolgate_testkit::{Recorder, Script, TestGateway, World};
use upstream::mcp::Age;
use upstream::stdio::{Config, Stdio};

use crate::door::Door;
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

/// A server of either design that reads, gets, calls and does what nobody knows with odd letters, and
/// says what it was asked with.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\),"method".*/\1/p')
  params=$(printf '%s' "$line" | sed -n 's/.*"params":\(.*\)}$/\1/p')
  odd='"n":1e2,"_meta":{"a":1.50}'
  [ "$1" = new ] && odd="$odd"',"resultType":"complete","ttlMs":1e3,"cacheScope":"public"'
  able='"capabilities":{"tools":{},"prompts":{},"resources":{}}'
  case $1$line in
    new*'"method":"server/discover"'*) r='{"resultType":"complete","supportedVersions":["2026-07-28"],'$able',"ttlMs":0,"cacheScope":"private"}' ;;
    old*'"method":"initialize"'*) r='{"protocolVersion":"2025-11-25",'$able',"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"tools/list"'*) r='{"tools":[{"name":"peek","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"prompts/list"'*) r='{"prompts":[{"name":"greet"}]}' ;;
    *'"method":"resources/list"'*) r='{"resources":[{"uri":"test://page","name":"page"}]}' ;;
    *'"method":"resources/templates/list"'*) r='{"resourceTemplates":[]}' ;;
    *'"method":"resources/read"'*) r='{"contents":[],'$odd'}' ;;
    *'"method":"prompts/get"'*) r='{"messages":[],'$odd'}' ;;
    *'"method":"tools/call"'*) r='{"content":[],'$odd'}' ;;
    *'"method":"vendor/magic"'*) r='{"said":'$params','$odd'}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
"#;

/// Between designs some keys come and some go; the others keep their letters.
#[tokio::test]
async fn every_result_and_every_unknown_method_keeps_its_letters() {
    for (design, revision) in [("old", "2025-11-25"), ("new", "2026-07-28")] {
        let args = ["-c", SERVER, "sh", design].map(str::to_owned).to_vec();
        let age = Age::Pinned(revision.parse().unwrap());
        let config = Config { args, age, ..Config::new("sh") };
        let gate = TestGateway::new().upstream("it", Stdio::new(config));
        let world = gate.settings(|settings| settings.mode = Mode::Native).start().await;
        let ask = async |method: &str, params: &str, modern: bool| {
            let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
            let both = [params, meta];
            let params = both.iter().take(1 + usize::from(modern)).copied().collect::<Vec<_>>();
            let params = params.join(",");
            let line =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}"#);
            answer(&world, &line).await
        };
        for (method, params) in [
            ("resources/read", r#""uri":"test://page""#),
            ("prompts/get", r#""name":"greet""#),
            ("tools/call", r#""name":"peek","arguments":{}"#),
            ("vendor/magic", r#""x":1.10,"y":[1E5]"#),
        ] {
            let old = ask(method, params, false).await;
            let new = ask(method, params, true).await;
            let said = format!("{design} {method}\n{old}\n{new}");
            for reader in [&old, &new] {
                assert!(reader.contains(r#""n":1e2"#) && reader.contains(r#""a":1.50"#), "{said}");
                let magic = reader.contains(r#""x":1.10,"y":[1E5]"#);
                assert_eq!(magic, method == "vendor/magic", "{said}");
            }
            assert!(!old.contains("cacheScope") && !old.contains("resultType"), "{said}");
            assert!(new.contains(r#""resultType":"complete""#), "{said}");
            assert!(new.contains("io.modelcontextprotocol/serverInfo"), "{said}");
            let private = new.contains(r#""cacheScope":"private""#);
            assert_eq!(private, method == "resources/read", "{said}");
        }
    }
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

/// A whole message on a line of its own within the arguments of another would be a call that nobody
/// allowed, if it came to a child so.
#[tokio::test]
async fn no_message_within_another_reaches_a_child_as_a_line() {
    const SMUGGLED: &str =
        r#"{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"fail"}}"#;
    let home = tempfile::tempdir().unwrap();
    let heard = home.path().join("heard");
    let tee = format!("tee -a {} | {}", heard.display(), env!("CARGO_BIN_EXE_fake_mcp"));
    let config = Config { args: vec!["-c".to_owned(), tee], ..Config::new("sh") };
    for (mode, name, given) in [
        (Mode::Native, "verbatim", ""),
        (Mode::Gateway, "tool_execute", r#""tool_id":"verbatim","#),
    ] {
        let gate = TestGateway::new().upstream("child", Stdio::new(config.clone()));
        let world = gate.settings(|settings| settings.mode = mode).start().await;
        for end in ["\n", "\r", "\r\n"] {
            let args = format!(r#"{{"odd":1e2,"x":{end}{SMUGGLED}{end}}}"#);
            let args = if given.is_empty() { args } else { format!(r#"{{{given}"args":{args}}}"#) };
            let params = format!(r#"{{"name":"{name}","arguments":{args}}}"#);
            let call =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
            // Over HTTP: a body has line ends where a line on a pipe cannot.
            let door = Door::open(mcp(&world, open_door()), Transport::Streamable).await;
            let said = door.send("POST /mcp", "", &call).await;
            assert!(said.contains("100") || said.contains("1e2"), "{said}");
        }
    }
    let heard = std::fs::read_to_string(heard).unwrap();
    assert!(!heard.contains('\r'), "{heard}");
    let lines = heard.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let calls = lines.filter(|line| line["method"] == "tools/call");
    let names: Vec<_> = calls.map(|call| call["params"]["name"].clone()).collect();
    assert_eq!(names, ["verbatim"; 6]);
}
