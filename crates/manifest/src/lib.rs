//! Reads adapter manifests: the reviewed, pinned contract of one upstream.
//!
//! Pure: text or JSON in, a checked [`AdapterManifest`] out. No files, no network, and no verdict
//! on a call beyond [`Capability::check_args`]; whether a call may happen is `policy`'s business.

mod adapter;
mod binding;
mod capability;
mod constraint;
mod error;
mod grammar;
mod lint;
mod read;
mod schemas;
mod skill;
mod surface;
mod transport;

pub use adapter::{AdapterManifest, AuthContract, AuthType, MANIFEST_VERSION, Protocol};
pub use adapter::{TenantRules, VERSION_DEFAULT};
pub use binding::{Binding, BindingError};
pub use capability::{ActionRisk, CapLimits, Capability, DedupScope, Idempotency, Retry};
pub use capability::{TaskSupport, risk};
pub use constraint::{ArgConstraint, Pattern};
pub use error::ManifestError;
pub use lint::lint_schemas;
pub use lint::{Question, Remark, SchemaLook, hidden_in, is_answered, lint, lint_bindings};
pub use read::{from_value, parse};
pub use schemas::{SchemaPins, SchemaRef, SchemaSide, SchemaUse};
pub use skill::Skill;
pub use surface::{Consent, Elicitation, Metric, Observability, ParamRule, PromptRule};
pub use surface::{
    ResourceRule, Review, Sampling, Sandbox, ServerIdentity, Signature, TraceContext,
};
pub use transport::{CustomTransport, Timeouts, Transport, TransportKind};
