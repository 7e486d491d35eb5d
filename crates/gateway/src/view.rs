//! Looking into an artifact: the handle's owner gets a slice, cleaned like everything else.

use context::Cleared;
use model::{Caller, Code, Fault, Selector, SessionId};
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
        let principal = caller.principal.to_string();
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

    /// Whether policy lets the caller look into what this tool answered. What no record tells of is
    /// still its owner's.
    async fn may_view(
        &self,
        caller: &Caller,
        handle: &str,
        reader: Reader<'_>,
    ) -> Result<bool, Fault> {
        let Some(call) = self.store.artifact_call(handle, reader).await? else { return Ok(true) };
        let Some(record) = self.store.record(call.as_str()).await? else { return Ok(true) };
        let catalogue = self.catalogue();
        let key = record.call.item_key.as_ref();
        let tool = catalogue.entries().iter().find(|tool| Some(&tool.item.key) == key);
        Ok(tool.is_none_or(|tool| {
            browse::may(&self.rules(), Action::View, self, caller, (tool, &record.call.args))
        }))
    }
}
