//! A database server that falls silent, or loses a commit: nobody waits for ever, and nothing is done
//! twice.

use model::{Code, Fault};
use toolgate_store::{Claim, Store};

use crate::home::{Home, START, approval, closing, completed, opening, record};
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
    for _ in 0..4 {
        let store = store.clone();
        asked.spawn(async move {
            [code(store.record("rec_1").await), code(store.recall(&claim()).await)]
        });
    }
    for told in asked.join_all().await {
        assert_eq!(told, [expected; 2]);
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
