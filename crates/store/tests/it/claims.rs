//! Idempotency keys: one effect, whoever asks again (CO-85, CO-106, CO-205).

use std::time::Duration;

use model::{Answer, ApprovalState, Code};
use toolgate_store::{
    Claim, ClaimEnd, ClaimOutcome, ClaimState, Closing, Opened, Opening, Store, Verdict,
};

use crate::home::{Home, START, approval, closing, completed, record};

const WINDOW: Duration = Duration::from_hours(24);

fn claim(args_hash: &str) -> Claim {
    Claim {
        scope: "acme user:alice payments/refund".to_owned(),
        key: "ik_1".to_owned(),
        secret: false,
        args_hash: args_hash.to_owned(),
        expires_at: START.after(WINDOW),
    }
}

async fn open(store: &Store, id: &str, claim: Claim) -> Result<Opened, (Code, String)> {
    let opening = Opening { record: record(id), redeem: None, claim: Some(claim) };
    store.open_record(opening).await.map_err(|fault| {
        let state = fault.details.get("state").and_then(|state| state.as_str());
        (fault.code, state.unwrap_or_default().to_owned())
    })
}

async fn close(store: &Store, id: &str, end: ClaimEnd) {
    let Claim { scope, key, .. } = claim("a");
    let claim = Some(ClaimOutcome { scope, key, end });
    store.close_record(&Closing { record: completed(id).into(), claim }).await.unwrap();
}

async fn sent(store: &Store, id: &str) -> Result<(), Code> {
    let sent = store.dispatch(&claim("a"), &record(id).record_id).await;
    sent.map_err(|fault| fault.code)
}

fn conflict(state: &str) -> Result<Opened, (Code, String)> {
    Err((Code::IdempotencyConflict, state.to_owned()))
}

#[tokio::test]
async fn a_finished_call_gives_its_answer_again() {
    let home = Home::new();
    let store = home.open().await;
    let answer = Answer::structured(serde_json::json!({"refund": 9_007_199_254_740_993_u64}));
    assert_eq!(open(&store, "1", claim("a")).await, Ok(Opened::Fresh));
    close(&store, "1", ClaimEnd::Done(answer.clone())).await;
    assert_eq!(open(&store, "2", claim("a")).await, Ok(Opened::Stored(answer.clone())));
    store.close().await;
    let store = home.open().await;
    store.adopt_unfinished().await.unwrap();
    assert_eq!(open(&store, "3", claim("a")).await, Ok(Opened::Stored(answer)));
    assert!(store.record("rec_2").await.unwrap().is_some(), "the repeated call is on record");
}

#[tokio::test]
async fn a_repeated_call_leaves_its_approval_unused() {
    let home = Home::new();
    let store = home.open().await;
    open(&store, "1", claim("a")).await.unwrap();
    close(&store, "1", ClaimEnd::Done(Answer::text("done"))).await;
    let approval = store.ask(approval("1", "frozen")).await.unwrap();
    let verdict = Verdict { approved: true, approver: "bob".to_owned(), reason: None };
    store.answer("apr_1", verdict).await.unwrap();
    let redeem = Some(approval.approval_id);
    let opening = Opening { record: record("2"), redeem, claim: Some(claim("a")) };
    assert!(matches!(store.open_record(opening).await, Ok(Opened::Stored(_))));
    let approval = store.approval("apr_1").await.unwrap().unwrap();
    assert_eq!(approval.state, ApprovalState::Approved);
}

#[tokio::test]
async fn a_key_in_use_is_refused_with_its_state() {
    let home = Home::new();
    let store = home.open().await;
    open(&store, "1", claim("a")).await.unwrap();
    assert_eq!(open(&store, "2", claim("a")).await, conflict("running"));
    assert_eq!(open(&store, "3", claim("b")).await, conflict("other_args"));
    close(&store, "1", ClaimEnd::Unknown).await;
    assert_eq!(open(&store, "4", claim("a")).await, conflict("unknown"));
    assert_eq!(store.record("rec_2").await.unwrap(), None, "a refused opening leaves no entry");
}

#[tokio::test]
async fn keys_of_another_scope_are_other_keys() {
    let home = Home::new();
    let store = home.open().await;
    open(&store, "1", claim("a")).await.unwrap();
    let other = Claim { scope: "acme user:bob payments/refund".to_owned(), ..claim("a") };
    assert_eq!(open(&store, "2", other).await, Ok(Opened::Fresh));
}

#[tokio::test]
async fn a_released_key_is_free() {
    let home = Home::new();
    let store = home.open().await;
    open(&store, "1", claim("a")).await.unwrap();
    close(&store, "1", ClaimEnd::Released).await;
    assert_eq!(open(&store, "2", claim("b")).await, Ok(Opened::Fresh));
}

