//! Those who call a gate until it dies: payers, two to a key, who look things up in between; and a
//! clerk, whose calls wait for somebody's yes.

use std::time::Duration;

use model::{ApprovalState, Clock};
use serde_json::{Value, json};
use store::{Store, Verdict};

use super::client::{self, Heard};

/// One call of the ledger's tools. The key tells it from every other, whatever the tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) tool: &'static str,
    pub(super) key: String,
}

/// What was called, and what was heard of it.
pub(super) type Told = Vec<(Call, Heard)>;

/// Changes something, under a key of idempotency.
pub(super) const PAY: &str = "pay";
/// Changes something, without such a key, and only with a yes.
pub(super) const WIRE: &str = "wire";
/// Only reads.
pub(super) const LOOK: &str = "look";
/// The end of a key whose look gives more than a model should read.
pub(super) const LONG: &str = "-long";

/// Payments between two looks, and looks between two long ones.
const PAYMENTS_PER_LOOK: u64 = 4;
const LOOKS_PER_LONG: u64 = 3;
/// What a clerk wires in one life of a gate.
const WIRES_MAX: u64 = 8;
/// What it asks for at most: while the database is restarted, nobody hears its yes.
const QUESTIONS_MAX: u64 = 40;
/// Between two questions, if so.
const PAUSE: Duration = Duration::from_millis(250);

impl Call {
    fn new(tool: &'static str, key: String) -> Self {
        Self { tool, key }
    }

    async fn make(&self, address: &str) -> Heard {
        client::call(address, self.tool, json!({"key": self.key})).await
    }
}

/// Pays first what nobody has heard the end of, then anew, until the gate falls silent.
pub(super) async fn payer(address: String, again: Vec<String>, name: String, worker: u64) -> Told {
    let anew = (0..).flat_map(|number| calls(&name, worker, number));
    call(address, again, anew).await
}

/// Looks, where a payer would pay.
pub(super) async fn reader(address: String, again: Vec<String>, name: String, worker: u64) -> Told {
    let look = |number: u64| Call::new(LOOK, format!("{name}{worker}-{number}-look"));
    call(address, again, (0..).map(look)).await
}

async fn call(address: String, again: Vec<String>, anew: impl Iterator<Item = Call>) -> Told {
    let mut told = Told::new();
    let again = again.into_iter().map(|key| Call::new(PAY, key));
    for call in again.chain(anew) {
        let heard = call.make(&address).await;
        let silent = heard == Heard::Nothing;
        told.push((call, heard));
        if silent {
            break;
        }
    }
    told
}

/// A payment that a second worker makes too, and now and then a look of one's own.
fn calls(name: &str, worker: u64, number: u64) -> Vec<Call> {
    let mut calls = vec![Call::new(PAY, format!("{name}{}-{number}", worker / 2))];
    if number.is_multiple_of(PAYMENTS_PER_LOOK) {
        let long = (number / PAYMENTS_PER_LOOK).is_multiple_of(LOOKS_PER_LONG);
        let end = if long { LONG } else { "" };
        calls.push(Call::new(LOOK, format!("{name}{worker}-{number}-look{end}")));
    }
    calls
}

/// Calls again what was said yes to before the last death, then asks, has it allowed, and calls: each
/// yes may take effect once, however often the call is made.
pub(super) async fn clerk(
    address: String,
    again: Vec<String>,
    name: String,
    desk: store::Config,
) -> Told {
    let mut told = Told::new();
    for key in again {
        if wire(&address, key, &mut told).await == Heard::Nothing {
            return told;
        }
    }
    let (mut store, mut allowed) = (None, 0);
    for number in 0..QUESTIONS_MAX {
        let key = format!("{name}wire-{number}");
        if wire(&address, key.clone(), &mut told).await == Heard::Nothing {
            break;
        }
        if store.is_none() {
            store = Store::open(&desk, Clock::System).await.ok();
        }
        if !allow(store.as_ref(), &key).await {
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        let made = wire(&address, key.clone(), &mut told).await;
        if made == Heard::Nothing || wire(&address, key, &mut told).await == Heard::Nothing {
            break;
        }
        allowed += 1;
        if allowed == WIRES_MAX {
            break;
        }
    }
    if let Some(store) = store {
        store.close().await;
    }
    told
}

async fn wire(address: &str, key: String, told: &mut Told) -> Heard {
    let call = Call::new(WIRE, key);
    let heard = call.make(address).await;
    told.push((call, heard.clone()));
    heard
}

/// A database that is just being restarted hears no yes; then the question stays open.
async fn allow(store: Option<&Store>, key: &str) -> bool {
    let Some(store) = store else { return false };
    let Ok(waiting) = store.approvals(Some(ApprovalState::Pending)).await else { return false };
    let Some(question) = waiting.into_iter().find(|question| is_about(&question.args, key)) else {
        return false;
    };
    let verdict = Verdict { approved: true, approver: "user:crash".to_owned(), reason: None };
    store.answer(question.approval_id.as_str(), verdict).await.is_ok()
}

fn is_about(args: &Value, key: &str) -> bool {
    args.get("key").is_some_and(|given| given == key)
}
