//! Browsing with what an operator may change: meanings from elsewhere, and a caller's own use.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use auth::Credentials;
use catalog::{Query, Table};
use gateway::{Meanings, Search};
use model::{Answer, Caller, Fault, Principal, Secret};
use policy::Permit;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolgate_testkit::{Embedder, Notes, Recorder, Script, TestGateway, World, tool};
use upstream::{Connector, Embedding, Errand};

fn vault() -> Recorder {
    let about = |text: &str| json!({"description": text});
    Recorder::new()
        .tool(tool("vault.door", about("Look at the door of the vault.")), Script::Echo)
        .tool(tool("vault.key", about("Take the golden key.")), Script::Echo)
        .tool(tool("shelf.get", about("Take a book from the shelf.")), Script::Echo)
}

fn endpoint(url: &str) -> Meanings {
    let bearer = ("Authorization".to_owned(), Secret::new("Bearer k"));
    let credentials = Credentials::from_headers([bearer]).unwrap();
    let made = Embedding::new(url, "tiny", &credentials, Duration::from_secs(10)).unwrap();
    Meanings::Endpoint(Arc::new(made))
}

async fn world(meanings: Meanings) -> World {
    let search = Search { meanings, feedback: false };
    let world =
        TestGateway::new().upstream("it", vault()).settings(|s| s.search = search).start().await;
    world.gateway.learn().await;
    world
}

async fn browse(world: &World, caller: &Caller, words: &str) -> Value {
    let cleared = world.gateway.browse(caller, &Query::Words(words.to_owned()), None).await;
    cleared.get().structured.clone().unwrap()
}

async fn look(world: &World, words: &str) -> Value {
    browse(world, &World::ann(), words).await
}

#[tokio::test]
async fn an_endpoint_gives_the_meanings() {
    let embedder = Embedder::start().await;
    let world = world(endpoint(&embedder.url)).await;
    let found = look(&world, "golden").await;
    assert_eq!(found["cards"][0]["id"], "vault.key");
    assert_eq!(found.get("note"), None);
    let asked = embedder.heard();
    let last = asked.last().unwrap();
    assert_eq!((&last["model"], &last["input"]), (&json!("tiny"), &json!(["golden"])));
    assert!(asked.iter().all(|request| request["authorization"] == "Bearer k"), "{asked:?}");
}

#[tokio::test]
async fn a_tool_is_embedded_once_however_often_the_catalogue_is_built() {
    let embedder = Embedder::start().await;
    let world = world(endpoint(&embedder.url)).await;
    let before = embedder.heard().len();
    world.gateway.refresh().await;
    world.gateway.learn().await;
    assert_eq!(embedder.heard().len(), before);
    assert_eq!(look(&world, "golden").await["cards"][0]["id"], "vault.key");
}

#[tokio::test]
async fn an_endpoint_that_fails_is_replaced_by_the_built_in_table_which_says_so() {
    let embedder = Embedder::start().await;
    embedder.answer_with(500);
    let (failing, plain) = (world(endpoint(&embedder.url)).await, world(Meanings::BuiltIn).await);
    let mut found = look(&failing, "take a book").await;
    let note = found.as_object_mut().unwrap().remove("note");
    assert_eq!(note, Some(json!("ranked with the built-in table: the endpoint answered 500")));
    assert_eq!(found, look(&plain, "take a book").await);
}

#[tokio::test]
async fn an_endpoint_that_failed_rests_and_is_then_asked_again() {
    let embedder = Embedder::start().await;
    let world = world(endpoint(&embedder.url)).await;
    embedder.answer_with(503);
    assert!(look(&world, "golden").await["note"].as_str().unwrap().contains("503"));
    let asked = embedder.heard().len();
    embedder.answer_with(200);
    assert!(look(&world, "golden").await["note"].as_str().unwrap().contains("503"));
    assert_eq!(embedder.heard().len(), asked, "it rests");
    world.clock.advance(Duration::from_secs(31));
    assert_eq!(look(&world, "golden").await.get("note"), None);
    assert_eq!(embedder.heard().len(), asked + 1);
}

#[tokio::test]
async fn an_endpoint_the_operator_did_not_allow_is_not_reached() {
    let embedder = Embedder::start().await;
    let search = Search { meanings: endpoint(&embedder.url), feedback: false };
    let gate = TestGateway::new().upstream("it", vault()).settings(|settings| {
        settings.search = search;
        settings.egress_allow = Some(vec!["tools.example".to_owned()]);
    });
    let world = gate.start().await;
    world.gateway.learn().await;
    let found = look(&world, "golden").await;
    assert!(found["note"].as_str().unwrap().contains("`egress.allow`"), "{found}");
    assert_eq!(embedder.heard().len(), 0);
}

