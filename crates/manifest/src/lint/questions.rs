//! The five questions, as far as a manifest leaves them open.

use model::{ApprovalMode, CapClass};

use super::{Bound, Question, Remark};
use crate::adapter::PROTOCOL_VERSION_DEFAULT as TARGET;
use crate::adapter::{AdapterManifest, AuthType, Protocol, VERSION_DEFAULT};

/// What the manifest as a whole must say.
pub(super) fn whole(manifest: &AdapterManifest) -> Vec<Remark> {
    let AdapterManifest { capabilities, resources, prompts, auth, .. } = manifest;
    let mut open = Vec::new();
    let mut ask = |unanswered: bool, question, rule, at: &str, message: &str| {
        if unanswered {
            open.push(Remark::open(question, rule, at, message));
        }
    };
    let nothing = capabilities.is_empty() && resources.is_empty() && prompts.is_empty();
    ask(nothing, Question::What, "nothing-declared", "", "declare what it can do: `capabilities`");
    let unowned = manifest.owner_role.trim().is_empty();
    ask(unowned, Question::What, "no-owner", "owner_role", "name the role that answers for it");
    let unknown = manifest.revision().is_none();
    ask(unknown, Question::What, "no-protocol-version", "", "pin `protocol_version`");
    let older = manifest.protocol == Protocol::Mcp
        && manifest.revision().is_some_and(|version| version < TARGET);
    let unexplained = manifest.protocol_version_reason.as_deref().is_none_or(str::is_empty);
    let message = "say why it is spoken to in an older revision: `protocol_version_reason`";
    ask(older && unexplained, Question::What, "old-protocol", "protocol_version", message);
    let nowhere = manifest.transport.is_none();
    ask(nowhere, Question::What, "no-transport", "", "say how it is reached: `transport`");
    let message = "say how the gate identifies itself: `auth`, with `type: none` if it does not";
    ask(auth.is_none(), Question::Who, "no-auth", "", message);
    let unscoped = auth.as_ref().is_some_and(|auth| {
        auth.kind == AuthType::OAuth2 && (auth.resource.is_none() && auth.token_audience.is_none())
    });
    let message = "name the `resource` a token is asked for, or its `token_audience`";
    ask(unscoped, Question::Who, "no-audience", "auth", message);
    let unversioned = manifest.version == VERSION_DEFAULT;
    let message = "give the manifest a `version`: records cite it";
    ask(unversioned, Question::Audit, "no-version", "", message);
    let traces = manifest.observability.as_ref().is_some_and(|o| o.trace_context.is_some());
    let message = "say `observability: {trace_context: w3c}`, so that traces join";
    ask(!traces, Question::Audit, "no-trace-context", "", message);
    let sampling = manifest.sampling.as_ref().filter(|sampling| sampling.declared);
    let unbounded = sampling.is_some_and(|sampling| sampling.max_per_run.is_none());
    let message = "bound how often it asks models: `max_per_run`";
    ask(unbounded, Question::Risk, "sampling-unbounded", "sampling", message);
    let unevaluated = sampling.is_some_and(|sampling| sampling.eval_ref.is_none());
    let message = "name the `eval_ref` by which what it asks models was evaluated";
    ask(unevaluated, Question::Evidence, "sampling-unevaluated", "sampling", message);
    for (index, prompt) in prompts.iter().enumerate() {
        let at = format!("prompts[{index}]");
        let message = format!("name the `eval_ref` that `{}` was evaluated with", prompt.name);
        ask(prompt.eval_ref.is_none(), Question::Evidence, "prompt-unevaluated", &at, &message);
    }
    open
}

/// The five links of a tool (CO-92): capability, approval mode, schema, policy, evidence contract.
/// The first is what is looked at; the reader of manifests insists on the second.
pub(super) fn of(bound: &Bound<'_>, manifest: &AdapterManifest) -> Vec<Remark> {
    let (capability, id) = (bound.capability, bound.id());
    let writes = capability.is_write();
    let mut open = Vec::new();
    let mut ask = |unanswered: bool, question, rule, message: String| {
        if unanswered {
            open.push(Remark::open(question, rule, &bound.at, message));
        }
    };
    let shapeless = capability.input_schema_ref.is_none() && bound.input_schema().is_none();
    let message = format!("`{id}` has no schema: set `input_schema_ref`");
    ask(shapeless, Question::What, "no-schema", message);
    let harmless = capability.approval_mode == ApprovalMode::ReadOnly;
    let message = format!("`{id}` writes, yet its `approval_mode` is read_only");
    ask(writes && harmless, Question::Risk, "mode-too-low", message);
    let reads = capability.class != CapClass::Act;
    let message = format!("`{id}` is of a reading `class` and has a writing `effect`: split it");
    ask(reads && capability.effect().is_write(), Question::Risk, "read-write-mixed", message);
    let stepped = manifest.auth.as_ref().is_some_and(|a| a.step_up_scopes.contains_key(id));
    let unbound = capability.permissions.is_empty()
        && capability.policy_refs.is_empty()
        && capability.requires_gate.is_none()
        && !stepped;
    let message = format!("nothing says who may use `{id}`: set `permissions` or `policy_refs`");
    ask(unbound, Question::Who, "no-policy", message);
    let prose = capability.output_schema_ref.is_none() && bound.output_schema().is_none();
    let message = format!("`{id}` is decided by and answers in prose: set `output_schema_ref`");
    ask(prose && bound.decides(), Question::Evidence, "prose-only", message);
    let traceless = capability.evidence_keys.is_empty();
    let message = format!("`{id}` leaves no evidence: set `evidence_keys`");
    let for_somebody = capability.approval_mode == ApprovalMode::Delegated;
    let decides = bound.decides() || for_somebody;
    ask(traceless && decides, Question::Evidence, "no-evidence", message);
    let keyless = !capability.idempotency.as_ref().is_some_and(|keys| keys.required);
    let message = format!("`{id}` writes, and a retry could repeat it: require `idempotency`");
    ask(writes && keyless, Question::Audit, "no-idempotency", message);
    open
}
