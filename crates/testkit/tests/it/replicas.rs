//! Two gates on one database: what one claims, asks and records, the other knows.

use std::sync::Arc;
use std::time::Duration;

use gateway::{CallRequest, Gateway, Parts, Watch};
use model::{Answer, Clock, Principal, Secret, UpstreamName};
use policy::Rules;
use serde_json::json;
use store::{Config, Store};
use toolgate_testkit::{Recorder, Script, capability, manifest};
use upstream::{Member, Upstreams};

/// On PostgreSQL where there is one; else two stores on one file stand in for it.
async fn config(home: &tempfile::TempDir) -> Config {
    let dir = home.path().join("data");
    let Ok(url) = std::env::var("TOOLGATE_TEST_POSTGRES") else { return Config::folder(dir) };
    let name = home.path().file_name().unwrap().to_str().unwrap().replace('.', "r_");
    let separator = if url.contains('?') { '&' } else { '?' };
    let url = Secret::new(format!("{url}{separator}options[search_path]={}", name.to_lowercase()));
    store::testing::create_schema(&url).await.unwrap();
    Config { url: Some(url), ..Config::folder(dir) }
}

async fn replica(config: &Config, recorder: &Recorder) -> Arc<Gateway> {
    let name = UpstreamName::from_string("ledger");
    let pay = json!({"class": "act", "idempotency": {"required": true}});
    let contract = manifest::from_value(manifest([capability("ledger.pay", "pay", pay)])).unwrap();
    let settings = gateway::Settings {
        in_flight_wait: Duration::from_secs(30),
        ..gateway::Settings::default()
    };
    let gateway = Gateway::new(Parts {
        upstreams: Upstreams::new([(name.clone(), Member::new(Arc::new(recorder.clone())))]),
        manifests: [(name, Arc::new(contract))].into(),
        namespaces: std::collections::BTreeMap::default(),
        naming: catalog::Naming::Auto,
        rules: Rules::permit_all(),
        store: Store::open(config, Clock::System).await.unwrap(),
        clock: Clock::System,
        settings,
    });
    gateway.refresh().await;
    Arc::new(gateway)
}

fn pay(key: &str) -> CallRequest {
    let caller = model::Caller::new(Principal::user("ann"));
    let request = CallRequest::new(caller, "pay", json!({"amount": 1}));
    CallRequest { idempotency_key: Some(key.to_owned()), ..request }
}

/// CO-199 and CO-205: 200 calls with 20 keys over both take effect 20 times, and all are answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_calls_with_twenty_keys_have_twenty_effects() {
    let home = tempfile::tempdir().unwrap();
    let config = config(&home).await;
    let recorder = Recorder::one("pay", Script::Answer(Answer::text("paid")));
    let gates = [replica(&config, &recorder).await, replica(&config, &recorder).await];
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..200 {
        let gate = Arc::clone(&gates[number % 2]);
        calls.spawn(async move {
            let request = pay(&format!("key-{}", number % 20));
            Box::pin(gate.call(request, Watch::default())).await.fault
        });
    }
    let faults: Vec<_> = calls.join_all().await.into_iter().flatten().collect();
    assert_eq!(faults, []);
    assert_eq!(recorder.count(), 20);
    for gate in gates {
        gate.close(Duration::from_secs(5)).await;
    }
    let store = Store::open(&config, Clock::System).await.unwrap();
    assert_eq!(store.verify_chain().await.unwrap().damage, None);
}
