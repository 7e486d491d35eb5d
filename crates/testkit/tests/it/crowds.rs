//! Floods of sessions and streams: each principal has its share, and nobody takes another's.

use std::sync::Arc;

use gateway::Introduction;
use model::limits::{
    SESSION_HELD, SESSION_IDLE, SESSIONS_PER_PRINCIPAL_MAX, STREAMS_PER_PRINCIPAL_MAX,
};
use model::{Caller, Code, Principal};
use serde_json::Map;
use server::sessions::Sessions;
use tokio::task::JoinSet;
use toolgate_testkit::{TestGateway, World};

fn caller(name: &str) -> Caller {
    Caller::new(Principal::user(name))
}

async fn begin(world: &World, who: &str) -> Result<String, Code> {
    let introduction = Introduction {
        revision: "2025-11-25".to_owned(),
        client: None,
        capabilities: Map::new(),
        info: None,
    };
    let begun = Box::pin(world.gateway.begin_session(&caller(who), &introduction)).await;
    begun.map(|id| id.to_string()).map_err(|fault| fault.code)
}

/// D3: one caller cannot open sessions without end, nor keep others from theirs. What nobody uses
/// makes room, and is found again in the store until its hour is over.
#[tokio::test]
async fn sessions_of_one_caller_have_an_end() {
    let world = Arc::new(TestGateway::new().start().await);
    let mut opening = JoinSet::new();
    for _ in 0..SESSIONS_PER_PRINCIPAL_MAX {
        let world = Arc::clone(&world);
        opening.spawn(async move { begin(&world, "ann").await });
    }
    let opened: Vec<String> = opening.join_all().await.into_iter().map(Result::unwrap).collect();
    assert_eq!(begin(&world, "ann").await, Err(Code::RateLimited));
    assert!(begin(&world, "bob").await.is_ok());
    world.clock.advance(SESSION_HELD);
    assert!(begin(&world, "ann").await.is_ok());
    let first = opened.first().unwrap();
    let known = async || world.gateway.find_session(first, &caller("ann")).await.unwrap();
    assert!(known().await.is_some(), "the store knows what memory forgot");
    world.clock.advance(SESSION_IDLE);
    assert!(known().await.is_none(), "an hour unused, it has ended");
}

#[tokio::test]
async fn streams_of_one_caller_have_an_end() {
    let world = TestGateway::new().start().await;
    let sessions = Sessions::new(Arc::clone(&world.gateway));
    let mut open: Vec<_> =
        (0..STREAMS_PER_PRINCIPAL_MAX).map(|_| sessions.stream(&caller("ann")).unwrap()).collect();
    let refused = sessions.stream(&caller("ann")).map(|_| ()).unwrap_err();
    assert_eq!(refused.code, Code::RateLimited);
    assert!(sessions.stream(&caller("bob")).is_ok());
    drop(open.pop());
    assert!(sessions.stream(&caller("ann")).is_ok());
}
