//! A database server that falls silent, or loses a commit: nobody waits for ever, and nothing is done
//! twice.

use model::{Answer, ApprovalId, ApprovalState, Code, Fault, Record};
use toolgate_store::{
    Claim, ClaimEnd, ClaimState, Closing, Opened, Opening, RecordFilter, Store, Verdict,
};

use crate::home::{Home, START, approval, closing, completed, opening, record, refused};
use crate::wire::{Weather, Wire};

fn claim() -> Claim {
    Claim {
        scope: "acme user:alice payments/refund".to_owned(),
        key: "ik_1".to_owned(),
        secret: false,
        args_hash: "a".to_owned(),
        expires_at: START.after(std::time::Duration::from_hours(1)),
    }
}

fn code<T>(told: Result<T, Fault>) -> Option<Code> {
    told.err().map(|fault| fault.code)
}

#[tokio::test]
async fn a_write_that_nobody_answers_is_refused_and_the_next_goes_on() {
    let home = Home::new();
    let Some((wire, store)) = Wire::before(&home).await else { return };
    store.open_record(opening(record("1"))).await.unwrap();
    wire.turns(Weather::Silent);
    let told = code(store.open_record(opening(record("2"))).await);
    assert_eq!(told, Some(Code::StoreUnavailable));
    let told = code(store.ask(approval("1", "frozen")).await);
    assert_eq!(told, Some(Code::StoreUnavailable));
    wire.turns(Weather::Fair);
    store.open_record(opening(record("3"))).await.unwrap();
    assert_eq!(store.verify_chain().await.unwrap().damage, None);
}

/// More readers at once than there are connections, and none of those is lost for it.
#[tokio::test]
async fn a_read_that_nobody_answers_is_refused_and_the_next_goes_on() {
    let home = Home::new();
    let Some((wire, store)) = Wire::before(&home).await else { return };
    store.close_record(&closing(completed("1"))).await.unwrap();
    all_read(&store, None).await;
    wire.turns(Weather::Silent);
    all_read(&store, Some(Code::StoreUnavailable)).await;
    wire.turns(Weather::Fair);
    all_read(&store, None).await;
    wire.turns(Weather::Silent);
    store.close().await;
}

async fn all_read(store: &Store, expected: Option<Code>) {
    let mut asked = tokio::task::JoinSet::new();
    for reader in 0..6 {
        let store = store.clone();
        asked.spawn(async move {
            match reader % 2 {
                0 => code(store.record("rec_1").await),
                _ => code(store.recall(&claim()).await),
            }
        });
    }
    for told in asked.join_all().await {
        assert_eq!(told, expected);
    }
}

/// Where a server may forget what it has said yes to, it is told not to.
#[tokio::test]
async fn a_server_that_commits_at_leisure_is_told_not_to() {
    let home = Home::new();
    if !home.is_postgres() {
        return;
    }
    let check = async |theirs: &str, expected: &str| {
        let store = home.open_with(|config| {
            let url = config.url.take().unwrap();
            let url = format!("{}&options[synchronous_commit]={theirs}", url.reveal());
            config.url = Some(model::Secret::new(url));
        });
        let store = store.await;
        let mut raw = home.raw().await;
        let watch = "DROP TABLE IF EXISTS said CASCADE; CREATE TABLE said (setting text); \
             CREATE OR REPLACE FUNCTION note() RETURNS trigger AS $$ BEGIN INSERT INTO said \
             VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$ LANGUAGE plpgsql; \
             CREATE OR REPLACE TRIGGER note BEFORE INSERT ON entries \
             FOR EACH ROW EXECUTE FUNCTION note()";
        sqlx::raw_sql(watch).execute(&mut raw).await.unwrap();
        store.open_record(opening(record(theirs))).await.unwrap();
        let said: String =
            sqlx::query_scalar("SELECT setting FROM said").fetch_one(&mut raw).await.unwrap();
        assert_eq!(said, expected, "{theirs}");
    };
    check("off", "on").await;
    check("on", "on").await;
    check("remote_apply", "remote_apply").await;
}

/// How often each entry stands in the chain.
async fn phases(store: &Store) -> Vec<String> {
    let entries = store.export(&RecordFilter::default(), 0).await.unwrap();
    let told = |entry: &toolgate_store::Exported| {
        let (_, record) = entry.read().unwrap();
        format!("{} {}", record.record_id, record.status)
    };
    entries.iter().map(told).collect()
}

fn keyed(id: &str) -> Opening {
    Opening { claim: Some(claim()), ..opening(record(id)) }
}

