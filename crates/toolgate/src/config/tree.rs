//! The whole configuration as one typed tree, and what follows from a setting left out.

use std::collections::BTreeMap;
use std::net::IpAddr;

use model::UpstreamName;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::choices::{Duplicates, LogLevel, Mode, Naming, Profile, Transport};
use super::mcp_json::McpServer;
use super::sections::{
    Approvals, Artifacts, Auth, Egress, EnvSettings, Hooks, HttpSettings, Limits, Records, Results,
    Search, Startup, Telemetry,
};
use super::shown::{Browse, Compat, Exposure};
use super::text::{ConfigPath, Hidden, Text};
use super::upstream::{Entry, Target, Upstream};

/// Where HTTP listens when nobody says otherwise.
pub const HTTP_PORT_DEFAULT: u16 = 8642;
/// Where the older SSE transport listens when nobody says otherwise.
pub const SSE_PORT_DEFAULT: u16 = 8000;

/// The upstream that serves the tools of `catalog`.
pub const CATALOG_UPSTREAM: &str = "catalog";

/// The settings of Toolgate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "toolgate.yaml", transform = only_read)]
pub struct Config {
    /// The name Toolgate gives itself towards clients.
    #[schemars(length(min = 1, max = 128))]
    pub name: Text,
    /// How strict the defaults are. Left out: `dev` on stdio and loopback, else `production`.
    pub profile: Option<Profile>,
    /// What `tools/list` shows.
    pub mode: Mode,
    /// How clients reach Toolgate. Left out, the command decides.
    pub transport: Option<Transport>,
    /// The address to listen on.
    #[schemars(length(min = 1))]
    pub host: Text,
    /// The port to listen on; 0 takes a free one. Left out: 8642 for http, 8000 for sse.
    pub port: Option<u16>,
    /// The folder for records, approvals and artifacts. Left out, the platform's data folder.
    pub data: Option<ConfigPath>,
    /// A PostgreSQL database for records, approvals and claims, as `postgres://user@host/name`; best
    /// written as `${VARIABLE}`. Left out, a file in the data folder.
    pub store: Option<Hidden>,
    /// How tools are named towards clients.
    pub naming: Naming,
    /// What stands in place of `mcp` in `mcp__upstream__tool`: letters and digits.
    #[schemars(length(min = 1, max = 32))]
    pub naming_prefix: Text,
    /// With `naming: none`, what becomes of tools that have the same name.
    pub duplicates: Duplicates,
    /// A JSON file of tool definitions, a list or `{"tools": [...]}`, served without an upstream.
    pub(super) catalog: Option<ConfigPath>,
    /// The upstreams ready for use: those of `upstreams`, `mcpServers`, `servers` and `catalog`.
    #[serde(skip)]
    pub upstreams: BTreeMap<UpstreamName, Upstream>,
    /// A file of Cedar policies.
    pub policy: Option<ConfigPath>,
    /// What a start needs of its upstreams.
    pub startup: Startup,
    /// Who may speak to Toolgate over HTTP.
    pub auth: Auth,
    /// How much, how often and how long.
    pub limits: Limits,
    /// How tools are shown.
    pub exposure: Exposure,
    /// What browsing answers.
    pub browse: Browse,
    /// Where clients expect something else than the protocol says.
    pub compat: Compat,
    /// What of a result reaches the model.
    pub results: Results,
    /// How tools are found.
    pub search: Search,
    /// Where results that are too long for a model are kept.
    pub artifacts: Artifacts,
    /// Where calls may go.
    pub egress: Egress,
    /// Questions to humans.
    pub approvals: Approvals,
    /// Addresses of yours that have a say about calls.
    pub hooks: Hooks,
    /// What is kept of calls.
    pub records: Records,
    /// Where an observer hears of calls.
    pub telemetry: Telemetry,
    /// Variables in this file.
    pub env: EnvSettings,
    /// The HTTP door.
    pub http: HttpSettings,
    /// How much is logged.
    pub log: Option<LogLevel>,
    /// The places tools come from, by name.
    #[serde(rename = "upstreams", skip_serializing)]
    #[schemars(extend("propertyNames" = {"pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"}))]
    pub(super) entries: BTreeMap<String, Entry>,
    /// Servers in the form of Claude, Cursor, Windsurf and others; taken as upstreams.
    #[serde(rename = "mcpServers", skip_serializing)]
    pub(super) mcp_servers: BTreeMap<String, McpServer>,
    /// Servers in the form of VS Code; taken as upstreams.
    #[serde(skip_serializing)]
    pub(super) servers: BTreeMap<String, McpServer>,
    /// The schema an editor checks this file with.
    #[serde(rename = "$schema", skip_serializing)]
    pub(super) schema: Option<Text>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            name: Text::new("toolgate"),
            profile: None,
            mode: Mode::default(),
            transport: None,
            host: Text::new("127.0.0.1"),
            port: None,
            data: None,
            store: None,
            naming: Naming::default(),
            naming_prefix: Text::new(catalog::names::WIRE_PREFIX),
            duplicates: Duplicates::default(),
            catalog: None,
            upstreams: BTreeMap::new(),
            policy: None,
            startup: Startup::default(),
            auth: Auth::default(),
            limits: Limits::default(),
            exposure: Exposure::default(),
            browse: Browse::default(),
            compat: Compat::default(),
            results: Results::default(),
            search: Search::default(),
            artifacts: Artifacts::default(),
            egress: Egress::default(),
            approvals: Approvals::default(),
            hooks: Hooks::default(),
            records: Records::default(),
            telemetry: Telemetry::default(),
            env: EnvSettings::default(),
            http: HttpSettings::default(),
            log: None,
            entries: BTreeMap::new(),
            mcp_servers: BTreeMap::new(),
            servers: BTreeMap::new(),
            schema: None,
        }
    }
}

