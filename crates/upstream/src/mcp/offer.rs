//! Everything a server lists, page by page.

use model::{Code, Fault, Listed};
use serde_json::{Map, Value};

use super::lists;
use super::wire::{Asking, Greeting, Wire};
use crate::connector::Offer;
use crate::pages::Pages;

/// Asks for every list the server says it has. Only a missing list of tools is a failure: servers
/// that declare resources and then fail to list some of them are common.
pub(super) async fn offer(wire: &impl Wire, greeting: &Greeting) -> Result<Offer, Fault> {
    let mut offer = Offer {
        capabilities: greeting.capabilities.clone(),
        instructions: greeting.instructions.clone(),
        ..Offer::default()
    };
    for what in lists(&greeting.capabilities) {
        let items = match (all(wire, what).await, what) {
            (Ok(items), _) => items,
            (Err(fault), Listed::Tools) if !is_unknown_method(&fault) => return Err(fault),
            (Err(fault), _) => {
                tracing::info!(%fault, list = what.method(), "an upstream did not list");
                continue;
            }
        };
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

async fn all(wire: &impl Wire, what: Listed) -> Result<Vec<Value>, Fault> {
    let mut pages = Pages::new(what);
    while let Some(cursor) = pages.wanted() {
        let mut params = Map::new();
        if let Some(cursor) = cursor {
            params.insert("cursor".into(), cursor.into());
        }
        pages.take(wire.ask(Asking::own(what.method(), params)).await?.value)?;
    }
    Ok(pages.items)
}

/// A server with prompts alone need not know `tools/list`.
fn is_unknown_method(fault: &Fault) -> bool {
    fault.code == Code::UpstreamError
        && fault
            .upstream
            .as_ref()
            .is_some_and(|error| error.code == protocol::jsonrpc::METHOD_NOT_FOUND)
}
