//! Recorded calls walked again, with nothing live in reach.

use gateway::replay::Part;
use gateway::{CallRequest, Replayed, Transcript, known_policy, known_tool, replay};
use model::run::RunBudget;
use model::{Answer, Code, Method, Record, RecordStatus, ReplayRule};
use policy::Rules;
use serde_json::json;
use toolgate_testkit::{Recorder, Script, TestGateway, World, capability, manifest};

use crate::code;
use crate::resources::Library;

async fn desk() -> (Recorder, World) {
    let recorder = Recorder::one("write", Script::Answer(Answer::text("written")))
        .tool(toolgate_testkit::tool("read", json!({})), Script::Echo);
    let capabilities = [capability("desk.read", "read", json!({}))];
    let gate = TestGateway::new().upstream("desk", recorder.clone());
    let world = gate.manifest("desk", manifest(capabilities)).start().await;
    world.gateway.keep_lineage().await.unwrap();
    (recorder, world)
}

async fn transcript(world: &World, record: Record) -> (Transcript, Rules) {
    let hash = &record.call.lineage.policy_hash;
    let text = known_policy(&world.store, hash).await.unwrap().unwrap();
    let tool = known_tool(&world.store, &record.call).await.unwrap();
    (Transcript { record, tool }, Rules::parse("then", &text).unwrap())
}

fn part(replayed: &Replayed) -> Option<Part> {
    replayed.difference.as_ref().map(|difference| difference.part)
}

/// CO-8 and CO-207: the transcript gives the same decision, and the upstream hears nothing.
#[tokio::test]
async fn a_recorded_call_comes_out_the_same() {
    let (recorder, world) = desk().await;
    world.call("write", json!({"to": "x"})).await;
    world.call("read", json!({})).await;
    world.call("nobody", json!({})).await;
    let before = recorder.count();
    for record in world.records().await {
        let then = record.decision.clone();
        let (transcript, rules) = transcript(&world, record).await;
        let replayed = replay(&transcript, &rules).unwrap();
        assert_eq!(replayed.difference, None);
        assert_eq!(replayed.decision, then);
    }
    assert_eq!(recorder.count(), before);
}

/// SG-14 and SG-16: what nobody has declared must be stubbed; a manifest may say otherwise.
#[tokio::test]
async fn the_replay_rule_is_on_record() {
    let (_, world) = desk().await;
    world.call("write", json!({})).await;
    assert_eq!(world.last_record().await.replay_rule, Some(ReplayRule::MustStub));
    world.call("read", json!({})).await;
    assert_eq!(world.last_record().await.replay_rule, Some(ReplayRule::RecordedResult));
}

#[tokio::test]
async fn another_policy_says_what_it_would_have_decided() {
    let (_, world) = desk().await;
    world.call("write", json!({})).await;
    let (transcript, _) = transcript(&world, world.last_record().await).await;
    let strict = "@id(\"no-writes\") forbid(principal, action, resource);";
    let replayed = replay(&transcript, &Rules::parse("new", strict).unwrap()).unwrap();
    assert_eq!(part(&replayed), Some(Part::Policy));
    let told = replayed.difference.unwrap().message;
    assert!(told.contains("it would be deny by no-writes"), "{told}");
}

#[tokio::test]
async fn the_first_difference_is_named() {
    let (_, world) = desk().await;
    world.call("write", json!({"to": "x"})).await;
    let (sound, rules) = transcript(&world, world.last_record().await).await;
    let check = |change: fn(&mut Transcript), expected: Option<Part>| {
        let mut changed = sound.clone();
        change(&mut changed);
        assert_eq!(part(&replay(&changed, &rules).unwrap()), expected);
    };
    check(|_| {}, None);
    check(|changed| changed.record.call.args = json!({"to": "y"}), Some(Part::Arguments));
    check(|changed| changed.record.answer = Some(Answer::text("other")), Some(Part::Result));
    check(|changed| changed.record.answer = None, Some(Part::Result));
    check(|changed| changed.tool = None, Some(Part::Definition));
    check(
        |changed| changed.tool.as_mut().unwrap().item.full_hash = "x".to_owned(),
        Some(Part::Definition),
    );
}

#[tokio::test]
async fn fail_loud_ends_a_replay_without_an_answer() {
    let recorder = Recorder::one("act", Script::Echo);
    let rule = json!({"class": "act", "replay_rule": "fail_loud"});
    let world = TestGateway::new()
        .upstream("desk", recorder)
        .manifest("desk", manifest([capability("desk.act", "act", rule)]))
        .settings(|settings| settings.answer_bytes = 0)
        .start()
        .await;
    world.gateway.keep_lineage().await.unwrap();
    world.call("act", json!({})).await;
    let (transcript, rules) = transcript(&world, world.last_record().await).await;
    assert_eq!(replay(&transcript, &rules).unwrap_err().code, Code::ReplayMiss);
}

