//! CO-33: a critic is asked before a call and after it, and one that is not heard changes nothing.

use std::sync::Arc;
use std::time::Duration;

use model::{Code, Record};
use serde_json::{Value, json};
use toolgate_testkit::Script;
use upstream::{Egress, Webhook};

use crate::answering::client;
use crate::{code, shelf};

fn webhook(url: &str, timeout: Duration) -> Arc<Webhook> {
    Arc::new(Webhook::new(url, None, timeout, &Egress::Open).unwrap())
}

/// CO-33: verify, then the gateway and the tool, then score, then the record.
#[tokio::test]
async fn a_critic_is_asked_before_and_after_a_call() {
    let (verify, mut verified) = client::answering(r#"{"ok": true}"#).await;
    let words = r#"{"verdict": "accept", "scores": {"policy": 1}}"#;
    let (score, mut scored) = client::answering(words).await;
    let (recorder, world) = shelf(Script::Echo, |settings| {
        settings.critic.verify = Some(webhook(&verify, client::PATIENCE));
        settings.critic.score = Some(webhook(&score, client::PATIENCE));
    })
    .await;
    let args = json!({"n": 1, "password": "hunter2x-Tr0ub4dor9"});
    assert_eq!(code(&world.call("put", args).await), None);
    assert_eq!(recorder.count(), 1);
    let asked: Value = serde_json::from_str(&verified.recv().await.unwrap().1).unwrap();
    assert_eq!((&asked["event"], &asked["writes"]), (&json!("call.verify"), &json!(true)));
    assert_eq!(asked["call"]["args"], json!({"n": 1, "password": "[redacted]"}));
    assert_eq!(asked["decision"]["action"], "allow");
    let asked: Value = serde_json::from_str(&scored.recv().await.unwrap().1).unwrap();
    assert_eq!(asked["result"]["status"], "completed");
    let record = world.last_record().await;
    let at = |stage: &str| record.stages.iter().position(|known| known == stage).unwrap();
    assert!(at("policy") < at("verify") && at("verify") < at("invoke"), "{:?}", record.stages);
    assert!(told(&record, "score").unwrap().contains("accept"));
}

fn told(record: &Record, rule: &str) -> Option<String> {
    let findings = &record.result.as_ref()?.findings;
    findings.iter().find(|finding| finding.rule == rule).map(|finding| finding.message.clone())
}

#[tokio::test]
async fn a_critic_that_says_no_is_obeyed() {
    let words = r#"{"ok": false, "kind": "missing_evidence", "reasons": ["no balance was read"]}"#;
    let (verify, _verified) = client::answering(words).await;
    let (recorder, world) = shelf(Script::Echo, |settings| {
        settings.critic.verify = Some(webhook(&verify, client::PATIENCE));
    })
    .await;
    for tool in ["peek", "put"] {
        let done = world.call(tool, json!({})).await;
        let fault = done.fault.unwrap();
        assert_eq!(fault.code, Code::PolicyDenied);
        assert_eq!(fault.message, "refused by the critic: no balance was read");
        assert_eq!(fault.details["kind"], "missing_evidence");
    }
    assert_eq!(recorder.count(), 0);
}

/// Out of time, out of reach, or out of its mind: what changes something is not done.
#[tokio::test]
async fn a_critic_that_is_not_heard_stops_writes_and_only_those() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}/", listener.local_addr().unwrap());
    let (odd, _asked) = client::answering("[]").await;
    for (url, timeout) in [
        (silent.as_str(), Duration::from_millis(1)),
        ("http://127.0.0.1:1/", client::PATIENCE),
        (odd.as_str(), client::PATIENCE),
    ] {
        let (recorder, world) =
            shelf(Script::Echo, |settings| settings.critic.verify = Some(webhook(url, timeout)))
                .await;
        assert_eq!(code(&world.call("put", json!({})).await), Some(Code::PolicyDenied), "{url}");
        assert_eq!(recorder.count(), 0);
        assert_eq!(code(&world.call("peek", json!({})).await), None, "{url}");
        assert!(told(&world.last_record().await, "verify").unwrap().contains("not heard"));
    }
}

/// CO-33, score: five scores from the record alone, kept with it, and only where they are wanted.
#[tokio::test]
async fn five_scores_are_kept_where_they_are_wanted() {
    let marks = |record: &Record| {
        let card = record.scorecard.unwrap();
        let all = [card.policy, card.utility, card.latency, card.safety, card.economics];
        all.map(|score| format!("{:.2}", score.score))
    };
    let check = async |script: Script, wanted: [&str; 5]| {
        let (_, world) = shelf(script, |settings| settings.critic.scorecard = true).await;
        world.call("peek", json!({})).await;
        assert_eq!(marks(&world.last_record().await), wanted);
    };
    let odd = model::Answer::text("red \u{1b}[31m");
    let error = model::Answer { is_error: true, ..model::Answer::text("no") };
    check(Script::Echo, ["1.00", "1.00", "1.00", "1.00", "1.00"]).await;
    check(Script::Answer(odd), ["1.00", "1.00", "1.00", "0.80", "1.00"]).await;
    check(Script::Answer(error), ["1.00", "0.00", "1.00", "1.00", "1.00"]).await;
    let (_, world) = shelf(Script::Echo, |_| {}).await;
    world.call("peek", json!({})).await;
    assert_eq!(world.last_record().await.scorecard, None);
}

/// CO-33: a promise that is not kept shows in the score: evidence that is missing, a broken schema.
#[tokio::test]
async fn an_answer_that_lacks_what_was_promised_is_worth_half() {
    let answer = model::Answer::structured(json!({"n": 1}));
    let recorder = toolgate_testkit::Recorder::one("look", Script::Answer(answer));
    let binding =
        json!({"class": "observe", "approval_mode": "read_only", "evidence_keys": ["n", "m"]});
    let contract =
        toolgate_testkit::manifest([toolgate_testkit::capability("it.look", "look", binding)]);
    let gate = toolgate_testkit::TestGateway::new().upstream("it", recorder);
    let gate = gate.manifest("it", contract).settings(|s| s.critic.scorecard = true);
    let world = gate.start().await;
    world.call("look", json!({})).await;
    let utility = world.last_record().await.scorecard.unwrap().utility;
    assert_eq!(utility, model::score::Score::of_hundred(50, 50));
    assert_eq!(utility.status, model::score::Mark::Warn);
}

/// CO-33, verify: nobody is asked about a call that its run could not make anyway.
#[tokio::test]
async fn a_person_is_not_asked_what_the_budget_forbids() {
    let recorder = toolgate_testkit::Recorder::one("pay", Script::Echo);
    let binding = json!({"class": "act", "approval_mode": "network", "requires_gate": "G"});
    let contract =
        toolgate_testkit::manifest([toolgate_testkit::capability("it.pay", "pay", binding)]);
    let gate = toolgate_testkit::TestGateway::new().upstream("it", recorder.clone());
    let gate = gate.manifest("it", contract).settings(|s| s.runs.budget.max_write_calls = Some(0));
    let world = gate.start().await;
    let done = world.call("pay", json!({})).await;
    assert_eq!((code(&done), recorder.count()), (Some(Code::BudgetExceeded), 0));
    assert_eq!(world.gateway.approvals(None).await.unwrap(), []);
}
