//! An upstream that is configured and cannot be served: it says why, and the others go on.

use async_trait::async_trait;
use model::{Answer, Code, Fault};
use policy::Permit;
use serde_json::Value;

use crate::connector::Connector;
use crate::errand::Errand;

#[derive(Clone, Debug)]
pub struct Missing {
    why: String,
}

impl Missing {
    pub fn new(why: impl Into<String>) -> Self {
        Self { why: why.into() }
    }

    fn fault(&self) -> Fault {
        Fault::new(Code::UpstreamUnavailable, &self.why)
    }
}

#[async_trait]
impl Connector for Missing {
    fn protocol(&self) -> &'static str {
        "custom"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        Err(self.fault())
    }

    async fn call(&self, _permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        Err(self.fault())
    }
}
