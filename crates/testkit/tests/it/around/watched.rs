//! An upstream that offers something of every kind and notes whatever reaches it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use model::{Answer, Fault, Listed, LogLevel};
use policy::Permit;
use serde_json::{Value, json};
use toolgate_testkit::notes::Notes;
use upstream::{Bell, Connector, Errand, Offer, Ring};

#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    seen: Notes<String>,
    bell: Arc<Mutex<Option<Bell>>>,
    /// From when on it is noted who asks for its lists.
    started: Arc<AtomicBool>,
}

impl Watched {
    /// What reached it, in a word each.
    pub(super) fn seen(&self) -> Vec<String> {
        self.seen.all()
    }

    /// The gate has had its lists and has no more reason to ask, unless the upstream rings.
    pub(super) fn started(&self) {
        self.started.store(true, Ordering::SeqCst);
    }

    /// Gives the gate a reason to doubt its lists.
    pub(super) fn ring(&self) {
        let bell = self.bell.lock().unwrap();
        bell.as_ref().unwrap().ring(Ring::Changed(Listed::Tools));
    }
}

#[async_trait]
impl Connector for Watched {
    fn protocol(&self) -> &'static str {
        "mcp"
    }

    fn attach(&self, bell: Bell) {
        *self.bell.lock().unwrap() = Some(bell);
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        if self.started.load(Ordering::SeqCst) {
            self.seen.push("tools/list".to_owned());
        }
        Ok(vec![
            json!({"name": "burn", "description": "Burn it.", "inputSchema": {"type": "object"}}),
        ])
    }

    async fn offer(&self) -> Result<Offer, Fault> {
        let capabilities = json!({
            "tools": {}, "prompts": {}, "resources": {"subscribe": true},
            "logging": {}, "completions": {}, "tasks": {"list": {}, "cancel": {}},
        });
        Ok(Offer {
            tools: self.list().await?,
            resources: vec![json!({"uri": "file:///secret", "name": "secret"})],
            templates: vec![json!({"uriTemplate": "file:///rooms/{room}", "name": "rooms"})],
            prompts: vec![json!({"name": "whisper", "arguments": [{"name": "to"}]})],
            capabilities: capabilities.as_object().cloned().unwrap_or_default(),
            ..Offer::default()
        })
    }

    async fn call(&self, permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        self.seen.push(permit.method().as_str().to_owned());
        if permit.arguments().get("slowly").is_some() {
            let begun = json!({"resultType": "task", "taskId": "task-1", "status": "working"});
            return Ok(Answer::read(begun).unwrap());
        }
        Ok(Answer::text("burnt"))
    }

    async fn ask(&self, permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        self.seen.push(permit.method().as_str().to_owned());
        let answer = json!({"contents": [], "messages": [], "completion": {"values": []}});
        Ok(Answer::bare(answer.as_object().cloned().unwrap_or_default()))
    }

    async fn follow(&self, _permit: &Permit, _owner: &str, _wanted: bool) -> Result<(), Fault> {
        self.seen.push("follow".to_owned());
        Ok(())
    }

    async fn set_log_level(&self, _level: LogLevel) {
        self.seen.push("log level".to_owned());
    }
}
