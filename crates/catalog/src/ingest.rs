//! From a raw MCP tool definition to a catalogue item (CW-1, definitions in). Results go elsewhere.

use std::borrow::Cow;

use model::fault::one_line;
use model::{
    EffectClaim, Finding, Item, ItemKey, ItemKind, Packed, Severity, UpstreamName, canonical,
};
use serde_json::{Map, Value, json};

use crate::{hints, limits, names, namespace};

/// Reads one entry of a `tools/list` answer.
///
/// Lenient where MCP is: only a definition without a usable name is refused. Everything odd is
/// remarked on in the item's findings.
pub fn item_from_mcp_tool(
    upstream: &UpstreamName,
    namespace: Option<&str>,
    definition: &Value,
) -> Result<Item, Finding> {
    let (name, fields) = name_and_fields(upstream, definition)?;
    let (_, schemas) = pack(fields);
    let namespace = namespace_of(name, namespace);
    Ok(item(upstream, &namespace, Definition { name, fields, whole: definition, schemas }))
}

/// What one entry of a `tools/list` answer says, found to have a name.
pub(crate) struct Definition<'a> {
    pub(crate) name: &'a str,
    pub(crate) fields: &'a Map<String, Value>,
    pub(crate) whole: &'a Value,
    /// As `pack` gives them.
    pub(crate) schemas: [Option<Packed>; 2],
}

/// A definition as text, and within it the input and the output schema.
pub(crate) fn pack(fields: &Map<String, Value>) -> (Packed, [Option<Packed>; 2]) {
    Packed::with_parts(fields, ["inputSchema", "outputSchema"])
}

pub(crate) fn namespace_of(name: &str, configured: Option<&str>) -> String {
    configured.map_or_else(|| namespace::infer_namespace(name), namespace::normalise)
}

pub(crate) fn item(upstream: &UpstreamName, namespace: &str, definition: Definition<'_>) -> Item {
    let Definition { name, fields, whole, schemas: [input, output] } = definition;
    let (hints, mut findings) = hints::read(name, fields.get("annotations"));
    let description = description(name, fields, &mut findings);
    let version = version(name, fields, &mut findings);
    let input_schema = input_schema(name, fields, &mut findings);
    let shape_hash = names::shape_hash(name, &input_schema);
    let key = ItemKey { upstream: upstream.clone(), name: name.to_owned(), kind: ItemKind::Tool };
    let ids = names::render(&key, namespace, version, &shape_hash);
    Item {
        kind: ItemKind::Tool,
        key,
        ids,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        title: text(fields, "title").or(hints::title(fields)).map(str::to_owned),
        description,
        input_schema: match (input_schema, input) {
            (Cow::Borrowed(_), Some(input)) => input,
            (assumed, _) => assumed.as_ref().into(),
        },
        output_schema: output.filter(|_| output_schema(fields).is_some()),
        version: version.unwrap_or("1").to_owned(),
        tags: hints::tags("mcp", &hints),
        hints,
        effect: EffectClaim::UNLISTED,
        icons: fields.get("icons").and_then(Value::as_array).cloned().unwrap_or_default(),
        shape_hash,
        full_hash: canonical::hash(whole),
        findings,
    }
}

pub(crate) fn name_and_fields<'a>(
    upstream: &UpstreamName,
    definition: &'a Value,
) -> Result<(&'a str, &'a Map<String, Value>), Finding> {
    let refuse = |why: &str| {
        let message = format!("a tool of `{upstream}` was left out: {why}");
        Finding::new(Severity::Error, "definition_invalid", message)
    };
    let fields = definition.as_object().ok_or_else(|| refuse("its definition is not an object"))?;
    let name = text(fields, "name").ok_or_else(|| refuse("it has no name"))?;
    Ok((name, fields))
}

fn text<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    fields.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

/// MCP lets a tool go without description; a reader still needs a line (C34).
fn description(name: &str, fields: &Map<String, Value>, findings: &mut Vec<Finding>) -> String {
    if let Some(description) = text(fields, "description") {
        return description.to_owned();
    }
    let message = format!("`{name}` has no description; models will rarely choose it");
    findings.push(Finding::new(Severity::Warning, "description_missing", message));
    format!("MCP tool: {name}")
}

fn version<'a>(
    name: &str,
    fields: &'a Map<String, Value>,
    findings: &mut Vec<Finding>,
) -> Option<&'a str> {
    let version = fields.get("_meta")?.get("version")?;
    let legal = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let fits = |text: &&str| {
        (1..=limits::VERSION_CHARS_MAX).contains(&text.len()) && text.chars().all(legal)
    };
    let known = version.as_str().filter(fits);
    if known.is_none() {
        let shown = one_line(&version.to_string(), 40);
        let message = format!("`{name}` states the version `{shown}`, which is not one; ignored");
        findings.push(Finding::new(Severity::Info, "version_invalid", message));
    }
    known
}

/// What stands under `outputSchema`, if anything.
fn output_schema(fields: &Map<String, Value>) -> Option<&Value> {
    fields.get("outputSchema").filter(|schema| !schema.is_null())
}

fn input_schema<'a>(
    name: &str,
    fields: &'a Map<String, Value>,
    findings: &mut Vec<Finding>,
) -> Cow<'a, Value> {
    if let Some(schema) = fields.get("inputSchema").filter(|schema| !schema.is_null()) {
        return Cow::Borrowed(schema);
    }
    let message = format!("`{name}` has no input schema; any object is passed on");
    findings.push(Finding::new(Severity::Warning, "input_schema_missing", message));
    Cow::Owned(json!({"type": "object"}))
}

#[cfg(test)]
mod tests;
