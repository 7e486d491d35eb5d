//! Sessions: each its principal's, in its time, and so many at most.

use std::time::Duration;

use model::SessionId;
use toolgate_store::SessionRow;

use crate::home::Home;

const IDLE: Duration = Duration::from_hours(1);
const MOST: usize = 3;

fn row(who: &str, id: &str) -> SessionRow {
    let session_id = SessionId::from_string(id);
    SessionRow { session_id, principal: who.to_owned(), body: "hello".to_owned() }
}

#[tokio::test]
async fn a_session_is_its_principals_until_nobody_uses_it() {
    let home = Home::new();
    let store = home.open().await;
    store.keep_session(row("ann", "s1"), IDLE, MOST).await.unwrap();
    let known = async |who: &str| store.session("s1", who, IDLE).await.unwrap().is_some();
    assert!(known("ann").await && !known("bob").await);
    home.clock.advance(IDLE);
    assert!(store.touch_session("s1", "ann").await.unwrap());
    home.clock.advance(IDLE);
    assert!(known("ann").await);
    home.clock.advance(Duration::from_millis(1));
    assert!(!known("ann").await);
}

/// Those longest out of use make room, and only for others of their own principal.
#[tokio::test]
async fn a_principal_has_so_many_sessions_and_no_more() {
    let home = Home::new();
    let store = home.open().await;
    let keep = async |who: &str, id: &str| {
        home.clock.advance(Duration::from_secs(1));
        store.keep_session(row(who, id), IDLE, MOST).await.unwrap();
    };
    keep("bob", "b0").await;
    for id in ["a0", "a1", "a2", "a3"] {
        keep("ann", id).await;
    }
    assert!(store.touch_session("a1", "ann").await.unwrap());
    keep("ann", "a4").await;
    let check = async |who: &str, id: &str, wanted: bool| {
        let known = store.session(id, who, IDLE).await.unwrap().is_some();
        assert_eq!(known, wanted, "{id}");
    };
    check("ann", "a0", false).await;
    check("ann", "a1", true).await;
    check("ann", "a2", false).await;
    check("ann", "a3", true).await;
    check("ann", "a4", true).await;
    check("bob", "b0", true).await;
}
