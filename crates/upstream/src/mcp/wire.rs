//! What must carry messages to one MCP server and back.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use model::call::ServerLineage;
use model::{Client, Code, Fault, canonical};
use protocol::{Revision, jsonrpc, peer, tasks};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::connector::Bell;
use crate::errand::Errand;

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// One request to a server, without what the wire itself adds.
#[derive(Debug)]
pub struct Asking<'a> {
    pub(crate) method: &'a str,
    /// What it is about, for wires that repeat it in a header.
    pub(crate) name: Option<&'a str>,
    pub(crate) params: Cow<'a, Map<String, Value>>,
    /// What a tool is called with, beside the parameters and its name.
    pub(crate) arguments: Option<&'a Value>,
    /// For whom; absent where the gate asks for itself.
    pub(crate) errand: Option<&'a Errand>,
    pub(crate) headers: Vec<(String, String)>,
    /// `arguments` letter by letter, where the value does not keep how numbers are spelled; without
    /// arguments, `params`.
    pub(crate) written: Option<&'a str>,
}

impl<'a> Asking<'a> {
    /// A question of the gate's own.
    pub(crate) fn own(method: &'a str, params: Map<String, Value>) -> Self {
        let (errand, arguments, written) = (None, None, None);
        let params = Cow::Owned(params);
        Self { method, name: None, params, arguments, errand, headers: Vec::new(), written }
    }

    /// The bytes of this request for a server of this revision.
    pub(crate) fn frame(&self, id: i64, revision: Revision) -> Vec<u8> {
        let none = Map::new();
        let client: Option<&Client> = self.errand.map(|errand| errand.client.as_ref());
        let report = self.errand.filter(|errand| errand.report).map(|_| id);
        let rest = self.errand.map_or(&none, |errand| &errand.meta);
        let meta = peer::meta(rest, revision, client, report);
        let written = self.written.filter(|_| self.arguments.is_some());
        let written = written.and_then(|text| serde_json::from_str::<&RawValue>(text).ok());
        let parts = self.written.filter(|_| self.arguments.is_none());
        let parts = parts.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        peer::request(id, self.method, &Params { asking: self, written, parts, meta: &meta })
    }
}

/// All parameters of a request, put together on their way out.
struct Params<'a> {
    asking: &'a Asking<'a>,
    /// Sent in place of the arguments they were read from.
    written: Option<&'a RawValue>,
    /// Sent in place of what stands under the same keys, as long as that is what they say.
    parts: BTreeMap<String, &'a RawValue>,
    meta: &'a Map<String, Value>,
}

impl Serialize for Params<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { asking, written, parts, meta } = self;
        let own_meta = !meta.is_empty();
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in asking.params.iter().filter(|(key, _)| !own_meta || *key != "_meta") {
            match parts.get(key).filter(|part| says(part, value)) {
                Some(part) => map.serialize_entry(key, part)?,
                None => map.serialize_entry(key, value)?,
            }
        }
        if let (Some(name), Some(_)) = (asking.name, asking.arguments) {
            map.serialize_entry("name", name)?;
        }
        match (written, asking.arguments) {
            (Some(written), _) => map.serialize_entry("arguments", written)?,
            (None, Some(arguments)) => map.serialize_entry("arguments", arguments)?,
            (None, None) => {}
        }
        if own_meta {
            map.serialize_entry("_meta", meta)?;
        }
        map.end()
    }
}

fn says(part: &RawValue, value: &Value) -> bool {
    serde_json::from_str::<Value>(part.get()).is_ok_and(|said| said == *value)
}

/// The result of one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub value: Value,
    /// Its text, where the value does not keep how numbers are spelled.
    pub written: Option<String>,
}

/// How a server introduced itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Greeting {
    pub(crate) revision: Revision,
    pub(crate) capabilities: Map<String, Value>,
    pub(crate) instructions: Option<String>,
    /// Its name and version, as it says.
    pub(crate) info: (String, String),
}

impl Greeting {
    /// Reads the result of `initialize`.
    pub(crate) fn read(revision: Revision, result: &Value) -> Self {
        let capabilities = result.get("capabilities").and_then(Value::as_object).cloned();
        let instructions = result.get("instructions").and_then(Value::as_str).map(str::to_owned);
        // Before 2026-07-28 in the result itself, since then in its `_meta`.
        let info = result.get("serverInfo").or_else(|| result.get("_meta")?.get(SERVER_INFO));
        let text = |key: &str| {
            let said = info.and_then(|info| info.get(key)).and_then(Value::as_str);
            model::fault::one_line(said.unwrap_or_default(), 128)
        };
        let info = (text("name"), text("version"));
        Self { revision, capabilities: capabilities.unwrap_or_default(), instructions, info }
    }

    /// For the record of what it answers.
    pub(crate) fn lineage(&self) -> ServerLineage {
        let (name, version) = self.info.clone();
        ServerLineage {
            name,
            version,
            protocol_version: self.revision.as_str().to_owned(),
            capabilities_hash: canonical::hash(&Value::Object(self.capabilities.clone())),
        }
    }
}

impl Greeting {
    /// The same for `server/discover`, where anything but a list of revisions with ours in it is the
    /// answer of a server that answers whatever it is asked.
    pub(crate) fn discovered(result: &Value) -> Result<Self, Fault> {
        let revision = Revision::V2026_07_28;
        let versions = result.get("supportedVersions").and_then(Value::as_array);
        let ours = versions.is_some_and(|all| all.iter().any(|one| one == revision.as_str()));
        if !ours {
            let message = "the upstream answers `server/discover` but does not speak 2026-07-28";
            return Err(Fault::new(Code::UpstreamError, message));
        }
        Ok(Self::read(revision, result))
    }
}

