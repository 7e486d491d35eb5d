//! The least a file server can do: files read once, their bytes sent as they are asked for. A
//! server that opens the file each time does more.

use std::fs;
use std::future::ready;
use std::path::Path;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};

use crate::Outcome;

/// The name of a page's file.
pub(crate) fn file(index: usize) -> String {
    format!("{index}.json")
}

pub(crate) async fn serve(folder: &Path) -> Outcome<()> {
    let mut pages = Vec::new();
    while let Ok(bytes) = fs::read(folder.join(file(pages.len()))) {
        pages.push(Bytes::from(bytes));
    }
    let pages = Arc::new(pages);
    super::serve(service_fn(move |request| ready(Outcome::Ok(respond(&pages, &request))))).await
}

fn respond(pages: &[Bytes], request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let index = request.uri().path().trim_start_matches('/').trim_end_matches(".json");
    let Some(page) = index.parse().ok().and_then(|index: usize| pages.get(index)) else {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    };
    let mut response = Response::new(Full::new(page.clone()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