impl Config {
    /// What is in force without a file: one built-in upstream to try things on.
    pub fn demo() -> Self {
        let demo = Upstream::new(Target::Demo);
        let upstreams = BTreeMap::from([(UpstreamName::from_string("demo"), demo)]);
        Self { upstreams, ..Self::default() }
    }

    pub fn port(&self, transport: Transport) -> u16 {
        let default =
            if transport == Transport::Sse { SSE_PORT_DEFAULT } else { HTTP_PORT_DEFAULT };
        self.port.unwrap_or(default)
    }

    /// The profile in force for this transport.
    pub fn profile(&self, transport: Transport) -> Profile {
        let local = transport == Transport::Stdio || self.is_loopback();
        self.profile.unwrap_or(if local { Profile::Dev } else { Profile::Production })
    }

    /// Only this machine can reach the host listened on.
    pub fn is_loopback(&self) -> bool {
        let host = self.host.as_str();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
    }

    /// The JSON Schema of the file.
    pub fn json_schema() -> Value {
        schemars::schema_for!(Self).to_value()
    }
}

/// The schema is for reading alone, so it need not say what is never written.
fn only_read(schema: &mut Schema) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(|properties| properties.values_mut()) {
        property.as_object_mut().map(|property| property.remove("writeOnly"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CW-101 and CW-114: loopback unless told, port 8000 for SSE.
    #[test]
    fn the_defaults_listen_on_loopback() {
        let config = Config::default();
        assert_eq!(config.host.as_str(), "127.0.0.1");
        assert_eq!(config.port(Transport::Sse), 8000);
        assert_eq!(config.port(Transport::Http), 8642);
    }

    #[test]
    fn who_can_reach_the_host_decides_the_profile() {
        let check = |host: &str, transport: Transport, expected: Profile| {
            let config = Config { host: Text::new(host), ..Config::default() };
            assert_eq!(config.profile(transport), expected, "{host}");
        };
        check("127.0.0.1", Transport::Http, Profile::Dev);
        check("localhost", Transport::Sse, Profile::Dev);
        check("[::1]", Transport::Http, Profile::Dev);
        check("0.0.0.0", Transport::Http, Profile::Production);
        check("gate.example.com", Transport::Sse, Profile::Production);
        check("0.0.0.0", Transport::Stdio, Profile::Dev);
    }
}