fn not_made(id: &str) -> Record {
    refused(id, Fault::new(Code::StoreUnavailable, "it could not be recorded"))
}

/// The opening was written, and nobody heard of it: the call is not made, so its key is free again and
/// its approval unused.
#[tokio::test]
async fn an_opening_whose_answer_was_lost_holds_no_key_and_uses_no_approval() {
    for claim in [Some(claim()), None] {
        let home = Home::new();
        let Some((wire, store)) = Wire::before(&home).await else { return };
        lose_an_opening(&wire, &store, claim).await;
    }
}

async fn lose_an_opening(wire: &Wire, store: &Store, claim: Option<Claim>) {
    store.adopt_unfinished().await.unwrap();
    let redeem = Some(approved(store).await);
    let open =
        |id: &str| Opening { redeem: redeem.clone(), claim: claim.clone(), ..opening(record(id)) };
    wire.turns(Weather::LosesACommit);
    assert_eq!(code(store.open_record(open("1")).await), Some(Code::StoreUnavailable));
    let told = code(store.close_record(&closing(not_made("1"))).await);
    assert_eq!(told, Some(Code::StoreUnavailable));
    wire.turns(Weather::Fair);
    let claims = store.claims(Some(ClaimState::Claimed)).await.unwrap();
    assert_eq!(claims.len(), usize::from(claim.is_some()));
    assert_eq!(store.catch_up().await, 0);
    assert_eq!(store.approval("apr_1").await.unwrap().unwrap().state, ApprovalState::Approved);
    assert_eq!(store.open_record(open("2")).await, Ok(Opened::Fresh));
    assert_eq!(store.approval("apr_1").await.unwrap().unwrap().state, ApprovalState::Redeemed);
    assert_eq!(phases(store).await, ["rec_1 open", "rec_1 failed", "rec_2 open"]);
}

async fn approved(store: &Store) -> ApprovalId {
    let asked = store.ask(approval("1", "frozen")).await.unwrap();
    let verdict = Verdict { approved: true, approver: "bob".to_owned(), reason: None };
    store.answer("apr_1", verdict).await.unwrap();
    asked.approval_id
}

/// What another call has used meanwhile is not given back in its place.
#[tokio::test]
async fn an_opening_that_never_arrived_gives_nothing_back() {
    let home = Home::new();
    let Some((wire, store)) = Wire::before(&home).await else { return };
    let redeem = Some(approved(&store).await);
    wire.turns(Weather::Down);
    let open = |id: &str| Opening { redeem: redeem.clone(), ..keyed(id) };
    assert_eq!(code(store.open_record(open("1")).await), Some(Code::StoreUnavailable));
    wire.turns(Weather::Fair);
    assert_eq!(store.open_record(open("2")).await, Ok(Opened::Fresh));
    store.close_record(&closing(not_made("1"))).await.unwrap();
    assert_eq!(store.approval("apr_1").await.unwrap().unwrap().state, ApprovalState::Redeemed);
    let claims = store.claims(None).await.unwrap();
    assert_eq!(claims[0].record_id.as_str(), "rec_2");
}

/// The commit is still on its way when the gate asks whether it has happened.
#[tokio::test]
async fn a_commit_that_arrives_late_is_made_once() {
    let home = Home::new();
    let Some((wire, store)) = Wire::before(&home).await else { return };
    store.open_record(opening(record("1"))).await.unwrap();
    wire.turns(Weather::HoldsACommit);
    store.open_record(keyed("2")).await.unwrap();
    wire.turns(Weather::HoldsACommit);
    store.close_record(&closing(completed("1"))).await.unwrap();
    assert_eq!(phases(&store).await, ["rec_1 open", "rec_2 open", "rec_1 completed"]);
}

#[tokio::test]
async fn a_closing_whose_answer_was_lost_is_written_once() {
    let home = Home::new();
    let Some((wire, store)) = Wire::before(&home).await else { return };
    store.open_record(keyed("1")).await.unwrap();
    wire.turns(Weather::LosesACommit);
    let end = claim().ended(ClaimEnd::Done(Answer::text("paid")));
    let closing = Closing { record: completed("1").into(), claim: Some(end) };
    assert_eq!(code(store.close_record(&closing).await), Some(Code::StoreUnavailable));
    wire.turns(Weather::Fair);
    assert_eq!(store.catch_up().await, 0);
    assert_eq!(phases(&store).await, ["rec_1 open", "rec_1 completed"]);
    let stored = store.open_record(keyed("2")).await;
    assert_eq!(stored, Ok(Opened::Stored(Answer::text("paid"))));
}