/// The newest revision we share with a server that refused the one it was asked in.
pub(crate) fn offered(refusal: &Fault) -> Option<Revision> {
    let said = refusal.upstream.as_ref().filter(|e| e.code == jsonrpc::UNSUPPORTED_VERSION)?;
    let supported = said.data.as_ref()?.get("supported")?.as_array()?;
    supported.iter().filter_map(|one| one.as_str()?.parse().ok()).max()
}

#[async_trait]
pub trait Wire: Send + Sync + std::fmt::Debug + 'static {
    /// Who is at the other end. Opens the conversation if there is none.
    async fn greet(&self) -> Result<Arc<Greeting>, Fault>;

    /// Sends one request and waits for its result. Losing the future cancels the request.
    async fn ask(&self, asking: &Asking<'_>) -> Result<Reply, Fault>;

    /// Wants news of this, or no longer.
    async fn follow(&self, what: Followed, wanted: bool) -> Result<(), Fault>;

    fn attach(&self, bell: Bell);

    fn host(&self) -> Option<&str> {
        None
    }

    /// The last it wrote on standard error, where it has one.
    fn said(&self) -> Vec<String> {
        Vec::new()
    }

    /// The revision spoken, once that is known.
    fn revision(&self) -> Option<Revision> {
        None
    }

    /// It spoke this revision when it was last heard of, before we were started.
    fn recall(&self, _revision: Revision) {}

    async fn close(&self) {}
}

/// What somebody wants news of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Followed {
    Resource(String),
    Task(String),
}

/// Listens for the gate, which follows tasks whoever its clients are.
static LISTENER: LazyLock<Errand> = LazyLock::new(|| {
    let extensions = json!({tasks::EXTENSION: {}});
    let capabilities = Map::from_iter([("extensions".to_owned(), extensions)]);
    let client = Arc::new(Client { capabilities, ..Client::default() });
    Errand { client, ..Errand::quiet() }
});

/// 2026-07-28: everything this server can tell of, and what somebody follows.
pub(crate) fn wish(greeting: &Greeting, followed: &BTreeSet<Followed>) -> Asking<'static> {
    let declares = |feature: &str| {
        let feature = greeting.capabilities.get(feature);
        feature.and_then(|feature| feature.get("listChanged")).and_then(Value::as_bool)
    };
    let mut wanted = Map::new();
    for (feature, key) in [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ] {
        if declares(feature) == Some(true) {
            wanted.insert(key.to_owned(), true.into());
        }
    }
    let (mut uris, mut ids) = (Vec::new(), Vec::new());
    for one in followed {
        match one {
            Followed::Resource(uri) => uris.push(uri),
            Followed::Task(id) => ids.push(id),
        }
    }
    if !uris.is_empty() {
        wanted.insert("resourceSubscriptions".to_owned(), json!(uris));
    }
    let errand = (!ids.is_empty()).then(|| &*LISTENER);
    if !ids.is_empty() {
        wanted.insert("taskIds".to_owned(), json!(ids));
    }
    let params = Map::from_iter([("notifications".to_owned(), wanted.into())]);
    Asking { errand, ..Asking::own("subscriptions/listen", params) }
}

/// Up to 2025-11-25: wants news of these, or no longer. Of tasks such a server tells unasked.
pub(crate) fn subscriptions<'a>(
    followed: impl IntoIterator<Item = &'a Followed>,
    wanted: bool,
) -> Vec<Asking<'static>> {
    let method = if wanted { "resources/subscribe" } else { "resources/unsubscribe" };
    let asking = |followed: &Followed| match followed {
        Followed::Resource(uri) => {
            let params = Map::from_iter([("uri".to_owned(), uri.clone().into())]);
            Some(Asking::own(method, params))
        }
        Followed::Task(_) => None,
    };
    followed.into_iter().filter_map(asking).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CO-186: a server of 2026-07-28 tells of a task only where it is asked to, by who follows tasks.
    #[test]
    fn what_is_followed_is_wished_for() {
        let greeting = Greeting::read(Revision::V2026_07_28, &json!({}));
        let check = |followed: &[Followed], wanted: Value, able: Value| {
            let followed: BTreeSet<Followed> = followed.iter().cloned().collect();
            let frame = wish(&greeting, &followed).frame(1, greeting.revision);
            let said: Value = serde_json::from_slice(&frame).unwrap();
            assert_eq!(said["params"]["notifications"], wanted);
            let told = &said["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
            assert_eq!(told, &able);
        };
        let (note, task) = (Followed::Resource("a://b".into()), Followed::Task("t1".into()));
        let uris = json!(["a://b"]);
        check(&[], json!({}), json!({}));
        check(std::slice::from_ref(&note), json!({"resourceSubscriptions": uris}), json!({}));
        let able = json!({"extensions": {tasks::EXTENSION: {}}});
        let both = json!({"resourceSubscriptions": uris, "taskIds": ["t1"]});
        check(&[task.clone(), note.clone()], both, able);
        let methods: Vec<_> =
            subscriptions(&[task, note], false).iter().map(|asking| asking.method).collect();
        assert_eq!(methods, ["resources/unsubscribe"]);
    }
}
