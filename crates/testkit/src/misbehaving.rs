//! An upstream that does what none should.

use async_trait::async_trait;
use model::{Answer, Code, Fault};
use policy::Permit;
use serde_json::{Value, json};
use upstream::{Connector, Errand};

#[derive(Clone, Copy, Debug)]
pub enum Misbehaving {
    /// Cannot say which tools it has.
    WontList,
    /// Lists things that are no definitions, one definition twice and one with a broken schema.
    ListsNonsense,
    /// Lists a tool and then knows nothing of it.
    ForgetsItsTools,
}

#[async_trait]
impl Connector for Misbehaving {
    fn protocol(&self) -> &'static str {
        "custom"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        match self {
            Self::WontList => Err(Fault::new(Code::UpstreamUnavailable, "nobody is at home")),
            Self::ListsNonsense => Ok(vec![
                json!(7),
                json!({"description": "nameless"}),
                crate::tool("sound", json!({})),
                crate::tool("sound", json!({})),
                crate::tool("broken", json!({"inputSchema": {"type": "nonsense"}})),
            ]),
            Self::ForgetsItsTools => Ok(vec![crate::tool("gone", json!({}))]),
        }
    }

    async fn call(&self, permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        match self {
            Self::ForgetsItsTools => {
                Err(Fault::new(Code::UpstreamError, "no such tool").at(permit.tool()))
            }
            Self::WontList | Self::ListsNonsense => Ok(Answer::text("done")),
        }
    }
}
