//! One tool of a generation: what it is, what it is called here, and whether a value fits it.

use std::sync::{Arc, OnceLock};

use manifest::{AdapterManifest, Capability};
use model::{Card, Code, Fault, Finding, Item, ItemKind, Packed, Severity, Violation};
use serde_json::Value;

use crate::cards::{self, Drawn, Form, Shape};
use crate::schema::{Schema, SchemaError};

/// A clone has the same compiled schemas and the same card.
#[derive(Clone, Debug)]
pub struct Entry {
    pub item: Item,
    definition: Packed,
    /// What clients see and send back. Unique in its generation.
    pub shown_name: String,
    pub protocol: &'static str,
    pub capability: Option<Capability>,
    /// `adapter_id@version` of the manifest in force.
    pub manifest: Option<String>,
    /// The manifest declares it, though it is no tool and so has no capability.
    pub declared: bool,
    input: Compiled,
    output: Compiled,
    /// Why it cannot be used.
    broken: Option<Finding>,
    held: Option<Finding>,
    shape: Shape,
    drawn: OnceLock<Box<Drawn>>,
}

/// Filled when the schema is first asked: a compiled one is many times the size of its text.
type Compiled = OnceLock<Result<Arc<Schema>, SchemaError>>;

impl Entry {
    /// `packed` is the definition as text.
    pub(crate) fn new(
        item: Item,
        definition: &Value,
        packed: Packed,
        protocol: &'static str,
    ) -> Self {
        let broken = judge(&item, definition).err();
        let schema = definition.get("inputSchema").filter(|_| item.kind == ItemKind::Tool);
        Self {
            definition: packed,
            shown_name: item.name.clone(),
            item,
            protocol,
            capability: None,
            manifest: None,
            declared: false,
            input: OnceLock::new(),
            output: OnceLock::new(),
            broken,
            held: None,
            shape: schema.map(Shape::of).unwrap_or_default(),
            drawn: OnceLock::new(),
        }
    }

    /// The upstream's definition, untouched.
    pub fn definition(&self) -> Value {
        self.definition.value()
    }

    /// Whether its definition is this very text.
    pub(crate) fn is_defined_by(&self, packed: &Packed) -> bool {
        self.definition == *packed
    }

    /// Takes note of whether a manifest declares this prompt or resource, known as `name`.
    pub(crate) fn declare(&mut self, manifest: Option<&AdapterManifest>, name: &str) {
        let manifest = manifest.filter(|manifest| manifest.declares(self.item.kind, name));
        self.declared = manifest.is_some();
        self.manifest = manifest.map(AdapterManifest::label);
    }

    /// Settles what clients call the tool, and how its card reads.
    pub(crate) fn christen(&mut self, wire: String, shown_name: String) {
        self.item.ids.wire = wire;
        self.shown_name = shown_name;
        self.drawn = OnceLock::new();
    }

    /// Why this tool is not listed and cannot be called, if so.
    pub fn quarantined(&self) -> Option<&Finding> {
        self.held.as_ref().or(self.broken.as_ref())
    }

    /// Keeps the tool from being listed and called until an operator has looked, or no longer.
    pub(crate) fn hold(&mut self, finding: Option<Finding>) {
        self.held = finding;
    }

    /// Why an operator must look first, if one must.
    pub(crate) fn held(&self) -> Option<&Finding> {
        self.held.as_ref()
    }

    /// The tool's card without a score: the same bytes as long as the generation lives.
    pub fn card(&self, form: Form) -> Card {
        cards::card(self, form)
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(crate) fn drawn(&self) -> &Drawn {
        self.drawn.get_or_init(|| Box::new(cards::draw(self)))
    }

    /// Whether the arguments fit the tool's input schema.
    pub fn check_input(&self, args: &Value) -> Result<(), Fault> {
        let unusable =
            |message: &str| Fault::new(Code::SchemaInvalid, message).at(&self.shown_name);
        if let Some(finding) = &self.broken {
            return Err(unusable(&finding.message));
        }
        let schema = self.input.get_or_init(|| compile(&self.item.input_schema));
        let schema = schema.as_ref().map_err(|error| unusable(&error.to_string()))?;
        schema.misfit(&self.shown_name, args).map_or(Ok(()), Err)
    }

    pub fn has_output_schema(&self) -> bool {
        self.broken.is_none() && self.item.output_schema.is_some()
    }

    /// How a structured answer breaks the tool's output schema; nothing where there is no schema.
    pub fn check_output(&self, structured: Option<&Value>) -> Vec<Violation> {
        if let Some(finding) = &self.broken {
            return vec![whole(&finding.message)];
        }
        match (&self.item.output_schema, structured) {
            (None, _) => Vec::new(),
            (Some(schema), Some(value)) => match self.output.get_or_init(|| compile(schema)) {
                Ok(schema) => schema.check(value),
                Err(error) => vec![whole(&error.to_string())],
            },
            (Some(_), None) => {
                vec![whole("structured content is missing although an output schema is declared")]
            }
        }
    }
}

/// Whether the schemas of a definition, of which the item was made, can be used.
fn judge(item: &Item, definition: &Value) -> Result<(), Finding> {
    let schemas = [
        ("input", "inputSchema", Some(&item.input_schema)),
        ("output", "outputSchema", item.output_schema.as_ref()),
    ];
    for (which, key, written) in schemas {
        let given = definition.get(key).filter(|schema| !schema.is_null());
        // What is assumed where a tool gives no schema is sound.
        let Some((schema, written)) = given.zip(written) else { continue };
        if item.kind == ItemKind::Tool {
            Schema::judge(schema, written.as_str().len()).map_err(|error| {
                let key = &item.key;
                let message =
                    format!("`{key}` cannot be used, its {which} schema is invalid: {error}");
                Finding::new(Severity::Error, "schema_invalid", message)
            })?;
        }
    }
    Ok(())
}

fn compile(schema: &Packed) -> Result<Arc<Schema>, SchemaError> {
    Schema::compile(&schema.value()).map(Arc::new)
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
