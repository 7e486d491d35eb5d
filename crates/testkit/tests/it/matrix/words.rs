//! What has another word in another revision: the code of a resource that is not there, and how a
//! person is sent to an address. Each pair of revisions, each word in its own.

use std::path::Path;

use serde_json::{Value, json};
use upstream::mcp::{Age, Revision};
use upstream::stdio::{Config, Stdio};

use super::client::Client;
use super::servers::gate;
use toolgate_testkit::World;

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

/// A server in the words of one revision, whose resource has gone and whose tools send people away:
/// `ask` while its caller waits, `link` by a refusal until somebody has been there.
const SERVER: &str = r#"
new=$1 seen=$2 been=
visit='"mode":"url","url":"https://id.example/start","message":"Sign in"'
while read -r line; do
  printf '%s\n' "$line" >> "$seen"
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\),"method".*/\1/p')
  case $line in
    *'"method":"server/discover"'*) r='"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{}},"ttlMs":0,"cacheScope":"private"}' ;;
    *'"method":"initialize"'*) r='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"tools/list"'*) r='"result":{"tools":[{"name":"ask","inputSchema":{"type":"object"}},{"name":"link","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"resources/list"'*) r='"result":{"resources":[{"uri":"test://gone","name":"gone"}]}' ;;
    *'"method":"resources/templates/list"'*) r='"result":{"resourceTemplates":[]}' ;;
    *'"method":"resources/read"'*) r='"error":{"code":'$([ "$new" ] && echo -32602 || echo -32002)',"message":"it is gone"}' ;;
    *'"method":"tools/call"'*inputResponses*) r='"result":{"content":[{"type":"text","text":"been there"}]}' ;;
    *'"method":"tools/call"'*)
      if [ "$new" ]; then r='"result":{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{'$visit'}}}}'
      elif [ "$been" ]; then r='"result":{"content":[{"type":"text","text":"been there"}]}'
      else case $line in
        *'"name":"link"'*) been=1 r='"error":{"code":-32042,"message":"sign in first","data":{"elicitations":[{"elicitationId":"e1",'$visit'}]}}' ;;
        *) printf '{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"elicitationId":"e1",%s}}\n' "$visit"
           read -r answer
           r='"result":{"content":[{"type":"text","text":"been there"}]}' ;;
      esac; fi ;;
    *'"id":'*) r='"error":{"code":-32601,"message":"no"}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$r"
done
"#;

async fn server(revision: &str) -> World {
    noting(revision, Path::new("/dev/null")).await
}

/// The same, with every line it reads noted in a file.
async fn noting(revision: &str, seen: &Path) -> World {
    let new = if revision == NEW { "new" } else { "" };
    let seen = seen.display().to_string();
    let args = ["-c", SERVER, "sh", new, &seen].map(str::to_owned).to_vec();
    let age = Age::Pinned(revision.parse::<Revision>().unwrap());
    gate(Stdio::new(Config { args, age, ..Config::new("sh") })).await
}

async fn client(world: &World, revision: &'static str) -> Client {
    let able = json!({"elicitation": {"form": {}, "url": {}}});
    let mut client = Client::connect_able(world, revision, able).await;
    client.will_answer(json!({"action": "accept"}));
    client
}

/// CO-20, CO-22: gone is -32002 before 2026-07-28 and -32602 since, whoever says it to whom.
#[tokio::test]
async fn a_resource_that_is_not_there_has_the_code_of_its_reader() {
    for server_speaks in [OLD, NEW] {
        let world = server(server_speaks).await;
        for (revision, wanted) in
            [("2024-11-05", -32002), ("2025-06-18", -32002), (OLD, -32002), (NEW, -32602)]
        {
            let mut client = client(&world, revision).await;
            for uri in ["test://gone", "test://never-was"] {
                let read = client.ask("resources/read", json!({"uri": uri})).await;
                let said = format!("{revision} on {server_speaks}: {read}");
                assert_eq!(read["error"]["code"], wanted, "{said}");
            }
            client.leave().await;
        }
    }
}

