//! A data folder for one test, and things to put into it.

use std::path::PathBuf;
use std::time::Duration;

use model::call::ENVELOPE_VERSION;
use model::result::{Cleaning, Metrics, Provenance};
use model::{
    Approval, ApprovalId, ApprovalState, Call, CallId, CallResult, CallStatus, Clock, Fault,
    ItemKey, ItemKind, Lineage, Outcome, Principal, Record, RecordId, RecordStatus, RunId, Secret,
    Subject, Timestamp, TraceId, UpstreamName,
};
use serde_json::json;
use sqlx::{AnyConnection, Connection};
use tempfile::TempDir;
use toolgate_store::{Closing, Config, OpenError, Opening, Store};

pub(crate) const START: Timestamp = Timestamp::from_millis(1_763_251_200_000);

/// A PostgreSQL server that tests may fill; `./test` starts one.
const POSTGRES: &str = "TOOLGATE_TEST_POSTGRES";

pub(crate) struct Home {
    folder: TempDir,
    url: Option<Secret>,
    pub(crate) clock: Clock,
}

impl Home {
    /// On PostgreSQL where there is one, in a schema of its own; else a folder alone.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let schema = folder.path().file_name().unwrap().to_str().unwrap().replace('.', "t_");
        let url = std::env::var(POSTGRES).ok().map(|url| {
            let separator = if url.contains('?') { '&' } else { '?' };
            Secret::new(format!("{url}{separator}options[search_path]={}", schema.to_lowercase()))
        });
        Self { folder, url, clock: Clock::stopped(START) }
    }

    /// A folder alone, whatever else there is.
    pub(crate) fn in_folder() -> Self {
        Self { url: None, ..Self::new() }
    }

    pub(crate) fn is_postgres(&self) -> bool {
        self.url.is_some()
    }

    pub(crate) fn url(&self) -> Option<&Secret> {
        self.url.as_ref()
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.dir().join("toolgate.db")
    }

    pub(crate) async fn try_open(&self) -> Result<Store, OpenError> {
        self.prepared(|_| ()).await
    }

    pub(crate) async fn open_with(&self, change: impl FnOnce(&mut Config)) -> Store {
        self.prepared(change).await.unwrap()
    }

    async fn prepared(&self, change: impl FnOnce(&mut Config)) -> Result<Store, OpenError> {
        if let Some(url) = &self.url {
            let schema = url.reveal().rsplit('=').next().unwrap().to_owned();
            let create = sqlx::AssertSqlSafe(format!("CREATE SCHEMA IF NOT EXISTS {schema}"));
            // Two at once may both find it missing; one of them then fails, and it is there.
            drop(sqlx::query(create).execute(&mut self.raw().await).await);
        }
        let mut config = Config { url: self.url.clone(), ..Config::folder(self.dir()) };
        change(&mut config);
        Store::open(&config, self.clock.clone()).await
    }

    pub(crate) async fn open(&self) -> Store {
        self.try_open().await.unwrap()
    }

    /// A connection that knows none of the store's rules, nor of its journal: what stands there is filed
    /// before.
    pub(crate) async fn raw(&self) -> AnyConnection {
        if self.url.is_none() && self.database().exists() {
            Box::pin(self.open()).await.close().await;
        }
        sqlx::any::install_default_drivers();
        let file = format!("sqlite://{}?mode=rwc", self.database().display());
        let url = self.url.as_ref().map_or(file.as_str(), |url| url.reveal());
        AnyConnection::connect(url).await.unwrap()
    }

    /// Takes away what keeps entries as they are.
    pub(crate) async fn disarm(&self) {
        let mut raw = self.raw().await;
        for trigger in ["entries_refuse_update", "entries_refuse_delete"] {
            let on = if self.is_postgres() { " ON entries" } else { "" };
            let drop = sqlx::AssertSqlSafe(format!("DROP TRIGGER {trigger}{on}"));
            sqlx::query(drop).execute(&mut raw).await.unwrap();
        }
    }
}

