//! Questions to humans: one question, one answer, one use.

use std::time::Duration;

use model::{Approval, ApprovalId, ApprovalState, Code, Fault};
use toolgate_store::{Opened, Opening, Store, Verdict};

use crate::home::{Home, approval, closing, completed, record};

fn yes(approver: &str) -> Verdict {
    Verdict { approved: true, approver: approver.to_owned(), reason: None }
}

async fn redeem(store: &Store, id: &str, call: &str) -> Result<Opened, Fault> {
    let redeem = Some(ApprovalId::from_string(id));
    store.open_record(Opening { record: record(call), redeem, claim: None }).await
}

async fn ids(store: &Store, state: Option<ApprovalState>) -> Vec<String> {
    let approvals = store.approvals(state).await.unwrap();
    approvals.iter().map(|approval| approval.approval_id.to_string()).collect()
}

#[tokio::test]
async fn the_same_call_is_asked_about_once() {
    let home = Home::new();
    let store = home.open().await;
    let first = store.ask(approval("1", "frozen")).await.unwrap();
    assert_eq!(first, approval("1", "frozen"));
    assert_eq!(store.ask(approval("2", "frozen")).await.unwrap(), first);
    let approved = store.answer("apr_1", yes("bob")).await.unwrap();
    assert_eq!(store.ask(approval("3", "frozen")).await.unwrap(), approved);
    let other = store.ask(approval("4", "other")).await.unwrap();
    assert_eq!(other.approval_id.as_str(), "apr_4");
    assert_eq!(ids(&store, None).await, ["apr_4", "apr_1"]);
}

#[tokio::test]
async fn a_settled_question_may_be_asked_anew() {
    let home = Home::new();
    let store = home.open().await;
    store.ask(approval("1", "frozen")).await.unwrap();
    store.answer("apr_1", yes("bob")).await.unwrap();
    redeem(&store, "apr_1", "1").await.unwrap();
    assert_eq!(store.ask(approval("2", "frozen")).await.unwrap().approval_id.as_str(), "apr_2");
}

/// CO-133: the one who asks again is told, and the human is not asked again.
#[tokio::test]
async fn a_no_holds_until_the_question_would_have_expired() {
    let home = Home::new();
    let store = home.open().await;
    store.ask(approval("1", "frozen")).await.unwrap();
    let no = store.answer("apr_1", Verdict { approved: false, ..yes("bob") }).await.unwrap();
    assert_eq!(store.ask(approval("2", "frozen")).await.unwrap(), no);
    home.clock.advance(Duration::from_mins(15));
    let renewed = Approval {
        expires_at: home.clock.now().after(Duration::from_mins(15)),
        ..approval("3", "frozen")
    };
    assert_eq!(store.ask(renewed.clone()).await.unwrap(), renewed);
}

#[tokio::test]
async fn an_answer_is_stored_with_who_and_why() {
    let home = Home::new();
    let store = home.open().await;
    let asked = store.ask(approval("1", "frozen")).await.unwrap();
    home.clock.advance(Duration::from_mins(1));
    let reason = Some("too much".to_owned());
    let verdict = Verdict { approved: false, approver: "bob".to_owned(), reason: reason.clone() };
    let answered = store.answer("apr_1", verdict).await.unwrap();
    let expected = Approval {
        state: ApprovalState::Rejected,
        approver: Some("bob".to_owned()),
        answered_at: Some(home.clock.now()),
        reason,
        ..asked
    };
    assert_eq!(answered, expected);
    store.close().await;
    assert_eq!(home.open().await.approval("apr_1").await.unwrap(), Some(expected));
}

#[tokio::test]
async fn the_second_answer_learns_who_gave_the_first() {
    let home = Home::new();
    let store = home.open().await;
    store.ask(approval("1", "frozen")).await.unwrap();
    store.answer("apr_1", yes("bob")).await.unwrap();
    let check = async |expected: &str| {
        let verdict = Verdict { approved: false, ..yes("carol") };
        let fault = store.answer("apr_1", verdict).await.unwrap_err();
        assert_eq!((fault.code, fault.message.as_str()), (Code::ApprovalRejected, expected));
    };
    check("already answered by `bob`; the approval is approved").await;
    redeem(&store, "apr_1", "1").await.unwrap();
    check("already answered by `bob`; the approval is redeemed").await;
}