#[tokio::test]
async fn a_static_model_of_the_operator_gives_the_meanings() {
    let header = r#"{"embeddings": {"dtype": "F32", "shape": [3, 2], "data_offsets": [0, 24]}}"#;
    let rows = [0.0_f32, 0.0, 1.0, 0.0, 0.0, 1.0].iter().flat_map(|x| x.to_le_bytes());
    let length = u64::try_from(header.len()).unwrap().to_le_bytes();
    let tensors: Vec<u8> = length.into_iter().chain(header.bytes()).chain(rows).collect();
    // To this model a lantern and a shelf are one thing, and all else is nothing.
    let tokenizer = br#"{"model": {"vocab": {"[UNK]": 0, "shelf": 1, "lantern": 1, "key": 2}}}"#;
    let table = Table::from_model2vec(&tensors, tokenizer).unwrap();
    let world = world(Meanings::Table(Arc::new(table))).await;
    assert_eq!(look(&world, "lantern").await["cards"][0]["id"], "shelf.get");
}

fn twin() -> Recorder {
    let about = json!({"description": "Read a file from disk."});
    Recorder::new().tool(tool("files.read", about), Script::Echo)
}

async fn twins(feedback: bool) -> World {
    let search = Search { feedback, ..Search::default() };
    let gate = TestGateway::new().upstream("a", twin()).upstream("b", twin());
    gate.settings(|settings| settings.search = search).start().await
}

/// The upstream whose tool stands first for this caller.
async fn first(world: &World, name: &str) -> String {
    let caller = Caller::new(Principal::user(name));
    let found = browse(world, &caller, "read a file").await;
    found.pointer("/cards/0/id").and_then(Value::as_str).unwrap().to_owned()
}

#[tokio::test]
async fn own_calls_decide_between_equals_and_never_those_of_others() {
    let world = twins(true).await;
    assert_eq!(first(&world, "ann").await, "mcp__a__files_read");
    world.call("mcp__b__files_read", json!({})).await;
    assert_eq!(first(&world, "ann").await, "mcp__b__files_read");
    assert_eq!(first(&world, "bob").await, "mcp__a__files_read");
    assert_eq!(first(&world, "an").await, "mcp__a__files_read");
}

#[tokio::test]
async fn own_calls_decide_nothing_unless_the_operator_wants_it() {
    let world = twins(false).await;
    world.call("mcp__b__files_read", json!({})).await;
    assert_eq!(first(&world, "ann").await, "mcp__a__files_read");
}

#[tokio::test]
async fn a_failed_call_is_no_use() {
    let failing = Recorder::new().tool(
        tool("files.read", json!({"description": "Read a file from disk."})),
        Script::Fault(Fault::internal("broken")),
    );
    let search = Search { feedback: true, ..Search::default() };
    let gate = TestGateway::new().upstream("a", twin()).upstream("b", failing);
    let world = gate.settings(|settings| settings.search = search).start().await;
    world.call("mcp__b__files_read", json!({})).await;
    assert_eq!(first(&world, "ann").await, "mcp__a__files_read");
}

/// Lists at once the first time, and afterwards when it is let.
#[derive(Clone, Debug)]
struct Slow {
    inner: Recorder,
    asked: Notes<()>,
    go: Arc<Semaphore>,
}

#[async_trait]
impl Connector for Slow {
    fn protocol(&self) -> &'static str {
        "custom"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        self.asked.push(());
        let _go = self.go.acquire().await.unwrap();
        self.inner.list().await
    }

    async fn call(&self, permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
        self.inner.call(permit, errand).await
    }
}

#[tokio::test]
async fn queries_are_answered_while_the_next_generation_is_made() {
    let go = Arc::new(Semaphore::new(1));
    let slow = Slow { inner: vault(), asked: Notes::new(), go: Arc::clone(&go) };
    let asked = slow.asked.clone();
    let world = TestGateway::new().upstream("it", slow).start().await;
    let held = go.acquire().await.unwrap();
    let gateway = Arc::clone(&world.gateway);
    let refreshing = tokio::spawn(async move { Box::pin(gateway.refresh()).await });
    while asked.count() < 2 {
        tokio::task::yield_now().await;
    }
    let during = look(&world, "take a book").await;
    assert_eq!(world.gateway.catalogue().generation().0, 1);
    drop(held);
    refreshing.await.unwrap();
    let after = look(&world, "take a book").await;
    assert_eq!(world.gateway.catalogue().generation().0, 2);
    assert_eq!(after["cards"][0]["id"], during["cards"][0]["id"]);
}

/// CW-44: from item to card to what is sent, the same question gives the same bytes.
#[tokio::test]
async fn browsing_twice_gives_the_same_bytes() {
    let bytes = async || {
        let world = world(Meanings::BuiltIn).await;
        let query = Query::Words("take the key of the vault".to_owned());
        let cleared = world.gateway.browse(&World::ann(), &query, None).await;
        serde_json::to_vec(cleared.get()).unwrap()
    };
    assert_eq!(bytes().await, bytes().await);
}
