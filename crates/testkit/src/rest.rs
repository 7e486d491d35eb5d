//! A small REST service with an OpenAPI document, on a port of this machine.

use axum::Router;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use openapi::Document;
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use crate::mcp_http::serve;

/// The running service; it stops when dropped. `shelf_get` knows one book, number 1; `shelf_put`
/// answers with the status it is told.
#[derive(Debug)]
pub struct Rest {
    pub base: String,
    _task: AbortOnDropHandle<()>,
}

impl Rest {
    pub async fn start() -> Self {
        let (address, task) =
            serve(Router::new().route("/shelf/{number}", get(shelf).post(put))).await;
        Self { base: format!("http://{address}"), _task: task }
    }

    pub fn document(&self) -> Document {
        Document::read(&description()).expect("the document is sound")
    }
}

async fn shelf(Path(number): Path<u32>) -> Response {
    let json = [(CONTENT_TYPE, "application/json")];
    match number {
        1 => (json, json!({"number": 1, "title": "Emma"}).to_string()).into_response(),
        _ => (StatusCode::NOT_FOUND, json, json!({"error": "no such book"}).to_string())
            .into_response(),
    }
}

async fn put(Path(status): Path<u16>) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::NOT_FOUND);
    (status, "as you wish").into_response()
}

fn description() -> Value {
    let number = json!({
        "name": "number", "in": "path", "required": true, "schema": {"type": "integer"},
    });
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Shelf", "version": "1"},
        "paths": {"/shelf/{number}": {"get": {
            "operationId": "shelf_get",
            "summary": "Take a book from the shelf",
            "parameters": [number],
            "responses": {"200": {"description": "The book"}},
        }, "post": {
            "operationId": "shelf_put",
            "summary": "Put a book on the shelf",
            "parameters": [number],
            "responses": {"200": {"description": "It stands there"}},
        }}},
    })
}
