//! How old a child is: asked once, newest first, and never in two ways at a time if it can be helped,
//! because some servers hold on to the first they hear.

use std::pin::pin;

use model::{Code, Fault};
use protocol::{Revision, peer};
use serde_json::{Map, Value};

use super::child::Child;
use crate::limits;
use crate::mcp::{Age, Asking, Greeting, offered};

pub(super) async fn introduce(child: &Child, age: Age) -> Result<Greeting, Fault> {
    match age {
        Age::Pinned(revision) if revision.is_modern() => discover(child).await,
        Age::Pinned(revision) => initialize(child, revision).await,
        Age::Auto => find_out(child).await,
    }
}

/// One that says nothing for long is starting, or does not answer what it does not know: then it is
/// asked the other way, too, and the first good answer counts, however late.
async fn find_out(child: &Child) -> Result<Greeting, Fault> {
    let mut discovering = pin!(discover(child));
    let legacy = || initialize(child, Revision::NEWEST_LEGACY);
    match tokio::time::timeout(limits::DISCOVER_PATIENCE, &mut discovering).await {
        Ok(Err(fault)) if fault.code != Code::UpstreamUnavailable => match offered(&fault) {
            Some(revision) if revision.is_modern() => discover(child).await,
            Some(revision) => initialize(child, revision).await,
            None => legacy().await,
        },
        Ok(discovered) => discovered,
        Err(_elapsed) => {
            let mut initializing = pin!(legacy());
            tokio::select! {
                discovered = &mut discovering => match discovered {
                    Ok(greeting) => Ok(greeting),
                    Err(_not_so_new) => initializing.await,
                },
                initialized = &mut initializing => match initialized {
                    Ok(greeting) => Ok(greeting),
                    Err(_not_so_old) => discovering.await,
                },
            }
        }
    }
}

async fn initialize(child: &Child, revision: Revision) -> Result<Greeting, Fault> {
    let result = child.ask(None, |id| peer::initialize(id, revision)).await?.value;
    let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    let revision = version.parse().unwrap_or(Revision::V2024_11_05);
    child.tell(peer::initialized())?;
    Ok(Greeting::read(revision, &result))
}

async fn discover(child: &Child) -> Result<Greeting, Fault> {
    let asking = Asking::own("server/discover", Map::new());
    let result = child.ask(None, |id| asking.frame(id, Revision::V2026_07_28)).await?.value;
    Greeting::discovered(&result)
}
