//! What every kind of upstream must be able to do.

use async_trait::async_trait;
use model::{Answer, Fault};
use policy::Permit;
use serde_json::Value;

use crate::errand::Errand;

/// Speaks one upstream's protocol. Everything it is told comes as definitions and permits.
///
/// A call may be dropped at any await: a connector then tells its upstream, and forgets the call.
#[async_trait]
pub trait Connector: Send + Sync + std::fmt::Debug {
    /// The word for records: `mcp`, `openapi`, `function` or `custom`.
    fn protocol(&self) -> &'static str;

    /// The host this connector talks to over the network, if it does.
    fn endpoint_host(&self) -> Option<&str> {
        None
    }

    /// Every tool definition, as the upstream gives it, in the shape of MCP.
    async fn list(&self) -> Result<Vec<Value>, Fault>;

    /// Makes the one call the permit allows.
    async fn call(&self, permit: &Permit, errand: &Errand) -> Result<Answer, Fault>;

    /// Ends what was opened. Calls still under way fail.
    async fn close(&self) {}
}
