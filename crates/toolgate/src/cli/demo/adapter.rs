//! `toolgate demo adapter`: a raw MCP result becomes an envelope and artifacts, a recorded session
//! becomes a prompt. No gate runs and nobody is contacted.

use ::context::session::EXAMPLE;
use ::context::{BriefRules, ContextStore, Phase, Redactor, load_session, normalise};
use model::Class;
use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;

const BUDGET_TOKENS: usize = 400;

pub(super) fn run(context: &Context) -> Result<(), CliError> {
    let result = raw_result();
    let normalised = normalise(&result, "get_invoice");
    let mut store = ContextStore::default();
    let wrong = |error: String| CliError::new(Exit::Failure, error);
    let items = load_session(EXAMPLE).map_err(|error| wrong(error.to_string()))?;
    store.ingest_session(items).map_err(|error| wrong(error.to_string()))?;
    store
        .ingest_tool_result("get_invoice", &result, "demo", Class::Internal)
        .map_err(|error| wrong(error.to_string()))?;
    let redactor = Redactor::default();
    let brief = ::context::brief(
        store.items(),
        &BriefRules {
            phase: Phase::Answer,
            query: "invoice status",
            budget_tokens: BUDGET_TOKENS,
            floor: Class::Confidential,
            redactor: &redactor,
        },
    );
    let artifacts: Vec<_> = normalised.blobs.keys().map(ToString::to_string).collect();
    if context.out.is_json() {
        let facts = &normalised.facts;
        return context.out.json(&json!({
            "summary": normalised.summary, "facts": facts, "artifacts": artifacts, "brief": brief,
        }));
    }
    let out = context.out;
    out.line("A result as a server sent it becomes")?;
    out.line(&format!("  a summary: {}", normalised.summary))?;
    out.line(&format!("  facts: {}", normalised.facts.join(", ")))?;
    out.line(&format!("  artifacts: {}", artifacts.join(", ")))?;
    out.line("")?;
    let (shown, all) = (brief.included.len(), brief.candidates);
    out.line(&format!(
        "A session becomes a prompt of {} tokens, {shown} of {all} items:",
        brief.tokens
    ))?;
    out.line("")?;
    out.text(&brief.prompt)
}

fn raw_result() -> Value {
    json!({
        "content": [
            {"type": "text", "text": "Invoice 1042 is paid."},
            {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"},
        ],
        "structuredContent": {"number": 1042, "status": "paid"},
    })
}
