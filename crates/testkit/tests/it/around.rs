//! No way around: every method, by every name, in every mode, over every transport, under policies
//! that permit nothing. The upstream has then seen nothing but the question what it offers.

pub(crate) mod line;
mod requests;
mod watched;

use catalog::menu::Doors;
use gateway::{DriftRule, Mode};
use serde_json::json;
use toolgate_testkit::{TestGateway, World, capability, manifest};

use line::{Era, Line, Over};
use watched::Watched;

/// Policies that permit nothing, and one that lets tools be known but not used.
const NOTHING: [&str; 3] = [
    "",
    "permit(principal, action, resource); forbid(principal, action, resource);",
    "permit(principal, action == Action::\"list\", resource);",
];

/// Calls by one door, or by one for each deed.
const DOORS: [Doors; 2] = [Doors::One, Doors::ByDeed];

const ALL: &str = "permit(principal, action, resource);";

async fn world(watched: &Watched, (mode, doors): (Mode, Doors), policy: &str) -> World {
    let binding = json!({"class": "act", "approval_mode": "destructive"});
    let gate = TestGateway::new()
        .upstream("it", watched.clone())
        .manifest("it", manifest([capability("it.burn", "burn", binding)]))
        .policy(policy);
    let gate = gate.settings(|settings| {
        settings.mode = mode;
        settings.doors = doors;
        settings.drift.otherwise = DriftRule::Hold;
        settings.also = catalog::menu::Also { resources: true, prompts: true };
    });
    let world = gate.start().await;
    watched.started();
    world
}

/// Says everything there is to say; how many requests that were.
async fn say_everything(world: &World, over: Over, era: Era, logging: bool) -> usize {
    let mut line = Line::connect(world, over, era).await;
    let requests = requests::all(world, era);
    let requests: Vec<_> = requests
        .into_iter()
        .filter(|(method, _)| logging || *method != "logging/setLevel")
        .collect();
    for (method, params) in &requests {
        line.ask(method, params.clone()).await;
    }
    requests.len()
}

/// Says everything over each of these lines, in one mode, and looks at what arrived.
async fn nothing_arrives(mode: Mode) {
    let mut said = 0;
    for policy in NOTHING {
        let may_know = policy.contains("list");
        for doors in DOORS {
            let watched = Watched::default();
            let world = world(&watched, (mode, doors), policy).await;
            if !may_know {
                // A reason to ask for lists; not for the sake of somebody who sees nothing of them.
                watched.ring();
            }
            // One policy that permits nothing over every line; the others over one.
            let all = policy.is_empty() && doors == Doors::One;
            for (over, era) in line::ALL.iter().take(if all { line::ALL.len() } else { 1 }) {
                // Whoever may know of an upstream may say how much it should log.
                said += say_everything(&world, *over, *era, !may_know).await;
                assert_eq!(watched.seen(), [""; 0], "{mode:?} {over:?} {era:?} `{policy}`");
            }
        }
    }
    assert!(said > 300, "{said} requests");
}

/// B11: one choke point, in mode `native`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_a_policy_that_permits_nothing_nothing_arrives_in_native_mode() {
    nothing_arrives(Mode::Native).await;
}

/// B11: the same in mode `transparent`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_a_policy_that_permits_nothing_nothing_arrives_in_transparent_mode() {
    nothing_arrives(Mode::Transparent).await;
}

/// B11: the same in mode `gateway`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_a_policy_that_permits_nothing_nothing_arrives_in_gateway_mode() {
    nothing_arrives(Mode::Gateway).await;
}

/// A mode that is not tried above would be a way around.
#[test]
fn every_mode_is_tried() {
    assert_eq!(Mode::ALL.len(), 3);
}

/// B11: what was begun while it was permitted cannot be gone on with once it is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_from_before_is_out_of_reach_under_a_policy_that_permits_nothing() {
    for policy in NOTHING {
        let watched = Watched::default();
        let world = world(&watched, (Mode::Native, Doors::One), ALL).await;
        let mut line = Line::connect(&world, Over::Stdio, Era::Old).await;
        let slowly = json!({"name": "burn", "arguments": {"slowly": true}, "task": {"ttl": 1_000}});
        line.ask("tools/call", slowly).await;
        line.ask("tasks/get", json!({"taskId": "task-1"})).await;
        assert_eq!(watched.seen(), ["tools/call", "tasks/get"]);
        world.gateway.swap_rules(policy::Rules::parse("nothing", policy).unwrap());
        for method in ["tasks/get", "tasks/result", "tasks/update", "tasks/cancel"] {
            line.ask(method, json!({"taskId": "task-1"})).await;
        }
        assert_eq!(watched.seen(), ["tools/call", "tasks/get"], "`{policy}`");
    }
}

/// A dry run touches nothing, and tells what a call would wait for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dry_run_asks_for_no_list_and_tells_of_the_doubt() {
    let watched = Watched::default();
    let world = world(&watched, (Mode::Gateway, Doors::One), ALL).await;
    let dry = async || world.gateway.rehearse(&World::request("burn", json!({}))).await;
    assert!(!dry().await.get().full_text().contains("in doubt"));
    watched.ring();
    assert!(dry().await.get().full_text().contains("in doubt"));
    assert_eq!(watched.seen(), [""; 0]);
    world.call("burn", json!({})).await;
    assert_eq!(watched.seen(), ["tools/list", "tools/call"]);
}

/// The same requests do arrive where they may: otherwise the test above would prove nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_a_policy_that_permits_everything_each_of_them_arrives() {
    let check = async |mode: Mode, over: Over, era: Era, wanted: &[&str]| {
        let watched = Watched::default();
        let world = world(&watched, (mode, Doors::One), ALL).await;
        say_everything(&world, over, era, true).await;
        let seen = watched.seen();
        for what in wanted {
            assert!(seen.iter().any(|seen| seen == what), "{mode:?} {over:?}: {what} in {seen:?}");
        }
    };
    let all = [
        "tools/call",
        "resources/read",
        "prompts/get",
        "completion/complete",
        "follow",
        "log level",
    ];
    for over in [Over::Stdio, Over::Http, Over::Sse] {
        check(Mode::Native, over, Era::Old, &all).await;
    }
    check(Mode::Native, Over::Http, Era::Modern, &["tools/call", "prompts/get"]).await;
    let verbs = ["tools/call", "resources/read", "prompts/get"];
    check(Mode::Gateway, Over::Stdio, Era::Modern, &verbs).await;
    check(Mode::Transparent, Over::Stdio, Era::Old, &["tools/call"]).await;
}
