//! Whether an answer is what its tool promised, before it is cleaned and once more after.

use catalog::Entry as Tool;
use context::Clearing;
use model::{Answer, Code, Fault, Finding, Severity, Violation};

use crate::settings::{OnViolation, Output, RequireStructured};

/// An answer may be as long as its manifest says. A longer one is nobody's to cut: what is left out
/// could be what matters.
pub(super) fn bounded(tool: &Tool, answer: &Answer) -> Result<(), Fault> {
    let declared =
        tool.capability.as_ref().and_then(|capability| capability.limits.max_result_bytes);
    let Some(most) = declared else { return Ok(()) };
    let bytes = match &answer.written {
        Some(written) => written.len(),
        None => serde_json::to_vec(answer).map_err(Fault::internal)?.len(),
    };
    if bytes as u64 <= most {
        return Ok(());
    }
    let message = format!("the answer has {bytes} bytes, and the manifest allows {most}");
    Err(Fault::new(Code::OutputInvalid, message).at(&tool.shown_name))
}

/// What is wrong with the answer and let through nevertheless. A tool's own error answer promises
/// nothing.
pub(super) fn check(output: Output, tool: &Tool, answer: &Answer) -> Result<Vec<Finding>, Fault> {
    if answer.is_error {
        return Ok(Vec::new());
    }
    let (rule, broken) = violations(output.require_structured, tool, answer);
    let Some(first) = broken.first() else { return Ok(Vec::new()) };
    let finding = Finding::new(Severity::Warning, rule, &first.message);
    let tool_name = tool.shown_name.as_str();
    match output.on_violation {
        OnViolation::Block => Err(blocked(rule, tool_name, broken)),
        OnViolation::Warn => {
            let violation = first.message.as_str();
            tracing::warn!(tool.name = tool_name, rule, violation, "output breaks its promise");
            Ok(vec![finding])
        }
        OnViolation::Pass => Ok(vec![finding]),
    }
}

/// An answer that was whole must still be: cleaning may not hand a client what its schema forbids.
///
/// What stands in the place of a long answer is ours and has no schema.
pub(super) fn check_cleaned(
    tool: &Tool,
    clearing: &Clearing,
    was_valid: bool,
) -> Result<(), Fault> {
    let answer = clearing.cleared.get();
    let touched = clearing.cleaning.changed_leaves > 0 && !clearing.replaced;
    if !was_valid || !touched || answer.is_error || answer.structured.is_none() {
        return Ok(());
    }
    let broken = tool.check_output(answer.structured.as_ref());
    if broken.is_empty() {
        return Ok(());
    }
    Err(blocked("sanitization_broke_schema", &tool.shown_name, broken))
}

fn violations(
    require: RequireStructured,
    tool: &Tool,
    answer: &Answer,
) -> (&'static str, Vec<Violation>) {
    let structured = answer.structured.as_ref();
    match (require, structured) {
        (RequireStructured::Always, value) if !value.is_some_and(serde_json::Value::is_object) => {
            let message = "the answer has no structured content that is an object".to_owned();
            let (instance_path, schema_path) = (String::new(), String::new());
            ("mcp-non-object-output", vec![Violation { instance_path, schema_path, message }])
        }
        (RequireStructured::Never, None) => ("output_schema", Vec::new()),
        _ => ("output_schema", tool.check_output(structured)),
    }
}

fn blocked(rule: &str, tool_name: &str, broken: Vec<Violation>) -> Fault {
    let first = broken.first().map(|violation| violation.message.as_str()).unwrap_or_default();
    let message = match rule {
        "sanitization_broke_schema" => {
            format!("the tool ran, but its answer, once cleaned, breaks its output schema: {first}")
        }
        _ => format!("the tool ran, but its answer breaks its output schema: {first}"),
    };
    let violation = if rule == "mcp-non-object-output" { rule } else { "mcp-output-schema" };
    let place = broken.first().map(|v| (v.instance_path.clone(), v.schema_path.clone()));
    let (instance_path, schema_path) = place.unwrap_or_default();
    Fault::new(Code::OutputInvalid, message)
        .at(tool_name)
        .with("rule", rule)
        .with("violation", violation)
        .with("tool_id", tool_name)
        .with("instance_path", instance_path)
        .with("schema_path", schema_path)
        .violating(broken)
}
