//! A server that never has enough, before clients of both kinds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use model::Client;
use serde_json::json;

use super::*;
use crate::connector::Bell;
use crate::errand::Listener;
use crate::mcp::wire::{Followed, Greeting};

/// Answers every request by a question.
#[derive(Debug, Default)]
struct Curious(AtomicUsize);

#[async_trait]
impl Wire for Curious {
    async fn greet(&self) -> Result<Arc<Greeting>, Fault> {
        Err(Fault::new(Code::Internal, "nobody greets it"))
    }

    async fn ask(&self, _asking: &Asking<'_>) -> Result<Reply, Fault> {
        let round = self.0.fetch_add(1, Ordering::SeqCst);
        let question = json!({"method": "elicitation/create", "params": {"message": "?"}});
        let asks = json!({"resultType": "input_required", "requestState": round.to_string(),
            "inputRequests": {"q": question}});
        Ok(Reply { value: asks, written: None })
    }

    async fn follow(&self, _: Followed, _: bool) -> Result<(), Fault> {
        Ok(())
    }

    fn attach(&self, _bell: Bell) {}
}

/// CO-178: who is asked while it waits is asked so often and no more; who goes on itself gets each
/// question, and the gate counts them.
#[tokio::test]
async fn a_server_that_only_ever_asks_comes_to_an_end() {
    let check = async |rounds: bool, asked: usize, ends: bool| {
        let capabilities = json!({"elicitation": {}}).as_object().cloned().unwrap();
        let client = Arc::new(Client { rounds, capabilities, ..Client::default() });
        let news = Listener::new(|heard| {
            let News::Question(question) = heard else { return false };
            question.reply.send(Ok(json!({"action": "cancel"}))).is_ok()
        });
        let errand = Errand { client, news: Some(news), ..Errand::quiet() };
        let curious = Curious::default();
        let asking = Asking { errand: Some(&errand), ..Asking::own("tools/call", Map::new()) };
        assert_eq!(settle(&curious, asking).await.is_err(), ends);
        assert_eq!(curious.0.load(Ordering::SeqCst), asked);
    };
    check(false, limits::ROUNDS_MAX, true).await;
    check(true, 1, false).await;
}
