//! How often, how many at once, and how much in one run. What is left out is not bounded.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How often, and how many at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RateLimit {
    /// Calls within a minute.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub calls_per_minute: Option<u32>,
    /// Calls running at the same time.
    #[schemars(range(min = 1, max = 100_000))]
    pub in_flight: Option<u32>,
}

/// What one run may use up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunBounds {
    /// Calls.
    pub calls: Option<u64>,
    /// Calls that change something.
    pub writes: Option<u64>,
    /// Tokens of what models got to read.
    pub tokens: Option<u64>,
    /// Seconds since the run's first call.
    pub seconds: Option<u64>,
    /// What its calls cost, by `costs`.
    pub cost: Option<u64>,
    /// Calls made again after they failed.
    pub retries: Option<u64>,
    /// Questions of upstreams to the client, of any kind.
    pub iterations: Option<u64>,
    /// Bytes of what models got to read.
    pub result_bytes: Option<u64>,
    /// Questions of upstreams to the person at the client.
    pub elicitations: Option<u64>,
    /// Questions of upstreams to the client's model.
    pub samples: Option<u64>,
    /// The same call with the same arguments, so often.
    pub same_call: Option<u64>,
    /// What a call costs, in whatever unit `cost` is, by a pattern for `UPSTREAM/TOOL`. The dearest
    /// that fits counts.
    pub costs: BTreeMap<String, u64>,
}
