//! Answers too long to show: kept whole, shown in part, and only to their owner.

use gateway::{Done, Mode};
use model::{Answer, Caller, Handle, Principal, Selector};
use serde_json::json;
use toolgate_testkit::{Recorder, Script, TestGateway, World};

use crate::code;

/// Three hundred lines, far more than is shown inline.
fn ledger() -> String {
    let lines: Vec<String> =
        (1..=300).map(|number| format!("line {number} of the ledger")).collect();
    lines.join("\n")
}

async fn export(mode: Mode) -> (World, Done) {
    let recorder = Recorder::one("export", Script::Answer(Answer::text(ledger())));
    let gate = TestGateway::new().upstream("books", recorder);
    let world = gate.settings(|settings| settings.mode = mode).start().await;
    let done = world.call("export", json!({})).await;
    assert_eq!(code(&done), None);
    (world, done)
}

fn handle(done: &Done) -> Handle {
    done.result.as_ref().unwrap().artifacts.first().unwrap().handle.clone()
}

#[tokio::test]
async fn a_long_answer_is_kept_under_a_handle_that_its_owner_can_read() {
    for mode in [Mode::Gateway, Mode::Transparent] {
        let (world, done) = export(mode).await;
        let handle = handle(&done);
        let shown = done.cleared.get().full_text();
        assert!(shown.contains(handle.as_str()), "{shown}");
        assert!(shown.chars().count() < ledger().chars().count() / 2);

        let lines = Selector::Lines { start: 298, end: 300 };
        let view = world.gateway.view(&World::ann(), handle.as_str(), &lines).await;
        let text = view.get().full_text();
        assert!(!view.get().is_error && text.contains("line 299 of the ledger"), "{text}");
        let head = Selector::Head { chars: 20 };
        let view = world.gateway.view(&World::ann(), handle.as_str(), &head).await;
        assert!(view.get().full_text().starts_with("line 1 of the ledger"));
        assert_eq!(world.last_record().await.result.unwrap().artifacts[0].handle, handle);
    }
}

#[tokio::test]
async fn native_mode_passes_a_long_answer_whole() {
    let (_, done) = export(Mode::Native).await;
    assert_eq!(done.cleared.get().full_text(), ledger());
    assert_eq!(done.result.unwrap().artifacts, []);
}

/// Knowing a handle is not owning it: a foreign one is as good as none.
#[tokio::test]
async fn a_foreign_handle_is_answered_like_an_unknown_one() {
    let (world, done) = export(Mode::Gateway).await;
    let handle = handle(&done);
    let bob = Caller::new(Principal::user("bob"));
    let head = Selector::Head { chars: 500 };
    let foreign = world.gateway.view(&bob, handle.as_str(), &head).await;
    let unknown = world.gateway.view(&bob, "art_0", &head).await;
    assert!(unknown.get().is_error);
    let spelt = |cleared: &gateway::Cleared, handle: &str| {
        serde_json::to_string(cleared.get()).unwrap().replace(handle, "HANDLE")
    };
    assert_eq!(spelt(&foreign, handle.as_str()), spelt(&unknown, "art_0"));
}