#[tokio::test]
async fn an_expired_question_takes_no_answer() {
    let home = Home::new();
    let store = home.open().await;
    store.ask(approval("1", "frozen")).await.unwrap();
    home.clock.advance(Duration::from_mins(15));
    let fault = store.answer("apr_1", yes("bob")).await.unwrap_err();
    assert!(fault.message.starts_with("the question expired at 2025-11-16T00:15"), "{fault}");
    assert_eq!(ids(&store, Some(ApprovalState::Pending)).await, Vec::<String>::new());
    assert_eq!(ids(&store, Some(ApprovalState::Expired)).await, ["apr_1"]);
    let renewed = Approval {
        expires_at: home.clock.now().after(Duration::from_mins(15)),
        ..approval("2", "frozen")
    };
    assert_eq!(store.ask(renewed.clone()).await.unwrap(), renewed);
    let mut raw = home.raw().await;
    let marked: String =
        sqlx::query_scalar("SELECT state FROM approvals WHERE approval_id = 'apr_1'")
            .fetch_one(&mut raw)
            .await
            .unwrap();
    assert_eq!(marked, "expired");
}

#[tokio::test]
async fn an_unknown_or_unclear_id_is_refused() {
    let home = Home::new();
    let store = home.open().await;
    store.ask(approval("a1", "one")).await.unwrap();
    store.ask(approval("a2", "two")).await.unwrap();
    let code = async |id: &str| store.answer(id, yes("bob")).await.map_err(|fault| fault.code);
    assert_eq!(code("apr_b").await.unwrap_err(), Code::PathNotFound);
    assert_eq!(code("").await.unwrap_err(), Code::PathNotFound);
    assert_eq!(code("apr_a").await.unwrap_err(), Code::ArgsInvalid);
    assert_eq!(store.approval("apr_b").await.unwrap(), None);
    assert_eq!(code("apr_a2").await.unwrap().approval_id.as_str(), "apr_a2");
    assert_eq!(ids(&store, Some(ApprovalState::Pending)).await, ["apr_a1"]);
}