pub(crate) fn record(id: &str) -> Record {
    Record {
        record_id: RecordId::from_string(format!("rec_{id}")),
        status: RecordStatus::Open,
        call: call(id),
        decision: None,
        approval_id: None,
        result: None,
        answer: None,
        scorecard: None,
        redacted: false,
        replay_rule: None,
        opened_at: START,
        closed_at: None,
        stages: vec!["resolve".into()],
    }
}

pub(crate) fn completed(id: &str) -> Record {
    let status = RecordStatus::Completed;
    Record { status, result: Some(result(id, None)), closed_at: Some(START), ..record(id) }
}

pub(crate) fn refused(id: &str, fault: Fault) -> Record {
    let (status, _) = RecordStatus::of(&fault);
    Record { status, result: Some(result(id, Some(fault))), closed_at: Some(START), ..record(id) }
}

pub(crate) fn opening(record: Record) -> Opening {
    Opening { record, redeem: None, claim: None }
}

pub(crate) fn closing(record: Record) -> Closing {
    Closing { record: Box::new(record), claim: None }
}

pub(crate) fn approval(id: &str, subject_hash: &str) -> Approval {
    Approval {
        approval_id: ApprovalId::from_string(format!("apr_{id}")),
        gate: "refunds".to_owned(),
        state: ApprovalState::Pending,
        subject: Subject::Call,
        subject_hash: subject_hash.to_owned(),
        frozen_hash: format!("{subject_hash} until then"),
        requested_by: "user:alice".to_owned(),
        tenant: None,
        requested_for: CallId::from_string("call_1"),
        tool: "payments/refund".to_owned(),
        args: json!({"amount": 12, "account": 9_007_199_254_740_993_u64}),
        requested_at: START,
        expires_at: START.after(Duration::from_mins(15)),
        approver: None,
        answered_at: None,
        reason: None,
    }
}

fn call(id: &str) -> Call {
    Call {
        envelope_version: ENVELOPE_VERSION.into(),
        call_id: CallId::from_string(format!("call_{id}")),
        run_id: RunId::from_string("run_1"),
        trace_id: TraceId::from_string("0af7651916cd43dd8448eb211c80319c"),
        parent_span_id: None,
        parent_call_id: None,
        session_id: None,
        method: None,
        asked_name: "refund".to_owned(),
        item_key: Some(ItemKey {
            upstream: UpstreamName::from_string("payments"),
            name: "refund".to_owned(),
            kind: ItemKind::Tool,
        }),
        capability_id: None,
        args: json!({"amount": 12.5, "account": 9_007_199_254_740_993_u64}),
        args_hash: "hash".to_owned(),
        principal_chain: vec![Principal::user("alice"), Principal::agent("claude")],
        acts_for: None,
        evidence_refs: Vec::new(),
        roles: Vec::new(),
        grants: Vec::new(),
        ceiling: None,
        scopes: None,
        intent: None,
        mode_effective: None,
        policy_decision_id: None,
        idempotency_key: None,
        dry_run: false,
        started_at: START,
        deadline: START.after(Duration::from_mins(1)),
        lineage: Lineage::default(),
    }
}

fn result(id: &str, error: Option<Fault>) -> CallResult {
    CallResult {
        envelope_version: model::result::ENVELOPE_VERSION.into(),
        call_id: CallId::from_string(format!("call_{id}")),
        run_id: RunId::from_string("run_1"),
        trace_id: TraceId::from_string("0af7651916cd43dd8448eb211c80319c"),
        capability_id: None,
        status: CallStatus::Completed,
        outcome: Outcome::Ok,
        summary: if error.is_some() { String::new() } else { "12.50 refunded".to_owned() },
        lossy: false,
        facts: Vec::new(),
        artifacts: Vec::new(),
        views: Vec::new(),
        result_hash: None,
        evidence: Vec::new(),
        mutation_refs: Vec::new(),
        findings: Vec::new(),
        error,
        policy_decision_id: None,
        approval_id: None,
        deduplicated: false,
        cleaning: Cleaning::default(),
        metrics: Metrics::default(),
        provenance: Provenance::default(),
    }
}
