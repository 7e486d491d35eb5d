//! The upstreams behind a gate, reached without a call.

use toolgate::gateway::Gateway;
use toolgate::upstream::Upstreams;

pub fn around(gateway: &Gateway) -> &Upstreams {
    &gateway.upstreams
}
