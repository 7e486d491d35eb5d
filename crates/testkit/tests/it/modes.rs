//! CW-67: three ways to show one catalogue, over one core.

use async_trait::async_trait;
use catalog::Query;
use gateway::{CallRequest, Mode, Via};
use model::{Answer, Code, Fault, LogLevel, Selector};
use policy::Permit;
use serde_json::{Value, json};
use toolgate_testkit::{Recorder, Script, TestGateway, World, tool};
use upstream::{Connector, Errand, News};

use crate::around::line::{Era, Line, Over};
use crate::{ROAD, code};

/// Two shelves behind one gate, each with a tool that wants a number.
async fn library(mode: Mode) -> World {
    let input = json!({
        "type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"],
    });
    let shelf =
        |name: &str| Recorder::new().tool(tool(name, json!({"inputSchema": input})), Script::Echo);
    TestGateway::new()
        .upstream("a", shelf("shelf.get"))
        .upstream("b", shelf("attic.get"))
        .settings(|settings| settings.mode = mode)
        .start()
        .await
}

fn names(menu: &[Value]) -> Vec<&str> {
    menu.iter().filter_map(|tool| tool["name"].as_str()).collect()
}

/// CW-67, CW-81: every tool of every upstream with its whole schema.
#[tokio::test]
async fn native_mode_lists_every_tool_whole() {
    let world = library(Mode::Native).await;
    let menu = world.gateway.menu(&World::ann());
    assert_eq!(names(menu.get()), ["mcp__a__shelf_get", "mcp__b__attic_get"]);
    assert_eq!(menu.get()[0]["inputSchema"]["required"], json!(["number"]));
}

/// CO-24: what a tool declares is listed and held to, what it answers and whether that is an error is
/// what its caller reads.
#[tokio::test]
async fn schemas_content_and_the_error_flag_are_the_surface_of_a_tool() {
    let input = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let output =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let counted = |value: Value| Script::Answer(Answer::structured(value));
    let whole = |name: &str| tool(name, json!({"inputSchema": input, "outputSchema": output}));
    let recorder = Recorder::new()
        .tool(whole("good"), counted(json!({"n": 1})))
        .tool(tool("plain", json!({"inputSchema": input})), Script::Answer(Answer::text("hi")))
        .tool(whole("sorry"), Script::Answer(Answer::error("the shelf is empty")));
    let gate = TestGateway::new().upstream("it", recorder.clone());
    let world = gate.settings(|settings| settings.mode = Mode::Native).start().await;
    let menu = world.gateway.menu(&World::ann());
    for listed in menu.get() {
        assert_eq!(listed["inputSchema"], input, "{listed}");
        let declared = listed.get("outputSchema");
        assert_eq!(declared, (listed["name"] != "plain").then_some(&output), "{listed}");
    }
    let check = async |name: &str, args: Value, wanted: Option<Code>, is_error: bool| {
        let done = world.call(name, args).await;
        assert_eq!((code(&done), done.cleared.get().is_error), (wanted, is_error), "{name}");
        done.cleared.get().clone()
    };
    let good = check("good", json!({"n": 1}), None, false).await;
    assert_eq!((good.structured, good.content.len()), (Some(json!({"n": 1})), 1));
    let plain = check("plain", json!({}), None, false).await;
    assert_eq!((plain.structured.as_ref(), plain.full_text().as_str()), (None, "hi"));
    let sorry = check("sorry", json!({}), None, true).await;
    assert_eq!(sorry.full_text(), "the shelf is empty");
    let before = recorder.count();
    check("good", json!({"n": "one"}), Some(Code::ArgsInvalid), true).await;
    assert_eq!(recorder.count(), before);
}

/// CW-67, CW-69, CW-70, CW-71: names at once, schemas on demand.
#[tokio::test]
async fn transparent_mode_lists_names_and_hydrates_on_demand() {
    let world = library(Mode::Transparent).await;
    let menu = world.gateway.menu(&World::ann());
    let own = ["tool_hydrate", "tool_execute", "tool_view"];
    let tools = ["mcp__a__shelf_get", "mcp__b__attic_get"];
    assert_eq!(names(menu.get()), [&tools[..], &own[..]].concat());
    assert_eq!(menu.get()[0]["inputSchema"], json!({"type": "object"}));
    let hydrated = world.gateway.hydrate(&World::ann(), "mcp__a__shelf_get");
    let definition = hydrated.get().structured.clone().unwrap();
    assert_eq!(definition["inputSchema"]["required"], json!(["number"]));
    assert_eq!(definition["name"], "mcp__a__shelf_get");
}

/// CW-67, CW-72, CW-73, CW-74: three tools and no upstream's list.
#[tokio::test]
async fn gateway_mode_lists_three_tools_of_its_own() {
    let world = library(Mode::Gateway).await;
    let menu = world.gateway.menu(&World::ann());
    assert_eq!(names(menu.get()), ["tool_browse", "tool_execute", "tool_view"]);
}

