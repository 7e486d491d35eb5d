//! One tool of a generation: what it is, what it is called here, and whether a value fits it.

use std::sync::OnceLock;

use manifest::Capability;
use model::{Card, Code, Fault, Finding, Item, Severity, Violation};
use serde_json::Value;

use crate::cards;
use crate::schema::{Schema, SchemaError};

#[derive(Debug)]
pub struct Entry {
    pub item: Item,
    /// The upstream's definition, untouched.
    pub definition: Value,
    /// What clients see and send back. Unique in its generation.
    pub shown_name: String,
    pub protocol: &'static str,
    pub capability: Option<Capability>,
    /// `adapter_id@version` of the manifest in force.
    pub manifest: Option<String>,
    schemas: Result<Schemas, Finding>,
    held: Option<Finding>,
    card: OnceLock<Card>,
}

#[derive(Debug)]
struct Schemas {
    input: Schema,
    output: Option<Schema>,
}

impl Entry {
    pub(crate) fn new(item: Item, definition: Value, protocol: &'static str) -> Self {
        let schemas = compile(&item);
        let shown_name = item.name.clone();
        Self {
            item,
            definition,
            shown_name,
            protocol,
            capability: None,
            manifest: None,
            schemas,
            held: None,
            card: OnceLock::new(),
        }
    }

    /// Settles what clients call the tool, and how its card reads.
    pub(crate) fn christen(&mut self, wire: String, shown_name: String) {
        self.item.ids.wire = wire;
        self.shown_name = shown_name;
        self.card = OnceLock::from(cards::draw(self));
    }

    /// Why this tool is not listed and cannot be called, if so.
    pub fn quarantined(&self) -> Option<&Finding> {
        self.held.as_ref().or(self.schemas.as_ref().err())
    }

    /// Keeps the tool from being listed and called until an operator has looked.
    pub(crate) fn hold(&mut self, finding: Finding) {
        self.held = Some(finding);
    }

    /// The tool's card without a score: the same bytes as long as the generation lives.
    pub fn card(&self) -> &Card {
        self.card.get_or_init(|| cards::draw(self))
    }

    /// Whether the arguments fit the tool's input schema.
    pub fn check_input(&self, args: &Value) -> Result<(), Fault> {
        let schemas = self.schemas.as_ref().map_err(|finding| {
            Fault::new(Code::SchemaInvalid, &finding.message).at(&self.shown_name)
        })?;
        let violations = schemas.input.check(args);
        let Some(first) = violations.first() else { return Ok(()) };
        let place = if first.instance_path.is_empty() { "/" } else { &first.instance_path };
        let message = format!("arguments do not fit at `{place}`: {}", first.message);
        Err(Fault::new(Code::ArgsInvalid, message).at(&self.shown_name).violating(violations))
    }

    pub fn has_output_schema(&self) -> bool {
        self.schemas.as_ref().is_ok_and(|schemas| schemas.output.is_some())
    }

    /// How a structured answer breaks the tool's output schema; nothing where there is no schema.
    pub fn check_output(&self, structured: Option<&Value>) -> Vec<Violation> {
        let output = match &self.schemas {
            Ok(schemas) => schemas.output.as_ref(),
            Err(finding) => return vec![whole(&finding.message)],
        };
        match (output, structured) {
            (None, _) => Vec::new(),
            (Some(schema), Some(value)) => schema.check(value),
            (Some(_), None) => {
                vec![whole("structured content is missing although an output schema is declared")]
            }
        }
    }
}

fn compile(item: &Item) -> Result<Schemas, Finding> {
    let broken = |which: &'static str| {
        move |error: SchemaError| {
            let message =
                format!("`{}` cannot be used, its {which} schema is invalid: {error}", item.key);
            Finding::new(Severity::Error, "schema_invalid", message)
        }
    };
    let input = Schema::compile(&item.input_schema).map_err(broken("input"))?;
    let output = item.output_schema.as_ref().map(Schema::compile).transpose();
    Ok(Schemas { input, output: output.map_err(broken("output"))? })
}

fn whole(message: &str) -> Violation {
    Violation {
        instance_path: String::new(),
        schema_path: String::new(),
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests;
