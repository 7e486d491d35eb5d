//! Web pages that may use an upstream: those its manifest names, where it names any (CO-64). Who comes
//! without an origin is no page.

use model::fault::one_line;
use model::{Caller, Code, Fault, Origin, UpstreamName};

use crate::gateway::Gateway;

impl Gateway {
    /// Refuses a page that the manifest of this upstream does not name.
    pub(crate) fn check_origin(
        &self,
        caller: &Caller,
        upstream: &UpstreamName,
    ) -> Result<(), Fault> {
        let Some(origin) = &caller.origin else { return Ok(()) };
        let Some(manifest) = self.manifest(upstream) else { return Ok(()) };
        let named = manifest.transport.as_ref().map(|transport| &transport.origin_allowlist);
        let Some(named) = named.filter(|named| !named.is_empty()) else { return Ok(()) };
        if named.iter().any(|named| Origin::read(named) == *origin) {
            return Ok(());
        }
        let origin = one_line(origin.as_str(), 100);
        let message = format!(
            "pages of `{origin}` may not use `{upstream}`: its manifest does not name them in \
             `transport.origin_allowlist`"
        );
        Err(Fault::new(Code::PermissionDenied, message).with("origin", origin))
    }
}