#[tokio::test]
async fn an_expired_key_is_free_and_its_former_owner_cannot_touch_it() {
    let home = Home::new();
    let store = home.open().await;
    open(&store, "1", claim("a")).await.unwrap();
    close(&store, "1", ClaimEnd::Done(Answer::text("done"))).await;
    home.clock.advance(WINDOW);
    let renewed = Claim { expires_at: home.clock.now().after(WINDOW), ..claim("b") };
    assert_eq!(open(&store, "2", renewed.clone()).await, Ok(Opened::Fresh));
    close(&store, "1", ClaimEnd::Released).await;
    assert_eq!(open(&store, "3", renewed).await, conflict("running"));
    let late = store.record("rec_1").await.unwrap().unwrap();
    assert_eq!(late, completed("1"), "the late closing is on record all the same");
}

/// However long ago: what may have taken effect is not made again because nobody looked.
#[tokio::test]
async fn only_an_answer_is_forgotten_after_its_window() {
    let check = async |state: ClaimState, expected: &str| {
        let home = Home::new();
        let store = home.open().await;
        open(&store, "1", claim("a")).await.unwrap();
        if state == ClaimState::Dispatched {
            sent(&store, "1").await.unwrap();
        }
        if state == ClaimState::Unknown {
            close(&store, "1", ClaimEnd::Unknown).await;
        }
        home.clock.advance(WINDOW * 2);
        assert_eq!(store.recall(&claim("a")).await.unwrap_err().details["state"], expected);
        assert_eq!(open(&store, "2", claim("a")).await, conflict(expected), "{state:?}");
    };
    check(ClaimState::Claimed, "running").await;
    check(ClaimState::Dispatched, "running").await;
    check(ClaimState::Unknown, "unknown").await;
}

/// What is remembered no longer takes no room; what is in doubt stays.
#[tokio::test]
async fn answers_are_forgotten_after_their_window() {
    let home = Home::new();
    let store = home.open().await;
    open(&store, "1", claim("a")).await.unwrap();
    close(&store, "1", ClaimEnd::Done(Answer::text("done"))).await;
    let other = Claim { key: "ik_2".to_owned(), ..claim("a") };
    open(&store, "2", other.clone()).await.unwrap();
    let end = ClaimOutcome { scope: other.scope, key: other.key, end: ClaimEnd::Unknown };
    store.close_record(&Closing { record: completed("2").into(), claim: Some(end) }).await.unwrap();
    assert_eq!(store.forget_answers().await, Ok(0));
    home.clock.advance(WINDOW);
    assert_eq!(store.forget_answers().await, Ok(1));
    let left = store.claims(None).await.unwrap();
    assert_eq!(left.iter().map(|line| line.key.as_str()).collect::<Vec<_>>(), ["ik_2"]);
}

#[tokio::test]
async fn only_adoption_turns_unfinished_calls_into_unknown_ones() {
    let home = Home::new();
    let gateway = home.open().await;
    open(&gateway, "1", claim("a")).await.unwrap();
    sent(&gateway, "1").await.unwrap();
    let reader = home.open().await;
    assert_eq!(open(&reader, "2", claim("a")).await, conflict("running"));
    gateway.close().await;
    let gateway = home.open().await;
    assert_eq!(gateway.adopt_unfinished().await, Ok(1));
    assert_eq!(gateway.adopt_unfinished().await, Ok(0));
    assert_eq!(open(&gateway, "3", claim("a")).await, conflict("unknown"));
}

#[tokio::test]
async fn a_refused_redemption_takes_no_key() {
    let home = Home::new();
    let store = home.open().await;
    let redeem = Some(model::ApprovalId::from_string("apr_none"));
    let opening = Opening { record: record("1"), redeem, claim: Some(claim("a")) };
    assert_eq!(store.open_record(opening).await.unwrap_err().code, Code::ApprovalRejected);
    assert_eq!(open(&store, "2", claim("a")).await, Ok(Opened::Fresh));
}

/// CO-106: of many at once, one makes the call.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_equal_calls_one_is_made() {
    let home = Home::new();
    let store = home.open().await;
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..64 {
        let store = store.clone();
        calls.spawn(async move { open(&store, &number.to_string(), claim("a")).await });
    }
    let opened = calls.join_all().await;
    assert_eq!(opened.iter().filter(|opened| **opened == Ok(Opened::Fresh)).count(), 1);
    assert_eq!(opened.iter().filter(|opened| **opened == conflict("running")).count(), 63);
}

#[tokio::test]
async fn a_claim_belongs_to_its_record() {
    let home = Home::new();
    let store = home.open().await;
    open(&store, "1", claim("a")).await.unwrap();
    close(&store, "stranger", ClaimEnd::Done(Answer::text("forged"))).await;
    assert_eq!(open(&store, "2", claim("a")).await, conflict("running"));
}

