//! What travels beside the arguments of a request, in `_meta`.

use model::limits::{CITED_CHARS_MAX, CITED_MAX, ID_BYTES_MAX};
use model::{ApprovalMode, Client, LogLevel};
use serde_json::{Map, Value};

use crate::jsonrpc::{self, RpcError};
use crate::revision::Revision;
use crate::strict::Fields;

/// Keys of `_meta` that 2026-07-28 defines for every request.
pub const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Our own keys of `_meta`, for callers that name their run or guard a write.
pub const RUN: &str = "toolgate/run_id";
pub const IDEMPOTENCY: &str = "toolgate/idempotency_key";
/// What the caller is about, and how far it wants to go at most.
pub const INTENT: &str = "toolgate/intent";
pub const CEILING: &str = "toolgate/ceiling";
/// The facts a call rests on, by what records call them.
pub const EVIDENCE: &str = "toolgate/evidence";

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meta {
    /// Set when the request names its own revision, as stateless clients do.
    pub revision: Option<Revision>,
    /// What such a request says about its client.
    pub client: Client,
    pub progress_token: Option<Value>,
    pub traceparent: Option<String>,
    pub run_id: Option<String>,
    pub idempotency_key: Option<String>,
    pub intent: Option<String>,
    pub ceiling: Option<ApprovalMode>,
    pub evidence: Vec<String>,
    /// Every other key, to be passed on as it is.
    pub rest: Map<String, Value>,
}

/// Why a `_meta` cannot be taken, and whether that is what a stateless request must say of itself.
pub(super) struct Refused {
    pub(super) error: RpcError,
    pub(super) stateless: bool,
}

impl From<RpcError> for Refused {
    fn from(error: RpcError) -> Self {
        Self { error, stateless: false }
    }
}

/// Takes `_meta` out of the parameters.
pub(super) fn take(params: &mut Fields) -> Result<Meta, Refused> {
    let mut rest = match params.take("_meta") {
        None | Some(Value::Null) => return Ok(Meta::default()),
        Some(Value::Object(rest)) => rest,
        Some(_) => return Err(invalid("`_meta` must be an object").into()),
    };
    let mut meta = Meta { traceparent: text(rest.get("traceparent")), ..Meta::default() };
    if let Some(version) = rest.shift_remove(VERSION) {
        let stateless = |error| Refused { error, stateless: true };
        meta.revision = Some(modern(&version).map_err(stateless)?);
        meta.client = client(&mut rest).map_err(stateless)?;
    }
    meta.progress_token = progress_token(rest.shift_remove("progressToken"))?;
    meta.run_id = rest.shift_remove(RUN).as_ref().and_then(|value| text(Some(value)));
    meta.idempotency_key =
        rest.shift_remove(IDEMPOTENCY).as_ref().and_then(|value| text(Some(value)));
    meta.intent = rest.shift_remove(INTENT).as_ref().and_then(|value| text(Some(value)));
    meta.ceiling = match rest.shift_remove(CEILING) {
        None => None,
        // One that is not understood must not mean none.
        Some(ceiling) => Some(
            ceiling
                .as_str()
                .and_then(ApprovalMode::read)
                .ok_or_else(|| invalid(&format!("`{CEILING}` is no mode we know")))?,
        ),
    };
    meta.evidence =
        rest.shift_remove(EVIDENCE).as_ref().map(evidence).transpose()?.unwrap_or_default();
    meta.rest = rest;
    Ok(meta)
}

/// It comes back with each report, and so it is no more than a name.
fn progress_token(token: Option<Value>) -> Result<Option<Value>, RpcError> {
    match token {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => Ok(Some(number.into())),
        Some(Value::String(text)) if text.len() <= ID_BYTES_MAX => Ok(Some(text.into())),
        Some(_) => Err(invalid(&format!(
            "`progressToken` must be a number, or a string of at most {ID_BYTES_MAX} bytes"
        ))),
    }
}

/// What is cited must be readable: a fact that was left out would look like one that is missing.
fn evidence(cited: &Value) -> Result<Vec<String>, RpcError> {
    let refs = cited.as_array().filter(|refs| refs.len() <= CITED_MAX);
    let short = |value: &Value| text(Some(value)).filter(|text| text.len() <= CITED_CHARS_MAX);
    let read = refs.and_then(|refs| refs.iter().map(short).collect::<Option<Vec<_>>>());
    read.ok_or_else(|| invalid(&format!("`{EVIDENCE}` must be a short list of short texts")))
}

/// The revision a stateless request names.
fn modern(version: &Value) -> Result<Revision, RpcError> {
    let asked =
        version.as_str().ok_or_else(|| invalid(&format!("`{VERSION}` must be a string")))?;
    let known = asked.parse::<Revision>().ok().filter(|revision| revision.is_modern());
    known.ok_or_else(|| unsupported(asked))
}

/// The error for a revision that is not served.
pub fn unsupported(asked: &str) -> RpcError {
    let supported: Vec<&str> =
        Revision::ALL.iter().filter(|r| r.is_modern()).map(|r| r.as_str()).collect();
    let asked = model::fault::one_line(asked, 40);
    let data = serde_json::json!({"supported": supported, "requested": asked});
    RpcError::new(jsonrpc::UNSUPPORTED_VERSION, format!("revision `{asked}` is not served here"))
        .with_data(data)
}

/// What a stateless request must and may say about its client.
fn client(rest: &mut Map<String, Value>) -> Result<Client, RpcError> {
    let Some(Value::Object(capabilities)) = rest.shift_remove(CAPABILITIES) else {
        return Err(invalid(&format!("`_meta` needs an object under `{CAPABILITIES}`")));
    };
    let log_level = match rest.shift_remove(LOG_LEVEL) {
        None => None,
        Some(level) => Some(
            level
                .as_str()
                .and_then(LogLevel::read)
                .ok_or_else(|| invalid(&format!("`{LOG_LEVEL}` is no level we know")))?,
        ),
    };
    Ok(Client { capabilities, info: rest.shift_remove(CLIENT), log_level, rounds: true })
}

fn invalid(message: &str) -> RpcError {
    RpcError::new(jsonrpc::INVALID_PARAMS, message)
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}
