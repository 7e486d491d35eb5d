//! People sent to an address by a server (URL mode): the address reaches the one whose call it is, in
//! full; what they did there passes nowhere; and they alone hear that it is over.

use std::path::Path;
use std::sync::Arc;

use gateway::Mode;
use model::{Caller, Principal};
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;
use toolgate_testkit::{TestGateway, World};
use upstream::mcp::{Age, Revision};
use upstream::stdio::{Config, Stdio};

use super::client::Client;

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";
const URL: &str = "https://id.example/start?flow=login&state=3f9c1d7e5b2a4c68a0d1e2f3a4b5c6d7";
/// What a client puts into its answer and must not.
const CANARY: &str = "canary-of-a-token";

/// `send` asks while its caller waits, `link` refuses until somebody was there, and `over` says that
/// the visit of this name is over. Every line it reads is noted.
const SERVER: &str = r#"
new=$1 seen=$2 url=$3
while read -r line; do
  printf '%s\n' "$line" >> "$seen"
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\),"method".*/\1/p')
  name=$(printf '%s' "$line" | sed -n 's/.*"arguments":{"name":"\([a-z0-9]*\)"}.*/\1/p')
  visit='"mode":"url","url":"'$url'","message":"Sign in"'
  r='"result":{"content":[{"type":"text","text":"done"}]}'
  case $line in
    *'"method":"server/discover"'*) r='"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}' ;;
    *'"method":"initialize"'*) r='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"tools/list"'*) r='"result":{"tools":[{"name":"send","inputSchema":{"type":"object"}},{"name":"link","inputSchema":{"type":"object"}},{"name":"over","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*'"name":"over"'*)
      printf '{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"%s","token":"canary-of-a-token"}}\n' "$name" ;;
    *'"method":"tools/call"'*'"name":"link"'*)
      r='"error":{"code":-32042,"message":"sign in first","data":{"elicitations":[{"elicitationId":"'$name'",'$visit'}]}}' ;;
    *'"method":"tools/call"'*inputResponses*) ;;
    *'"method":"tools/call"'*)
      if [ "$new" ]; then r='"result":{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{'$visit'}}}}'
      else
        printf '{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"elicitationId":"%s",%s}}\n' "$name" "$visit"
        read -r answer
        printf '%s\n' "$answer" >> "$seen"
      fi ;;
    *'"id":'*) r='"error":{"code":-32601,"message":"no"}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$r"
done
"#;

struct Sending {
    world: World,
    _watching: AbortOnDropHandle<()>,
}

impl Sending {
    async fn new(revision: &str, seen: &Path, gate: TestGateway) -> Self {
        let new = if revision == NEW { "new" } else { "" };
        let seen = seen.display().to_string();
        let args = ["-c", SERVER, "sh", new, &seen, URL].map(str::to_owned).to_vec();
        let age = Age::Pinned(revision.parse::<Revision>().unwrap());
        let server = Stdio::new(Config { args, age, ..Config::new("sh") });
        let gate = gate.upstream("id", server).settings(|settings| settings.mode = Mode::Native);
        let world = gate.start().await;
        let gateway = Arc::clone(&world.gateway);
        let watching = AbortOnDropHandle::new(tokio::spawn(async move { gateway.watch().await }));
        Self { world, _watching: watching }
    }

    async fn client(&self, who: &str, revision: &'static str) -> Client {
        let able = json!({"elicitation": {"form": {}, "url": {}}});
        let door = crate::open_door().with_local(Caller::new(Principal::user(who)));
        let mut client = Client::connect_by(&self.world, door, revision, able).await;
        let content = json!({"token": CANARY});
        client.will_answer(json!({"action": "accept", "content": content, "token": CANARY}));
        client
    }

    /// Everything the gate keeps of what was called.
    async fn kept(&self) -> String {
        serde_json::to_string(&self.world.records().await).unwrap()
    }
}

async fn over(client: &mut Client, name: &str) {
    let said = client.call("over", json!({"name": name})).await;
    assert_eq!(said["result"]["content"][0]["text"], "done", "{said}");
}

