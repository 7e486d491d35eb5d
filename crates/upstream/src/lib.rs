//! Opens connections to tools, and makes a call only against a `policy::Permit`.
//!
//! One [`Connector`] per protocol; the rest of the gate knows none of them by name (CW-82).

pub mod breaker;
pub mod cassette;
pub mod connector;
pub mod demo;
pub mod egress;
pub mod embedding;
pub mod errand;
pub mod filter;
pub mod function;
pub mod http;
pub mod limits;
pub mod mcp;
pub mod missing;
pub mod openapi;
pub mod otlp;
pub mod split;
pub mod stdio;
pub mod stub;
pub mod upstreams;
pub mod webhook;

mod http_client;
mod multiplex;
mod pages;
mod patience;

pub use connector::{Bell, Connector, Offer, Ring};
pub use egress::Egress;
pub use embedding::Embedding;
pub use errand::{Errand, Listener, News, Progress, Question, Time};
pub use filter::Filter;
pub use otlp::{Otlp, Spans};
pub use split::Split;
pub use upstreams::{Member, Upstreams};
pub use webhook::Webhook;
