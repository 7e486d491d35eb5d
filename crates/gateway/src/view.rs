//! Looking into an artifact: the handle's owner gets a slice, cleaned like everything else.

use context::Cleared;
use model::{Caller, Code, Fault, Selector, SessionId};
use store::Reader;

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
        let Some((artifact, bytes)) = self.store.artifact(handle, reader).await? else {
            let message = format!("no artifact `{shown}` for this caller");
            return Err(Fault::new(Code::ViewFailed, message).at(shown));
        };
        context::view(&bytes, &artifact.media_type, selector, &self.settings.redactor)
            .map_err(|fault| fault.at(shown))
    }
}
