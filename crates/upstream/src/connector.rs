//! What every kind of upstream must be able to do.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use model::call::ServerLineage;
use model::{Answer, Code, Fault, Listed, LogLevel};
use policy::Permit;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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

    /// Everything the upstream has to offer. Upstreams without resources and prompts need only list.
    async fn offer(&self) -> Result<Offer, Fault> {
        Ok(Offer { tools: self.list().await?, ..Offer::default() })
    }

    /// Makes the one call the permit allows.
    async fn call(&self, permit: &Permit, errand: &Errand) -> Result<Answer, Fault>;

    /// Does what the permit allows where that is no call of a tool: reads, gets, completes. Its result
    /// is no tool's, and so [`Answer::bare`].
    async fn ask(&self, permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        let message = format!("this upstream does not answer `{}`", permit.method().as_str());
        Err(Fault::new(Code::MethodNotFound, message))
    }

    /// Asks for news of the permit's resource or of its task, or for no more of it; a task is that of
    /// `owner`.
    async fn follow(&self, _permit: &Permit, _owner: &str, _wanted: bool) -> Result<(), Fault> {
        Ok(())
    }

    /// Wants log messages of this severity and above.
    async fn set_log_level(&self, _level: LogLevel) {}

    /// The last it wrote on standard error, where it has one: for people, not yet cleaned.
    fn said(&self) -> Vec<String> {
        Vec::new()
    }

    /// What is known of how it speaks, in a word, such as an MCP revision.
    fn speaks(&self) -> Option<String> {
        None
    }

    /// Who it says it is, once that is known.
    fn introduced(&self) -> Option<Arc<ServerLineage>> {
        None
    }

    /// It spoke like this when it was last heard of; so it is asked first.
    fn recall(&self, _speaks: &str) {}

    /// Whom to tell when something changes, from now on.
    fn attach(&self, _bell: Bell) {}

    /// Ends what was opened. Calls still under way fail.
    async fn close(&self) {}
}

/// What an upstream offers, each list in the upstream's own order and words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Offer {
    pub tools: Vec<Value>,
    pub resources: Vec<Value>,
    pub templates: Vec<Value>,
    pub prompts: Vec<Value>,
    /// Its capabilities, as it declared them.
    pub capabilities: Map<String, Value>,
    pub instructions: Option<String>,
    /// What is known of how it speaks, to be asked in the same way after a restart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speaks: Option<String>,
    /// How long the lists hold, as the upstream says; not said by most.
    #[serde(skip)]
    pub ttl: Option<Duration>,
    /// Lists it has and did not give this time: they are empty here, and that says nothing.
    #[serde(skip)]
    pub unheard: BTreeSet<Listed>,
}

impl Offer {
    /// With what it listed before in place of what it did not list this time.
    #[must_use]
    pub fn or_as_before(mut self, former: &Self) -> Self {
        for what in &self.unheard {
            match what {
                Listed::Prompts => self.prompts.clone_from(&former.prompts),
                Listed::Resources => self.resources.clone_from(&former.resources),
                Listed::Templates => self.templates.clone_from(&former.templates),
                // Without its tools there is no offer, and tasks are no part of one.
                Listed::Tools | Listed::Tasks => {}
            }
        }
        self
    }
}

/// Something changed at an upstream.
#[derive(Clone, Debug, PartialEq)]
pub enum Ring {
    Changed(Listed),
    Updated {
        uri: String,
    },
    /// News of a task, in the upstream's words. With an owner where that one has the upstream to
    /// itself, and then nobody else's task is meant.
    Task {
        owner: Option<String>,
        params: Map<String, Value>,
    },
    /// Somebody who was sent to an address has been there. It does not say who, other than as above.
    Visited {
        owner: Option<String>,
        elicitation_id: String,
    },
    /// The connection broke, or the process ended, and nobody here asked for it.
    Lost,
    /// Stopped for want of use; the next call wakes it.
    Asleep,
    /// There is a new connection or process, which may offer something else.
    Reopened,
}

/// Told of every change, from any thread, and never waits.
#[derive(Clone)]
pub struct Bell(Arc<dyn Fn(Ring) + Send + Sync>);

impl Bell {
    pub fn new(ring: impl Fn(Ring) + Send + Sync + 'static) -> Self {
        Self(Arc::new(ring))
    }

    pub fn ring(&self, what: Ring) {
        (self.0)(what);
    }
}

impl std::fmt::Debug for Bell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Bell")
    }
}
