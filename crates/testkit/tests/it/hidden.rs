//! What policy hides does not exist: a gate that hides a tool answers like one without it.

use catalog::Query;
use gateway::{CallRequest, Mode, Via};
use model::{Caller, Principal};
use serde_json::json;
use toolgate_testkit::{Recorder, Script, TestGateway, World, tool};

/// Everybody sees everything, but only the librarian sees the vault's key.
const POLICY: &str = r#"
permit(principal, action, resource) when { resource.name != "vault.key" };
permit(principal == User::"librarian", action, resource);"#;

fn vault() -> Recorder {
    let describe = |text: &str| json!({"description": text});
    Recorder::new()
        .tool(tool("vault.door", describe("Look at the door of the vault.")), Script::Echo)
        .tool(tool("shelf.get", describe("Take a book from the shelf.")), Script::Echo)
}

fn with_key(vault: Recorder) -> Recorder {
    let words = json!({"description": "Take the golden key of the vault."});
    vault.tool(tool("vault.key", words), Script::Echo)
}

/// Everything the gate says to somebody who looks around, call ids blanked.
async fn impressions(world: &World, caller: &Caller) -> Vec<String> {
    let gateway = &world.gateway;
    let mut said = Vec::new();
    said.push(serde_json::to_string(gateway.menu(caller).get()).unwrap());
    let words = ["key", "golden key of the vault", "vault.key", "vault", "book"];
    let paths = ["/", "/vault", "/vault/key", "/vault/kee", "/*/key", "/nowhere"];
    let queries = words.map(|words| Query::Words(words.to_owned())).into_iter();
    for query in queries.chain(paths.map(|path| Query::Path(path.to_owned()))) {
        let cleared = gateway.browse(caller, &query, None).await;
        said.push(serde_json::to_string(cleared.get()).unwrap());
    }
    for name in ["vault.key", "vault:key", "mcp__it__vault_key"] {
        let hydrated = gateway.hydrate(caller, name);
        said.push(serde_json::to_string(hydrated.get()).unwrap());
        for via in [Via::Name, Via::Argument] {
            let request = CallRequest::new(caller.clone(), name, json!({"any": 1}));
            let done = world.send(CallRequest { via, ..request }).await;
            said.push(serde_json::to_string(done.cleared.get()).unwrap());
        }
    }
    said
}

#[tokio::test]
async fn a_hidden_tool_is_hidden_in_menu_browse_hydrate_and_call() {
    for mode in Mode::ALL {
        let start = async |recorder: Recorder| {
            let gate = TestGateway::new().upstream("it", recorder).policy(POLICY);
            gate.settings(|settings| settings.mode = *mode).start().await
        };
        let hiding = with_key(vault());
        let (hidden, absent) = (start(hiding.clone()).await, start(vault()).await);
        let ann = World::ann();
        assert_eq!(impressions(&hidden, &ann).await, impressions(&absent, &ann).await);
        assert_eq!(hiding.count(), 0);

        let librarian = Caller::new(Principal::user("librarian"));
        assert_ne!(impressions(&hidden, &librarian).await, impressions(&absent, &librarian).await);
        assert_eq!(hiding.count(), 6);
    }
}