/// A visit has a name up to 2025-11-25, and none since.
#[tokio::test]
async fn a_person_is_sent_to_an_address_in_the_words_of_the_client() {
    for server_speaks in [OLD, NEW] {
        let world = server(server_speaks).await;
        for revision in [OLD, NEW] {
            let mut client = client(&world, revision).await;
            let answer = client.call("ask", json!({})).await;
            let said = format!("{revision} on {server_speaks}: {answer}");
            assert_eq!(answer["result"]["content"][0]["text"], "been there", "{said}");
            let asked = client.take_questions();
            let [(method, params)] = asked.as_slice() else { panic!("{said}: {asked:?}") };
            assert_eq!((method.as_str(), &params["mode"]), ("elicitation/create", &json!("url")));
            assert_eq!(params["url"], "https://id.example/start", "{said}");
            let name = params["elicitationId"].as_str();
            match (revision, server_speaks) {
                (NEW, _) => assert_eq!(name, None, "{said}"),
                (_, NEW) => assert!(name.is_some_and(|name| name.len() > 8), "{said}"),
                _ => assert_eq!(name, Some("e1"), "{said}"),
            }
            client.leave().await;
        }
    }
}

/// "Go there first" is an error of 2025-11-25 and a question since.
#[tokio::test]
async fn a_refusal_until_somebody_was_there_is_a_question_to_newer_clients() {
    let check = async |revision: &'static str, check: fn(&Value, Vec<(String, Value)>)| {
        let world = server(OLD).await;
        let mut client = client(&world, revision).await;
        let answer = client.call("link", json!({})).await;
        check(&answer, client.take_questions());
        client.leave().await;
    };
    check(OLD, |answer, asked| {
        assert_eq!(answer["error"]["code"], -32042, "{answer}");
        assert_eq!(answer["error"]["data"]["elicitations"][0]["elicitationId"], "e1", "{answer}");
        assert!(asked.is_empty());
    })
    .await;
    check(NEW, |answer, asked| {
        assert_eq!(answer["result"]["content"][0]["text"], "been there", "{answer}");
        let params =
            json!({"mode": "url", "url": "https://id.example/start", "message": "Sign in"});
        assert_eq!(asked, [("elicitation/create".to_owned(), params)]);
    })
    .await;
}

/// What a client says it can do reaches its server word for word, what nobody here knows included.
#[tokio::test]
async fn capabilities_are_passed_on_as_they_were_declared() {
    let home = tempfile::tempdir().unwrap();
    for revision in ["2024-11-05", OLD, NEW] {
        let seen = home.path().join(revision);
        let world = noting(NEW, &seen).await;
        let able = json!({
            "elicitation": {"url": {}}, "sampling": {"tools": {}, "vendor": [1, 2.50]},
            "extensions": {"vendor.example/x": {"deep": {"er": null}}}, "experimental": {"a": {}},
        });
        let mut client = Client::connect_able(&world, revision, able.clone()).await;
        client.will_answer(json!({"action": "accept"}));
        client.call("ask", json!({})).await;
        client.leave().await;
        let noted = std::fs::read_to_string(&seen).unwrap();
        let noted = noted.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let calls: Vec<Value> = noted.filter(|line| line["method"] == "tools/call").collect();
        assert!(!calls.is_empty(), "{revision}");
        for call in calls {
            let told = &call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
            assert_eq!(told, &able, "{revision}");
        }
    }
}

/// A server from before 2026-07-28 hears once, for all clients, what any of them may be able to do, in
/// the words of its revision.
#[tokio::test]
async fn an_older_server_hears_of_all_that_clients_may_do() {
    let home = tempfile::tempdir().unwrap();
    let check = async |revision: &str, wanted: Value| {
        let seen = home.path().join(revision);
        let world = noting(revision, &seen).await;
        let noted = std::fs::read_to_string(&seen).unwrap();
        let mut noted = noted.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let hello = noted.find(|line| line["method"] == "initialize").unwrap();
        assert_eq!(hello["params"]["capabilities"], wanted, "{revision}");
        drop(world);
    };
    let roots = json!({});
    check("2025-03-26", json!({"roots": roots, "sampling": {}})).await;
    check("2025-06-18", json!({"roots": roots, "sampling": {}, "elicitation": {}})).await;
    let sampling = json!({"context": {}, "tools": {}});
    let elicitation = json!({"form": {}, "url": {}});
    check(OLD, json!({"roots": roots, "sampling": sampling, "elicitation": elicitation})).await;
}
