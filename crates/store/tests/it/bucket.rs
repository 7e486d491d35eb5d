//! Artifacts in a bucket: a small S3 of our own on a local port, which takes signed requests only.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use model::{Code, Secret};
use tokio::net::TcpListener;
use toolgate_store::{Bucket, Config, OpenError, Place, Quotas, Store};

use crate::artifacts::{ALICE, artifact};
use crate::home::Home;

#[derive(Clone, Default)]
struct FakeS3 {
    objects: Arc<Mutex<BTreeMap<String, Bytes>>>,
}

impl FakeS3 {
    async fn start(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let fake = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let fake = fake.clone();
                let service = service_fn(move |request| {
                    let fake = fake.clone();
                    async move { Ok::<_, Infallible>(fake.answer(request).await) }
                });
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                tokio::spawn(async move { drop(connection.await) });
            }
        });
        format!("http://{address}")
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let signed = request.headers().get("authorization").is_some_and(|value| {
            let value = value.to_str().unwrap();
            value.starts_with("AWS4-HMAC-SHA256 Credential=key/") && value.contains("Signature=")
        });
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let mut objects = self.objects.lock().unwrap();
        let (status, body) = match (signed, method) {
            (false, _) => (StatusCode::FORBIDDEN, Bytes::new()),
            (true, Method::PUT) => {
                objects.insert(path, body);
                (StatusCode::OK, Bytes::new())
            }
            (true, Method::GET) => match objects.get(&path) {
                Some(bytes) => (StatusCode::OK, bytes.clone()),
                None => (StatusCode::NOT_FOUND, Bytes::new()),
            },
            (true, Method::DELETE) => {
                objects.remove(&path);
                (StatusCode::NO_CONTENT, Bytes::new())
            }
            (true, _) => (StatusCode::METHOD_NOT_ALLOWED, Bytes::new()),
        };
        Response::builder()
            .status(status)
            .header("etag", "\"e\"")
            .header("last-modified", "Mon, 16 Nov 2026 00:00:00 GMT")
            .body(Full::new(body))
            .unwrap()
    }

    fn paths(&self) -> Vec<String> {
        self.objects.lock().unwrap().keys().cloned().collect()
    }
}

fn bucket(endpoint: &str, key: &str) -> Place {
    Place::Bucket(vault("s3://vault/gate", endpoint, key))
}

fn vault(url: &str, endpoint: &str, key: &str) -> Bucket {
    Bucket {
        url: url.to_owned(),
        endpoint: Some(endpoint.to_owned()),
        region: Some("eu-west-1".to_owned()),
        access_key_id: Some(Secret::new(key)),
        secret_access_key: Some(Secret::new("hidden")),
    }
}

async fn opened(home: &Home, place: Place, quotas: Quotas) -> Store {
    home.open_with(|config| (config.place, config.quotas) = (place, quotas)).await
}

#[tokio::test]
async fn bytes_lie_in_the_bucket_under_their_hash_and_nowhere_else() {
    let (home, s3) = (Home::new(), FakeS3::default());
    let place = bucket(&s3.start().await, "key");
    let store = opened(&home, place, Quotas { count_max: 1, ..Quotas::default() }).await;
    store.put_artifact(artifact("art_1", "call_1", b"abc")).await.unwrap();
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(s3.paths(), [format!("/vault/gate/ba/{hash}")]);
    assert!(!home.dir().join("artifacts").exists());
    let (kept, bytes) = store.artifact("art_1", ALICE).await.unwrap().unwrap();
    assert_eq!((kept.artifact_id.as_str(), bytes.as_ref()), (hash, b"abc".as_slice()));

    store.put_artifact(artifact("art_2", "call_2", b"")).await.unwrap();
    assert_eq!(store.artifact("art_1", ALICE).await, Ok(None));
    assert_eq!(s3.paths().len(), 1, "the evicted bytes are gone from the bucket");
    assert!(store.artifact("art_2", ALICE).await.unwrap().is_some());
}

#[tokio::test]
async fn a_damaged_or_lost_object_is_never_handed_out() {
    let (home, s3) = (Home::new(), FakeS3::default());
    let store = opened(&home, bucket(&s3.start().await, "key"), Quotas::default()).await;
    store.put_artifact(artifact("art_1", "call_1", b"abc")).await.unwrap();
    let path = s3.paths().remove(0);
    s3.objects.lock().unwrap().insert(path.clone(), Bytes::from_static(b"abd"));
    let fault = store.artifact("art_1", ALICE).await.unwrap_err();
    assert!(fault.log.unwrap().contains("is damaged"));
    s3.objects.lock().unwrap().remove(&path);
    assert_eq!(store.artifact("art_1", ALICE).await.unwrap_err().code, Code::Internal);
}

#[tokio::test]
async fn a_bucket_that_refuses_us_keeps_nothing_and_tells_no_client_why() {
    let (home, s3) = (Home::new(), FakeS3::default());
    let store = opened(&home, bucket(&s3.start().await, "other"), Quotas::default()).await;
    let fault = store.put_artifact(artifact("art_1", "call_1", b"abc")).await.unwrap_err();
    assert_eq!(fault.code, Code::Internal);
    assert_eq!(fault.message, "the result could not be stored; the operator's log says why");
    assert!(!fault.log.unwrap().contains("hidden"));
    assert_eq!(store.artifact("art_1", ALICE).await, Ok(None));
}

#[tokio::test]
async fn an_address_that_names_no_bucket_is_refused() {
    let home = Home::new();
    let check = async |url: &str| {
        let mut config = Config::folder(home.dir());
        config.place = Place::Bucket(vault(url, "http://127.0.0.1:9", "key"));
        let refused = Store::open(&config, home.clock.clone()).await;
        assert!(matches!(refused, Err(OpenError::Bucket { .. })), "{url}");
    };
    check("ftp://vault").await;
    check("s3://").await;
    check("s3://user:pass@vault").await;
}
