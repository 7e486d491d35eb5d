//! No way around: every method, by every name, in every mode, over every transport, under policies
//! that permit nothing. The upstream has then seen nothing but the question what it offers.

pub(crate) mod line;
mod requests;
mod watched;

use gateway::Mode;
use toolgate_testkit::{TestGateway, World, capability, manifest};

use line::{Era, Line, Over};
use watched::Watched;

/// Policies that permit nothing, and one that lets tools be known but not used.
const NOTHING: [&str; 3] = [
    "",
    "permit(principal, action, resource); forbid(principal, action, resource);",
    "permit(principal, action == Action::\"list\", resource);",
];

async fn world(watched: &Watched, mode: Mode, policy: &str) -> World {
    let binding = serde_json::json!({"class": "act", "approval_mode": "destructive"});
    let gate = TestGateway::new()
        .upstream("it", watched.clone())
        .manifest("it", manifest([capability("it.burn", "burn", binding)]))
        .policy(policy);
    gate.settings(|settings| {
        settings.mode = mode;
        settings.also = catalog::menu::Also { resources: true, prompts: true };
    })
    .start()
    .await
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
        let watched = Watched::default();
        let world = world(&watched, mode, policy).await;
        // One policy that permits nothing over every line; the others over one.
        let lines = if policy.is_empty() { &line::ALL[..] } else { &line::ALL[..1] };
        for (over, era) in lines {
            // Whoever may know of an upstream may say how much it should log.
            said += say_everything(&world, *over, *era, !policy.contains("list")).await;
            assert_eq!(watched.seen(), [""; 0], "{mode:?} {over:?} {era:?} `{policy}`");
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

/// The same requests do arrive where they may: otherwise the test above would prove nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_a_policy_that_permits_everything_each_of_them_arrives() {
    let check = async |mode: Mode, over: Over, era: Era, wanted: &[&str]| {
        let watched = Watched::default();
        let world = world(&watched, mode, "permit(principal, action, resource);").await;
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
