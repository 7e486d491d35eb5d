//! Looking into an artifact: the handle's owner gets a slice, cleaned like everything else.

use std::sync::Arc;

use catalog::{Catalogue, Entry as Tool};
use context::Cleared;
use model::{Caller, Code, Fault, ItemKey, ItemKind, Selector, SessionId};
use policy::Action;
use store::Reader;

use crate::browse;
use crate::gateway::Gateway;

impl Gateway {
    pub async fn view(&self, caller: &Caller, handle: &str, selector: &Selector) -> Cleared {
        match self.slice(caller, handle, selector).await {
            Ok(cleared) => cleared,
            Err(fault) => self.refuse(&fault),
        }
    }

    async fn slice(
        &self,
        caller: &Caller,
        handle: &str,
        selector: &Selector,
    ) -> Result<Cleared, Fault> {
        let principal = caller.principal.account();
        let shown = model::fault::one_line(handle, 80);
        let session = caller.session.as_ref().map(SessionId::as_str);
        let reader = Reader { principal: &principal, session };
        if !self.rules().is_indifferent() && !self.may_view(caller, handle, reader).await? {
            let message = format!("no artifact `{shown}` for this caller");
            return Err(Fault::new(Code::ViewFailed, message).at(shown));
        }
        let Some((artifact, bytes)) = self.store.artifact(handle, reader).await? else {
            let message = format!("no artifact `{shown}` for this caller");
            return Err(Fault::new(Code::ViewFailed, message).at(shown));
        };
        context::view(&bytes, &artifact.media_type, selector, &self.settings.redactor)
            .map_err(|fault| fault.at(shown))
    }

    /// Whether policy lets the caller look into what this tool answered. What no record tells of, or
    /// what is offered no more, no policy can speak of: that is refused.
    async fn may_view(
        &self,
        caller: &Caller,
        handle: &str,
        reader: Reader<'_>,
    ) -> Result<bool, Fault> {
        let Some(call) = self.store.artifact_call(handle, reader).await? else { return Ok(false) };
        let Some(record) = self.store.record(call.as_str()).await? else { return Ok(false) };
        let item = record.call.item_key.and_then(|key| offered(&self.catalogue(), &key));
        Ok(item.is_some_and(|item| {
            browse::may(&self.rules(), Action::View, self, caller, (&item, &record.call.args))
        }))
    }
}

/// All that the catalogue of this moment offers under this name with its upstream, of every kind.
pub(crate) fn named(catalogue: &Catalogue, name: &str) -> Vec<Arc<Tool>> {
    let same = |item: &&Arc<Tool>| item.item.key.to_string() == name;
    let listed: Vec<_> = listed(catalogue).filter(same).map(Arc::clone).collect();
    if !listed.is_empty() {
        return listed;
    }
    // Servers need not list what can be read.
    let unlisted = name.split_once('/').and_then(|(_, uri)| catalogue.shelf().resource(uri));
    unlisted.filter(|item| same(&item)).into_iter().collect()
}

/// All that upstreams listed, of every kind.
pub(crate) fn listed(catalogue: &Catalogue) -> impl Iterator<Item = &Arc<Tool>> {
    let shelf = catalogue.shelf();
    let shelved = [shelf.prompts(), shelf.resources(), shelf.templates()];
    catalogue.entries().iter().chain(shelved.into_iter().flatten())
}

/// What the catalogue of this moment offers under this key, whatever its kind.
fn offered(catalogue: &Catalogue, key: &ItemKey) -> Option<Arc<Tool>> {
    let shelf = catalogue.shelf();
    let listed = listed(catalogue).find(|item| item.item.key == *key).map(Arc::clone);
    listed.or_else(|| match key.kind {
        ItemKind::Resource => shelf.resource(&key.name).filter(|item| item.item.key == *key),
        _ => None,
    })
}