/// CO-207: a key that was answered before is answered the same, and nothing is missing of it; where the
/// answer was too long to be kept, none need stand in for a call that was not made.
#[tokio::test]
async fn a_call_that_was_made_before_comes_out_the_same() {
    let check = async |rule: &str, scope: &str, answer_bytes: usize| {
        let key = json!({"required": true, "arg": "key", "scope": scope});
        let binding = json!({"class": "act", "replay_rule": rule, "idempotency": key});
        let recorder = Recorder::one("act", Script::Answer(Answer::text("done")));
        let world = TestGateway::new()
            .upstream("desk", recorder.clone())
            .manifest("desk", manifest([capability("desk.act", "act", binding)]))
            .settings(|settings| settings.answer_bytes = answer_bytes)
            .start()
            .await;
        world.gateway.keep_lineage().await.unwrap();
        world.call("act", json!({"key": "k1"})).await;
        world.call("act", json!({"key": "k1"})).await;
        assert_eq!(recorder.count(), 1);
        let record = world.last_record().await;
        assert!(record.result.as_ref().unwrap().deduplicated);
        let kept = (answer_bytes > 0).then(|| Answer::text("done"));
        assert_eq!(record.answer, kept, "{rule} {scope}");
        let (transcript, rules) = transcript(&world, record).await;
        let replayed = replay(&transcript, &rules).unwrap();
        assert_eq!(replayed.difference, None, "{rule} {scope}");
        assert_eq!(replayed.notes.len(), usize::from(answer_bytes == 0), "{rule} {scope}");
    };
    for rule in ["must_stub", "fail_loud", "recorded_result"] {
        Box::pin(check(rule, "principal", 64 * 1024)).await;
        Box::pin(check(rule, "global", 64 * 1024)).await;
        Box::pin(check(rule, "principal", 0)).await;
    }
}

/// Secrets are never written down, and their absence is no difference.
#[tokio::test]
async fn secrets_are_not_on_record() {
    let (_, world) = desk().await;
    let secret = "hunter2x-Tr0ub4dor9";
    world.call("read", json!({"password": secret})).await;
    let record = world.last_record().await;
    assert_eq!((record.status, record.redacted), (RecordStatus::Completed, true));
    assert!(!serde_json::to_string(&record).unwrap().contains(secret));
    let (transcript, rules) = transcript(&world, record).await;
    let replayed = replay(&transcript, &rules).unwrap();
    assert_eq!((replayed.difference, replayed.notes.len()), (None, 2));
}

/// CO-207: what is read and asked for beside tools was kept, too, and rules see the same of it.
#[tokio::test]
async fn prompts_and_addresses_come_out_the_same() {
    let rules = "permit (principal, action, resource); @id(\"no-secrets\") \
        forbid (principal, action, resource) when { \
        context.arguments has uri && context.arguments.uri like \"docs://secret/*\" };";
    let world = TestGateway::new().upstream("docs", Library).policy(rules).start().await;
    world.gateway.keep_lineage().await.unwrap();
    let ask = async |method: Method, name: &str| {
        world.send(CallRequest { method, ..World::request(name, json!({})) }).await
    };
    assert_eq!(code(&ask(Method::ReadResource, "docs://policy/7").await), None);
    assert_eq!(code(&ask(Method::GetPrompt, "greet").await), None);
    let unlisted = ask(Method::ReadResource, "docs://secret/1").await;
    assert_eq!(code(&unlisted), Some(Code::PolicyDenied));
    all_equal(&world).await;
}

/// CO-207: rules that look at what a run has used up see what it was then.
#[tokio::test]
async fn a_budget_is_what_it_was() {
    let rules = "permit (principal, action, resource); @id(\"once\") \
        forbid (principal, action, resource) when { context has budget && context.budget.calls > 0 };";
    let budget = RunBudget { max_calls: Some(9), ..RunBudget::default() };
    let world = TestGateway::new()
        .upstream("desk", Recorder::one("act", Script::Echo))
        .policy(rules)
        .settings(|settings| settings.runs.budget = budget)
        .start()
        .await;
    world.gateway.keep_lineage().await.unwrap();
    assert_eq!(code(&world.call("act", json!({})).await), None);
    assert_eq!(code(&world.call("act", json!({})).await), Some(Code::PolicyDenied));
    all_equal(&world).await;
}

/// Two upstreams may define a tool in the same words, and are not the same.
#[tokio::test]
async fn a_definition_belongs_to_its_upstream() {
    let gate = ["one", "other"].into_iter().fold(TestGateway::new(), |gate, name| {
        gate.upstream(name, Recorder::one("act", Script::Echo))
    });
    let world = gate.start().await;
    world.gateway.keep_lineage().await.unwrap();
    for name in ["mcp__one__act", "mcp__other__act"] {
        assert_eq!(code(&world.call(name, json!({})).await), None);
    }
    all_equal(&world).await;
}

/// What was taken out is why a decision cannot be had again, not a difference in policy.
#[tokio::test]
async fn a_secret_that_a_rule_looked_at_is_no_difference() {
    let secret = "hunter2x-Tr0ub4dor9";
    let rules = format!(
        "permit (principal, action, resource); @id(\"leaked\") forbid (principal, action, resource) \
         when {{ context.arguments has password && context.arguments.password == \"{secret}\" }};"
    );
    let upstream = Recorder::one("act", Script::Echo);
    let world = TestGateway::new().upstream("desk", upstream).policy(&rules).start().await;
    world.gateway.keep_lineage().await.unwrap();
    let refused = world.call("act", json!({"password": secret})).await;
    assert_eq!(code(&refused), Some(Code::PolicyDenied));
    let (then, rules) = transcript(&world, world.last_record().await).await;
    let replayed = replay(&then, &rules).unwrap();
    assert_eq!(replayed.difference, None);
    assert!(replayed.notes.iter().any(|note| note.contains("not kept whole")), "{replayed:?}");
    let other = Rules::parse("new", "permit (principal, action, resource);").unwrap();
    assert_eq!(part(&replay(&then, &other).unwrap()), Some(Part::Policy));
}

async fn all_equal(world: &World) {
    for record in world.records().await {
        let then = record.decision.clone();
        let (transcript, rules) = Box::pin(transcript(world, record)).await;
        let replayed = replay(&transcript, &rules).unwrap();
        assert_eq!((replayed.difference, replayed.decision), (None, then), "{}", replayed.tool);
    }
}