/// What was never sent needs no person: the key is free again.
#[tokio::test]
async fn a_claim_that_was_never_sent_is_freed() {
    let home = Home::new();
    let gateway = home.open().await;
    open(&gateway, "1", claim("a")).await.unwrap();
    gateway.close().await;
    let gateway = home.open().await;
    assert_eq!(gateway.adopt_unfinished().await, Ok(0));
    assert_eq!(open(&gateway, "2", claim("a")).await, Ok(Opened::Fresh));
}

/// A gate that stood still while its claim was freed must not send the call after all.
#[tokio::test]
async fn a_lost_claim_cannot_be_sent() {
    let home = Home::new();
    let store = home.open().await;
    open(&store, "1", claim("a")).await.unwrap();
    home.open().await.adopt_unfinished().await.unwrap();
    assert_eq!(sent(&store, "1").await, Err(Code::IdempotencyConflict));
    open(&store, "2", claim("a")).await.unwrap();
    assert_eq!(sent(&store, "1").await, Err(Code::IdempotencyConflict));
    assert_eq!(sent(&store, "2").await, Ok(()));
}

/// Where gates share a server, the living keep what is theirs.
#[tokio::test]
async fn a_living_gate_keeps_its_claims() {
    let home = Home::new();
    if !home.is_postgres() {
        return;
    }
    let (one, other) = (home.open().await, home.open().await);
    one.adopt_unfinished().await.unwrap();
    open(&one, "1", claim("a")).await.unwrap();
    sent(&one, "1").await.unwrap();
    assert_eq!(other.adopt_unfinished().await, Ok(0));
    assert_eq!(open(&other, "2", claim("a")).await, conflict("running"));
    home.clock.advance(Duration::from_secs(31));
    assert_eq!(other.adopt_unfinished().await, Ok(1));
    assert_eq!(open(&other, "3", claim("a")).await, conflict("unknown"));
    other.sign_off().await.unwrap();
}

#[tokio::test]
async fn a_person_settles_what_is_in_doubt() {
    let home = Home::new();
    let store = home.open().await;
    open(&store, "1", claim("a")).await.unwrap();
    assert_eq!(store.release_claim("rec_1", "bob").await.unwrap_err().code, Code::PathNotFound);
    close(&store, "1", ClaimEnd::Unknown).await;
    let lines = store.claims(Some(ClaimState::Unknown)).await.unwrap();
    assert_eq!((lines.len(), lines[0].key.as_str()), (1, "ik_1"));
    let record = store.confirm_claim("rec_", "bob", Answer::text("it was paid")).await.unwrap();
    assert_eq!(record.stages.last().unwrap(), "confirmed by bob");
    let stored = Opened::Stored(Answer::text("it was paid"));
    assert_eq!(open(&store, "2", claim("a")).await, Ok(stored));
    assert_eq!(store.release_claim("rec_1", "bob").await.unwrap_err().code, Code::PathNotFound);
    assert_eq!(store.record("rec_1").await.unwrap(), Some(record));
    assert_eq!(store.verify_chain().await.unwrap().damage, None);
}

/// A doubt is settled however long ago the record of its call went.
#[tokio::test]
async fn a_doubt_outlives_the_record_of_its_call() {
    let check = async |deed: &str, settled: Opened| {
        let home = Home::new();
        let store = home.open().await;
        open(&store, "1", claim("a")).await.unwrap();
        close(&store, "1", ClaimEnd::Unknown).await;
        home.clock.advance(WINDOW * 2);
        store.close_record(&closing(completed("9"))).await.unwrap();
        let old = store.beyond(1).await.unwrap().unwrap();
        store.purge(old).await.unwrap();
        assert_eq!(store.record("rec_1").await.unwrap(), None);
        let record = match deed {
            "released" => store.release_claim("rec_1", "bob").await.unwrap(),
            _ => store.confirm_claim("rec_1", "bob", Answer::text("paid")).await.unwrap(),
        };
        assert_eq!(record.call.asked_name, "payments/refund");
        assert_eq!(record.call.idempotency_key.as_deref(), Some("ik_1"));
        assert_eq!(record.stages, [format!("{deed} by bob")]);
        assert_eq!(store.record("rec_1").await.unwrap(), Some(record));
        assert_eq!(open(&store, "2", claim("a")).await, Ok(settled));
        assert_eq!(store.verify_chain().await.unwrap().damage, None);
    };
    Box::pin(check("released", Opened::Fresh)).await;
    Box::pin(check("confirmed", Opened::Stored(Answer::text("paid")))).await;
}

#[tokio::test]
async fn a_released_doubt_may_be_made_again() {
    let home = Home::new();
    let store = home.open().await;
    open(&store, "1", claim("a")).await.unwrap();
    close(&store, "1", ClaimEnd::Unknown).await;
    store.release_claim("rec_1", "bob").await.unwrap();
    assert_eq!(open(&store, "2", claim("b")).await, Ok(Opened::Fresh));
}
