//! Everything a server lists, page by page.

use std::time::Duration;

use model::{Code, Fault, Listed};
use serde_json::{Map, Value};

use super::lists;
use super::wire::{Asking, Greeting, Wire};
use crate::connector::Offer;
use crate::limits;
use crate::pages::{Pages, Room};

/// Asks for every list the server says it has. Servers that declare resources and then refuse to list
/// them are common: that says nothing of what they have, so it is noted, and their tools count. Whoever
/// refuses its tools or cannot be reached has not answered.
pub(super) async fn offer(wire: &impl Wire, greeting: &Greeting) -> Result<Offer, Fault> {
    let mut offer = Offer {
        capabilities: greeting.capabilities.clone(),
        instructions: greeting.instructions.clone(),
        ..Offer::default()
    };
    let mut room = Room::default();
    for what in lists(&greeting.capabilities) {
        let (items, ttl) = match all(wire, what, &mut room).await {
            Ok(listed) => listed,
            Err(fault) if is_unknown_method(&fault) => {
                tracing::info!(list = what.method(), "an upstream has no such list");
                continue;
            }
            Err(fault) if what == Listed::Tools || fault.upstream.is_none() => return Err(fault),
            Err(fault) => {
                tracing::warn!(%fault, list = what.method(), "an upstream did not list");
                offer.unheard.insert(what);
                (Vec::new(), Some(limits::UNHEARD_AGAIN))
            }
        };
        offer.ttl = offer.ttl.into_iter().chain(ttl).min();
        match what {
            Listed::Tools => offer.tools = items,
            Listed::Prompts => offer.prompts = items,
            Listed::Resources => offer.resources = items,
            Listed::Templates => offer.templates = items,
            Listed::Tasks => {}
        }
    }
    Ok(offer)
}

/// All items, and how long they hold if the server says so; nought means that it does not say.
async fn all(
    wire: &impl Wire,
    what: Listed,
    room: &mut Room,
) -> Result<(Vec<Value>, Option<Duration>), Fault> {
    let mut ttl_ms: Option<u64> = None;
    let mut pages = Pages::new(what);
    while let Some(cursor) = pages.wanted() {
        let mut params = Map::new();
        if let Some(cursor) = cursor {
            params.insert("cursor".into(), cursor.into());
        }
        let page = wire.ask(&Asking::own(what.method(), params)).await?.value;
        let said = page.get("ttlMs").and_then(Value::as_u64).filter(|ttl_ms| *ttl_ms > 0);
        ttl_ms = ttl_ms.into_iter().chain(said).min();
        pages.take(page, room)?;
    }
    Ok((pages.items, ttl_ms.map(Duration::from_millis)))
}

/// A server with prompts alone need not know `tools/list`.
fn is_unknown_method(fault: &Fault) -> bool {
    fault.code == Code::UpstreamError
        && fault
            .upstream
            .as_ref()
            .is_some_and(|error| error.code == protocol::jsonrpc::METHOD_NOT_FOUND)
}
