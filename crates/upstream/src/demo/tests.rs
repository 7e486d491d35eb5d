//! What the demo promises, by topic. The world in one line: `World::new()`.

mod contract;
mod desk;
mod drive;
mod keeping;
mod refund;
mod reporting;

use std::time::Duration;

use model::{Answer, Clock, Fault, Timestamp};
use serde_json::{Value, json};

use super::Demo;
use crate::errand::Errand;

/// A demo on a stopped clock.
struct World {
    demo: Demo,
    clock: Clock,
}

impl World {
    fn new() -> Self {
        Self::kept_at(None)
    }

    fn kept_at(state_file: Option<std::path::PathBuf>) -> Self {
        let now: Timestamp = "2026-11-16T08:00:00Z".parse().unwrap();
        let clock = Clock::stopped(now);
        Self { demo: Demo::new(clock.clone(), state_file).unwrap(), clock }
    }

    async fn ask(&self, tool: &str, args: Value) -> Result<Answer, Fault> {
        self.demo.call(tool, &args, &Errand::quiet()).await
    }

    /// The structured content of an answer that must be good.
    async fn good(&self, tool: &str, args: Value) -> Value {
        let answer = self.ask(tool, args).await.unwrap();
        assert!(!answer.is_error, "{tool} refused: {}", answer.full_text());
        answer.structured.unwrap()
    }

    /// Machine code and text of an answer that must be a refusal.
    async fn refused(&self, tool: &str, args: Value) -> (String, String) {
        let answer = self.ask(tool, args).await.unwrap();
        assert!(answer.is_error, "{tool} did not refuse: {}", answer.full_text());
        assert_eq!(answer.structured, None);
        let code = answer.rest["_meta"]["error_code"].as_str().unwrap().to_owned();
        (code, answer.full_text())
    }

    fn wait(&self, span: Duration) {
        self.clock.advance(span);
    }
}

fn definition(tool: &str) -> Value {
    Demo::definitions().into_iter().find(|definition| definition["name"] == tool).unwrap()
}

fn accepts(schema: &Value, value: &Value) -> bool {
    jsonschema::draft202012::new(schema).unwrap().is_valid(value)
}

fn refund_args() -> Value {
    json!({
        "transaction_id": "txn_8f3k2a",
        "amount_inr": 499,
        "currency": "INR",
        "reason_code": "customer_request",
        "idempotency_key": "ik_0123456789abcdef",
    })
}

/// The arguments with one of them changed; with `null`, without it.
fn with(mut args: Value, key: &str, value: Value) -> Value {
    let object = args.as_object_mut().unwrap();
    if value.is_null() {
        object.remove(key);
    } else {
        object.insert(key.to_owned(), value);
    }
    args
}