#[tokio::test]
async fn only_a_live_approval_can_be_used() {
    let home = Home::new();
    let store = home.open().await;
    let check = async |id: &str, call: &str, message: &str, state: &str| {
        let fault = redeem(&store, id, call).await.unwrap_err();
        assert_eq!((fault.code, fault.message.as_str()), (Code::ApprovalRejected, message));
        assert_eq!(fault.details["state"], state);
        assert_eq!(store.record(&format!("rec_{call}")).await.unwrap(), None);
    };
    check("apr_1", "1", "there is no such approval", "missing").await;
    store.ask(approval("1", "one")).await.unwrap();
    check("apr_1", "2", "nobody has approved this call yet", "pending").await;
    store.answer("apr_1", yes("bob")).await.unwrap();
    redeem(&store, "apr_1", "3").await.unwrap();
    check("apr_1", "4", "this approval was already used", "redeemed").await;
    store.ask(approval("2", "two")).await.unwrap();
    store.answer("apr_2", Verdict { approved: false, ..yes("bob") }).await.unwrap();
    check("apr_2", "5", "the call was rejected", "rejected").await;
    store.ask(approval("3", "three")).await.unwrap();
    store.answer("apr_3", yes("bob")).await.unwrap();
    home.clock.advance(Duration::from_mins(15));
    check("apr_3", "6", "this approval has expired; ask again", "expired").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_redemptions_one_succeeds() {
    let home = Home::new();
    let store = home.open().await;
    store.ask(approval("1", "frozen")).await.unwrap();
    store.answer("apr_1", yes("bob")).await.unwrap();
    let other_process = home.open().await;
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..64 {
        let store = if number % 2 == 0 { store.clone() } else { other_process.clone() };
        calls.spawn(async move { redeem(&store, "apr_1", &number.to_string()).await });
    }
    let redeemed = calls.join_all().await;
    assert_eq!(redeemed.iter().filter(|result| result.is_ok()).count(), 1);
    let refused = redeemed.iter().filter_map(|result| result.as_ref().err());
    assert!(refused.clone().all(|fault| fault.code == Code::ApprovalRejected));
    assert_eq!(store.verify_chain().await.unwrap().entries, 1);
}

/// Nobody can be worn out with questions: one caller has so many open, and others ask all the same.
#[tokio::test]
async fn one_caller_cannot_flood_people_with_questions() {
    let home = Home::new();
    let store = home.open().await;
    for number in 0..100 {
        store.ask(approval(&format!("{number:03}"), &number.to_string())).await.unwrap();
    }
    let fault = store.ask(approval("100", "one more")).await.unwrap_err();
    assert_eq!(fault.code, Code::RateLimited);
    assert_eq!(store.ask(approval("101", "7")).await.unwrap().approval_id.as_str(), "apr_007");
    let bobs = Approval { requested_by: "user:bob".to_owned(), ..approval("102", "one more") };
    assert_eq!(store.ask(bobs.clone()).await.unwrap(), bobs);
    // A namesake in another tenant is somebody else.
    let tenant = Some("north".to_owned());
    let namesake = Approval { tenant, ..approval("104", "one of theirs") };
    assert_eq!(store.ask(namesake.clone()).await.unwrap(), namesake);
    assert_eq!(store.approval("apr_104").await.unwrap(), Some(namesake));
    store.answer("apr_007", yes("bob")).await.unwrap();
    store.ask(approval("103", "another")).await.unwrap();
}

/// A question is kept as long as an entry may name it, and as long as an answer to it holds.
#[tokio::test]
async fn questions_leave_with_the_last_entry_that_may_name_them() {
    let home = Home::new();
    let store = home.open().await;
    assert_eq!(store.prune_approvals().await, Ok(0), "there is no entry yet");
    for id in ["pending", "approved", "rejected", "redeemed"] {
        store.ask(approval(id, id)).await.unwrap();
    }
    store.answer("apr_approved", yes("bob")).await.unwrap();
    store.answer("apr_rejected", Verdict { approved: false, ..yes("bob") }).await.unwrap();
    store.answer("apr_redeemed", yes("bob")).await.unwrap();
    redeem(&store, "apr_redeemed", "old").await.unwrap();
    assert_eq!(store.prune_approvals().await, Ok(0));
    home.clock.advance(Duration::from_hours(48));
    let lasting = Approval {
        expires_at: home.clock.now().after(Duration::from_hours(72)),
        ..approval("lasting", "lasting")
    };
    store.ask(lasting).await.unwrap();
    store.close_record(&closing(completed("new"))).await.unwrap();
    assert_eq!(store.prune_approvals().await, Ok(0), "the first entry may name them");
    store.purge(store.beyond(1).await.unwrap().unwrap()).await.unwrap();
    assert_eq!(store.prune_approvals().await, Ok(4));
    assert_eq!(ids(&store, None).await, ["apr_lasting"]);
}

/// However many there are, they go a part at a time.
#[tokio::test]
async fn many_questions_leave_in_parts() {
    let home = Home::new();
    let store = home.open().await;
    for number in 0..300 {
        let (id, asker) = (format!("{number:03}"), format!("user:{number}"));
        store.ask(Approval { requested_by: asker, ..approval(&id, &id) }).await.unwrap();
    }
    home.clock.advance(Duration::from_hours(48));
    store.close_record(&closing(completed("new"))).await.unwrap();
    let before = store.commits();
    assert_eq!(store.prune_approvals().await, Ok(300));
    assert_eq!(store.commits() - before, 2);
}
