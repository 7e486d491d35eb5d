//! A running gate with everything a test wants to do to it or ask of it.

use std::path::PathBuf;
use std::sync::Arc;

use gateway::{CallRequest, Done, Gateway, Refreshed, Watch};
use model::{Approval, Caller, Clock, Principal, Record};
use serde_json::Value;
use store::{RecordFilter, Store, Verdict};
use tempfile::TempDir;
use tokio::task::JoinHandle;

#[derive(Debug)]
pub struct World {
    pub gateway: Arc<Gateway>,
    /// Stands still until [`Clock::advance`] moves it.
    pub clock: Clock,
    /// The gate's own store.
    pub store: Store,
    /// What the first refresh found.
    pub refreshed: Refreshed,
    pub(crate) home: TempDir,
}

impl World {
    /// The person behind every call that names nobody else.
    pub fn ann() -> Caller {
        Caller::new(Principal::user("ann"))
    }

    /// A call by ann.
    pub fn request(name: &str, args: Value) -> CallRequest {
        CallRequest::new(Self::ann(), name, args)
    }

    pub async fn call(&self, name: &str, args: Value) -> Done {
        self.send(Self::request(name, args)).await
    }

    pub async fn call_as(&self, principal: Principal, name: &str, args: Value) -> Done {
        self.send(CallRequest::new(Caller::new(principal), name, args)).await
    }

    pub async fn send(&self, request: CallRequest) -> Done {
        Box::pin(self.gateway.call(request, Watch::default())).await
    }

    /// Makes the call in the background.
    pub fn spawn(&self, request: CallRequest, watch: Watch) -> JoinHandle<Done> {
        let gateway = Arc::clone(&self.gateway);
        tokio::spawn(async move { Box::pin(gateway.call(request, watch)).await })
    }

    /// Every record in full, oldest first.
    pub async fn records(&self) -> Vec<Record> {
        let filter = RecordFilter { limit: 1_000, ..RecordFilter::default() };
        let lines = self.gateway.records(&filter).await.expect("records can be listed");
        let mut records = Vec::new();
        for line in lines.iter().rev() {
            let record = self.gateway.record(line.record_id.as_str()).await;
            records.push(record.expect("a record can be read").expect("it was listed"));
        }
        records
    }

    pub async fn last_record(&self) -> Record {
        self.records().await.pop().expect("there is a record")
    }

    /// Says yes to the question that this call left, as `user:bob`.
    pub async fn approve(&self, done: &Done) -> Approval {
        self.answer(done, true, None).await
    }

    pub async fn reject(&self, done: &Done, reason: &str) -> Approval {
        self.answer(done, false, Some(reason.to_owned())).await
    }

    /// Ends this gate and starts another on what it leaves behind.
    pub async fn restart(self, next: crate::TestGateway) -> Self {
        self.gateway.close(std::time::Duration::ZERO).await;
        let Self { gateway, store, home, .. } = self;
        drop((gateway, store));
        next.start_in(home).await
    }

    /// Where the store keeps its files.
    pub fn data_dir(&self) -> PathBuf {
        self.home.path().join("data")
    }

    async fn answer(&self, done: &Done, approved: bool, reason: Option<String>) -> Approval {
        let result = done.result.as_ref().expect("a recorded call has a result");
        let id = result.approval_id.as_ref().expect("the call left a question");
        let verdict = Verdict { approved, approver: "user:bob".to_owned(), reason };
        self.gateway.answer(id.as_str(), verdict).await.expect("the answer counts")
    }
}