async fn hears(client: &mut Client, name: &str) {
    let news = client.next_news("notifications/elicitation/complete").await;
    assert_eq!(news["params"], json!({"elicitationId": name}), "the name, and nothing else");
}

/// CO-174: the server makes the address and keeps what comes of it; the gate carries the one to the
/// caller in full, the other nowhere, and the end of the visit to that caller's client alone.
#[tokio::test]
async fn a_visit_is_its_callers_alone_from_its_address_to_its_end() {
    let home = tempfile::tempdir().unwrap();
    let seen = home.path().join("seen");
    let sending = Sending::new(OLD, &seen, TestGateway::new()).await;
    let mut ann = sending.client("ann", OLD).await;
    let mut bob = sending.client("bob", OLD).await;
    let mut ann_elsewhere = sending.client("ann", OLD).await;
    for (tool, name) in [("send", "e1"), ("link", "e2")] {
        let said = ann.call(tool, json!({"name": name})).await;
        let asked = ann.take_questions().pop().map(|(_, params)| params);
        let params = asked.unwrap_or_else(|| said["error"]["data"]["elicitations"][0].clone());
        assert_eq!(params["url"], URL, "in full");
        assert_eq!((&params["elicitationId"], &params["mode"]), (&json!(name), &json!("url")));
        over(&mut bob, name).await;
        hears(&mut ann, name).await;
        // A second end, and one of a visit that nobody made, are nobody's news.
        over(&mut bob, name).await;
        over(&mut bob, "e9").await;
    }
    // What comes first is all that came: neither another person nor another client of the same one
    // heard of hers.
    for (client, name) in [(&mut bob, "e3"), (&mut ann_elsewhere, "e4"), (&mut ann, "e5")] {
        client.call("send", json!({"name": name})).await;
        over(client, name).await;
        hears(client, name).await;
    }
    let noted = std::fs::read_to_string(&seen).unwrap();
    assert!(noted.contains(r#""action":"accept""#), "{noted}");
    for place in [noted, sending.kept().await] {
        assert!(!place.contains(CANARY), "{place}");
    }
}

/// CO-174: newer clients know no names; what they did there goes to no server of either age.
#[tokio::test]
async fn a_newer_client_is_sent_without_a_name_and_says_only_that_it_went() {
    let home = tempfile::tempdir().unwrap();
    for (age, tool) in [(OLD, "send"), (NEW, "send"), (OLD, "link")] {
        let seen = home.path().join(format!("{age}-{tool}"));
        let sending = Sending::new(age, &seen, TestGateway::new()).await;
        let mut ann = sending.client("ann", NEW).await;
        let call = json!({"name": tool, "arguments": {"name": "e1"}});
        let asked = ann.once("tools/call", call.clone()).await;
        let requests = asked["result"]["inputRequests"].as_object().unwrap();
        let (key, question) = requests.iter().next().unwrap();
        let params = json!({"mode": "url", "url": URL, "message": "Sign in"});
        assert_eq!(question["params"], params, "{age} {tool}");
        let mut back = call;
        let said = json!({"action": "accept", "content": {"token": CANARY}, "token": CANARY});
        back["inputResponses"] = json!({key: said, "unasked": {"token": CANARY}});
        back["requestState"] = asked["result"]["requestState"].clone();
        ann.once("tools/call", back).await;
        let noted = std::fs::read_to_string(&seen).unwrap();
        assert_eq!(noted.contains(r#""action":"accept""#), tool == "send", "{age}: {noted}");
        for place in [noted, sending.kept().await] {
            assert!(!place.contains(CANARY), "{age} {tool}: {place}");
        }
    }
}

/// CO-208 (invalid form response): newer clients' answers to newer servers are held to the form, too.
#[tokio::test]
async fn an_answer_in_a_round_must_fit_its_form() {
    let form = json!({"message": "?", "requestedSchema":
        {"type": "object", "properties": {"n": {"type": "integer"}}}});
    let interim = json!({
        "resultType": "input_required", "requestState": "s",
        "inputRequests": {"q": {"method": "elicitation/create", "params": form}},
    });
    let answer = model::Answer::read(interim).unwrap();
    let recorder = toolgate_testkit::Recorder::one("ask", toolgate_testkit::Script::Answer(answer));
    let gate = TestGateway::new().upstream("it", recorder.clone());
    let world = gate.settings(|settings| settings.mode = Mode::Native).start().await;
    let able = json!({"elicitation": {}});
    let mut client = Client::connect_able(&world, NEW, able).await;
    let mut check = async |content: Value, passes: bool| {
        let asked = client.once("tools/call", json!({"name": "ask", "arguments": {}})).await;
        let before = recorder.count();
        let said = json!({"q": {"action": "accept", "content": content}});
        let state = &asked["result"]["requestState"];
        let back =
            json!({"name": "ask", "arguments": {}, "inputResponses": said, "requestState": state});
        let answer = client.once("tools/call", back).await;
        assert_eq!(recorder.count() > before, passes, "{answer}");
        assert_eq!(answer.to_string().contains("not passed on"), !passes, "{answer}");
    };
    check(json!({"n": 1}), true).await;
    check(json!({"n": "one"}), false).await;
}

/// A server that keeps no state is told answers to what it asked, and nothing where it asked nothing:
/// then it asks again, in place of taking silence for an answer.
#[tokio::test]
async fn answers_to_nothing_that_was_asked_go_nowhere() {
    let form = json!({"message": "?", "requestedSchema":
        {"type": "object", "properties": {"n": {"type": "integer"}}}});
    let interim = json!({
        "resultType": "input_required",
        "inputRequests": {"q": {"method": "elicitation/create", "params": form}},
    });
    let answer = model::Answer::read(interim).unwrap();
    let recorder = toolgate_testkit::Recorder::one("ask", toolgate_testkit::Script::Answer(answer));
    let gate = TestGateway::new().upstream("it", recorder.clone());
    let world = gate.settings(|settings| settings.mode = Mode::Native).start().await;
    let mut client = Client::connect_able(&world, NEW, json!({"elicitation": {}})).await;
    let mut check = async |said: Value, told: Option<Value>, code: Option<i64>| {
        let before = recorder.count();
        let call = json!({"name": "ask", "arguments": {}, "inputResponses": said});
        let answer = client.once("tools/call", call).await;
        assert_eq!(answer["error"]["code"].as_i64(), code, "{answer}");
        assert_eq!(recorder.count() > before, code.is_none(), "{answer}");
        if code.is_none() {
            let sent = recorder.calls().pop().unwrap();
            assert_eq!(sent.params.get("inputResponses").cloned(), told);
        }
    };
    let fits = || json!({"q": {"action": "accept", "content": {"n": 1}}});
    check(fits(), None, None).await;
    check(fits(), Some(fits()), None).await;
    check(json!({"q": 12345}), None, Some(-32602)).await;
    check(json!({"q": {"action": "perhaps"}}), None, Some(-32602)).await;
    check(json!({"other": {"action": "accept"}}), None, None).await;
    check(Value::Null, None, None).await;
}

/// A10: a refusal is no way around the rules of addresses.
#[tokio::test]
async fn an_address_in_a_refusal_is_judged_like_a_question() {
    let home = tempfile::tempdir().unwrap();
    let gate = TestGateway::new().settings(|settings| settings.undeclared_asks = false);
    let sending = Sending::new(OLD, &home.path().join("seen"), gate).await;
    let mut ann = sending.client("ann", OLD).await;
    let said = ann.call("link", json!({"name": "e1"})).await;
    assert_eq!(said.get("error"), None, "{said}");
    let said = said.to_string();
    assert!(!said.contains("id.example") && said.contains("no manifest declares"), "{said}");
    assert!(sending.kept().await.contains("not asked `elicitation/create`"));
}
