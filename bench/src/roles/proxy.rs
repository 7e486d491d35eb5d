//! What any HTTP intermediary must do: read a request, send it on, send the answer back. Bodies
//! stream through unread; connections onward are pooled.

use std::net::SocketAddr;

use hyper::body::Incoming;
use hyper::http::uri::{Authority, Scheme, Uri};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::Outcome;

pub(crate) async fn serve(to: SocketAddr) -> Outcome<()> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let authority: Authority = to.to_string().parse()?;
    let service = service_fn(move |request| forward(client.clone(), authority.clone(), request));
    super::serve(service).await
}

async fn forward(
    client: Client<HttpConnector, Incoming>,
    authority: Authority,
    mut request: Request<Incoming>,
) -> Outcome<Response<Incoming>> {
    let mut parts = request.uri().clone().into_parts();
    parts.scheme = Some(Scheme::HTTP);
    parts.authority = Some(authority);
    *request.uri_mut() = Uri::from_parts(parts)?;
    Ok(client.request(request).await?)
}
