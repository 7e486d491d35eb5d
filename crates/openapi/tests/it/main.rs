//! A document as a service publishes it: which tools it becomes, and which requests they become.

#![expect(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "tests may fall over")]

mod plan;
mod read;

use serde_json::{Value, json};
use toolgate_openapi::{Document, Operation};

const BASE: &str = "https://shop.example/v2";

fn shop() -> Document {
    let text = include_str!("fixtures/shop.json");
    Document::read(&serde_json::from_str(text).unwrap()).unwrap()
}

/// A document with one `GET` on `path` that has these parameters.
fn one(path: &str, parameters: Value) -> Operation {
    let document =
        json!({"openapi": "3.1.0", "paths": {path: {"get": {"parameters": parameters}}}});
    Document::read(&document).unwrap().operations().first().unwrap().clone()
}