/// CW-67, CW-73: find it, call it, all by what the former step said.
#[tokio::test]
async fn what_is_found_by_browsing_can_be_executed() {
    let world = library(Mode::Gateway).await;
    let ann = World::ann();
    let root = world.gateway.browse(&ann, &Query::Path("/".to_owned()), None).await;
    assert_eq!(
        root.get().structured.as_ref().unwrap()["folders"],
        json!([{"path": "/attic", "tools": 1}, {"path": "/shelf", "tools": 1}])
    );
    let found = world.gateway.browse(&ann, &Query::Words("attic".to_owned()), None).await;
    let card = &found.get().structured.as_ref().unwrap()["cards"][0];
    let request = CallRequest::new(ann, card["id"].as_str().unwrap(), json!({"number": 1}));
    let done = world.send(CallRequest { via: Via::Argument, ..request }).await;
    assert_eq!(done.cleared.get().structured, Some(json!({"number": 1})));
    assert_eq!(world.last_record().await.stages, ROAD);
}

/// CW-67: the same call means the same in every mode, by any of its names.
#[tokio::test]
async fn a_call_goes_the_same_road_in_every_mode() {
    for mode in Mode::ALL {
        let world = library(*mode).await;
        for name in ["mcp__a__shelf_get", "shelf:get", "shelf.get"] {
            let done = world.call(name, json!({"number": 1})).await;
            assert_eq!(done.cleared.get().structured, Some(json!({"number": 1})), "{name}");
            assert_eq!(world.last_record().await.stages, ROAD);
        }
    }
}

/// CW-89, gateway-spec §7, gateway-spec §8: an unknown name is answered in the channel in which it was given.
#[tokio::test]
async fn an_unknown_name_is_a_protocol_fault_as_tool_and_a_tool_error_as_argument() {
    let world = library(Mode::Gateway).await;
    let check = async |via: Via, wanted: Code| {
        let request = World::request("cellar.get", json!({}));
        assert_eq!(code(&world.send(CallRequest { via, ..request }).await), Some(wanted));
    };
    check(Via::Name, Code::ToolNotFound).await;
    check(Via::Argument, Code::HydrateFailed).await;
    let head = Selector::Head { chars: 10 };
    let viewed = world.gateway.view(&World::ann(), "art_none", &head).await;
    assert_eq!(viewed.get().structured.as_ref().unwrap()["error"], "VIEW_FAILED");
}

/// Says something of its work to the log.
#[derive(Debug)]
struct Talker;

#[async_trait]
impl Connector for Talker {
    fn protocol(&self) -> &'static str {
        "custom"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        Ok(vec![tool("talk", json!({}))])
    }

    async fn call(&self, _permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
        let params = json!({"level": "error", "data": "hot"}).as_object().cloned().unwrap();
        errand.news.as_ref().unwrap().tell(News::Log { level: LogLevel::Error, params });
        Ok(Answer::text("done"))
    }
}

/// CW-108, C15: what a mode does not say it can do it does not do, and says nothing of its own accord.
#[tokio::test]
async fn only_native_mode_has_more_than_tools() {
    for mode in Mode::ALL {
        let gate = TestGateway::new().upstream("it", Talker);
        let world = gate.settings(|settings| settings.mode = *mode).start().await;
        let mut line = Line::connect(&world, Over::Stdio, Era::Old).await;
        let (uri, name) = (json!({"uri": "a:b"}), json!({"name": "p"}));
        for (method, params) in [
            ("prompts/list", json!({})),
            ("prompts/get", name),
            ("resources/list", json!({})),
            ("resources/templates/list", json!({})),
            ("resources/read", uri.clone()),
            ("resources/subscribe", uri.clone()),
            ("resources/unsubscribe", uri),
            ("logging/setLevel", json!({"level": "debug"})),
            ("tasks/list", json!({})),
            ("tasks/get", json!({"taskId": "t1"})),
        ] {
            let said = line.ask(method, params).await;
            let here = said["error"]["code"] != -32601;
            assert_eq!(here, *mode == Mode::Native, "{mode} {method}: {said}");
        }
        let params = match mode {
            Mode::Gateway => json!({"name": "tool_execute", "arguments": {"tool_id": "talk"}}),
            _ => json!({"name": "talk", "arguments": {}}),
        };
        let call = json!({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": params});
        let first = line.say(&call).await;
        let logs = first["method"] == "notifications/message";
        assert_eq!(logs, *mode == Mode::Native, "{mode}: {first}");
    }
}

/// The same for what a client of 2026-07-28 may listen for.
#[tokio::test]
async fn only_native_mode_tells_of_more_than_tools() {
    for mode in Mode::ALL {
        let gate = TestGateway::new().upstream("it", crate::listening::Shelf::of(["a:b".into()]));
        let world = gate.settings(|settings| settings.mode = *mode).start().await;
        let mut line = Line::open(&world, Over::Stdio, Era::Modern).await;
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let wanted = json!({"resourceSubscriptions": ["a:b"]});
        let params = json!({"notifications": wanted, "_meta": meta});
        let method = "subscriptions/listen";
        let listen = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let told = line.say(&listen).await;
        let honoured = if *mode == Mode::Native { wanted } else { json!({}) };
        assert_eq!(told["params"]["notifications"], honoured, "{mode}: {told}");
    }
}
