//! Accepted definitions outlive the process and are replaced one by one.

use model::{ItemKind, Pin, UpstreamName};
use serde_json::json;

use crate::home::Home;

fn pin(upstream: &str, tool: &str, hash: &str) -> Pin {
    Pin {
        upstream: UpstreamName::from_string(upstream),
        kind: ItemKind::Tool,
        name: tool.to_owned(),
        hash: hash.to_owned(),
        definition: json!({"name": tool, "z": 1, "a": [null]}),
        gone: false,
    }
}

#[tokio::test]
async fn pins_are_kept_replaced_and_dropped() {
    let home = Home::new();
    let store = home.open().await;
    store
        .keep_pins(vec![pin("b", "x", "1"), pin("a", "y", "1"), pin("a", "x", "1")])
        .await
        .unwrap();
    let prompt = Pin { kind: ItemKind::Prompt, ..pin("a", "x", "3") };
    store.keep_pins(vec![prompt.clone()]).await.unwrap();
    let changed = Pin { gone: true, ..pin("a", "x", "2") };
    store.keep_pins(vec![changed.clone()]).await.unwrap();
    store
        .drop_pins(
            &UpstreamName::from_string("a"),
            vec![(ItemKind::Tool, "y".to_owned()), (ItemKind::Tool, "no".to_owned())],
        )
        .await
        .unwrap();
    store.close().await;
    let store = home.open().await;
    assert_eq!(store.pins().await.unwrap(), [prompt, changed, pin("b", "x", "1")]);
}
