//! An embedding endpoint in the format of `OpenAI`: texts there, vectors back. No tool is reached
//! here, so no permit is asked for; what it is sent are descriptions of tools and queries.

use std::time::Duration;

use auth::Credentials;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body_util::Full;
use model::{Code, Fault};
use serde::Deserialize;
use serde_json::json;

use crate::egress::Egress;
use crate::http_client::{self, HttpClient};
use crate::limits;

/// Where vectors come from.
#[derive(Debug)]
pub struct Embedding {
    client: HttpClient,
    uri: Uri,
    headers: HeaderMap,
    model: String,
    timeout: Duration,
}

impl Embedding {
    /// `url` is the service's base, such as `https://api.openai.com/v1`, or the endpoint itself.
    /// Nothing is contacted yet.
    pub fn new(
        url: &str,
        model: &str,
        credentials: &Credentials,
        timeout: Duration,
    ) -> Result<Self, Fault> {
        let base = url.trim_end_matches('/');
        let whole = if base.ends_with("/embeddings") {
            base.to_owned()
        } else {
            format!("{base}/embeddings")
        };
        let uri: Uri = whole.parse().map_err(|_error| unusable("the address is no URL"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
            return Err(unusable("the address must begin with `http://` or `https://`"));
        }
        let headers = http_client::headers(credentials)?;
        let (client, model) = (http_client::client()?, model.to_owned());
        Ok(Self { client, uri, headers, model, timeout })
    }

    /// The same, where not every address may be reached.
    pub fn through(self, egress: &Egress) -> Result<Self, Fault> {
        Ok(Self { client: http_client::client_through(egress)?, ..self })
    }

    pub fn host(&self) -> &str {
        self.uri.host().unwrap_or_default()
    }

    /// One vector a text, in their order; all of one length.
    pub async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Fault> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(limits::EMBEDDING_TEXTS_MAX) {
            let asked = tokio::time::timeout(self.timeout, self.ask(batch));
            let answer = asked.await.map_err(|_late| {
                let waited = self.timeout.as_millis();
                unusable(&format!("the endpoint gave no answer within {waited} ms"))
            })?;
            vectors.extend(read(&answer?, batch.len())?);
        }
        let dims = vectors.first().map(Vec::len);
        if vectors.iter().any(|vector| Some(vector.len()) != dims) {
            return Err(unusable("the endpoint's vectors differ in length"));
        }
        Ok(vectors)
    }

    async fn ask(&self, batch: &[String]) -> Result<Vec<u8>, Fault> {
        let body = json!({"model": self.model, "input": batch, "encoding_format": "float"});
        let request = Request::builder()
            .method(Method::POST)
            .uri(self.uri.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .body(Full::new(Bytes::from(body.to_string())));
        let mut request = request.map_err(Fault::internal)?;
        request.headers_mut().extend(self.headers.clone());
        let response = http_client::send(&self.client, request).await.map_err(|fault| Fault {
            message: "the endpoint cannot be reached".to_owned(),
            ..fault
        })?;
        if response.status() != StatusCode::OK {
            return Err(unusable(&format!("the endpoint answered {}", response.status().as_u16())));
        }
        http_client::read_body(response.into_body()).await
    }
}

#[derive(Deserialize)]
struct Reply {
    data: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    index: usize,
    embedding: Vec<f32>,
}

fn read(bytes: &[u8], wanted: usize) -> Result<Vec<Vec<f32>>, Fault> {
    let reply: Reply = serde_json::from_slice(bytes).map_err(|error| {
        unusable("the endpoint's answer is not in the format of OpenAI").logging(error)
    })?;
    let mut rows = reply.data;
    rows.sort_by_key(|row| row.index);
    if rows.len() != wanted || rows.iter().enumerate().any(|(at, row)| row.index != at) {
        return Err(unusable("the endpoint did not give one vector a text"));
    }
    Ok(rows.into_iter().map(|row| row.embedding).collect())
}

fn unusable(message: &str) -> Fault {
    Fault::new(Code::UpstreamUnavailable, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(url: &str) -> Result<Embedding, Fault> {
        Embedding::new(url, "m", &Credentials::default(), Duration::from_secs(1))
    }

    #[test]
    fn a_base_and_the_endpoint_itself_mean_the_same() {
        let check = |url: &str| {
            assert_eq!(endpoint(url).unwrap().uri, "https://x.example/v1/embeddings", "{url}");
        };
        check("https://x.example/v1");
        check("https://x.example/v1/");
        check("https://x.example/v1/embeddings");
        assert!(endpoint("ftp://x.example").is_err());
        assert!(endpoint("nowhere").is_err());
    }

    #[test]
    fn vectors_come_in_the_order_of_the_texts() {
        let reply =
            br#"{"data": [{"index": 1, "embedding": [2.0]}, {"index": 0, "embedding": [1.0]}]}"#;
        assert_eq!(read(reply, 2).unwrap(), [[1.0], [2.0]]);
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let check = |reply: &str, expected: &str| {
            let fault = read(reply.as_bytes(), 1).unwrap_err();
            assert!(fault.message.contains(expected), "{reply}: {}", fault.message);
        };
        check("no JSON", "format of OpenAI");
        check(r#"{"data": [{"embedding": [1.0]}]}"#, "format of OpenAI");
        check(r#"{"data": []}"#, "one vector a text");
        check(r#"{"data": [{"index": 3, "embedding": [1.0]}]}"#, "one vector a text");
    }
}
