//! References of capabilities to schemas: where they lead, and the hashes by which what was found
//! there is known again. Files are read elsewhere.

use model::canonical;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::adapter::AdapterManifest;
use crate::capability::Capability;

/// The hashes of the schemas a tool must have (CO-80, CO-81).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SchemaPins {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

impl SchemaPins {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn of(&self, side: SchemaSide) -> Option<&str> {
        match side {
            SchemaSide::Input => self.input.as_deref(),
            SchemaSide::Output => self.output.as_deref(),
        }
    }

    pub fn set(&mut self, side: SchemaSide, hash: String) {
        match side {
            SchemaSide::Input => self.input = Some(hash),
            SchemaSide::Output => self.output = Some(hash),
        }
    }
}

/// Which of the two schemas of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaSide {
    Input,
    Output,
}

impl SchemaSide {
    pub const ALL: [Self; 2] = [Self::Input, Self::Output];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }

    /// The key of a capability that refers to it.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Input => "input_schema_ref",
            Self::Output => "output_schema_ref",
        }
    }

    /// The schema in a definition, as an upstream lists it.
    pub fn listed(self, definition: &Value) -> Option<&Value> {
        let key = match self {
            Self::Input => "inputSchema",
            Self::Output => "outputSchema",
        };
        definition.get(key).filter(|schema| !schema.is_null())
    }
}

/// Where a reference leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaRef {
    /// `schema://NAME`: a file of the folder of schemas.
    Named(String),
    /// A path from the folder of the manifest.
    File(String),
    /// An address, which nobody follows.
    Elsewhere,
}

impl SchemaRef {
    /// Reads a reference; one that leads out of its folder is none.
    pub fn read(text: &str) -> Option<Self> {
        match text.strip_prefix("schema://") {
            Some(name) => is_inside(name).then(|| Self::Named(format!("{name}.json"))),
            None if text.contains("://") || text.starts_with("urn:") => Some(Self::Elsewhere),
            None => is_inside(text).then(|| Self::File(text.to_owned())),
        }
    }
}

/// One reference of a manifest.
#[derive(Clone, Copy, Debug)]
pub struct SchemaUse<'a> {
    /// The place of its capability in the manifest.
    pub index: usize,
    pub capability: &'a Capability,
    pub side: SchemaSide,
    pub reference: &'a str,
}

impl SchemaUse<'_> {
    /// A path such as `capabilities[0].input_schema_ref`.
    pub fn at(&self) -> String {
        format!("capabilities[{}].{}", self.index, self.side.key())
    }
}

impl AdapterManifest {
    /// Every reference to a schema, in the order of the manifest.
    pub fn schema_refs(&self) -> impl Iterator<Item = SchemaUse<'_>> {
        self.capabilities.iter().enumerate().flat_map(|(index, capability)| {
            SchemaSide::ALL.into_iter().filter_map(move |side| {
                let reference = match side {
                    SchemaSide::Input => capability.input_schema_ref.as_deref()?,
                    SchemaSide::Output => capability.output_schema_ref.as_deref()?,
                };
                Some(SchemaUse { index, capability, side, reference })
            })
        })
    }
}

impl Capability {
    /// The schemas of a definition that are not those pinned.
    pub fn departing(&self, definition: &Value) -> impl Iterator<Item = SchemaSide> {
        SchemaSide::ALL.into_iter().filter(move |side| {
            let pin = self.schema_pins.of(*side);
            pin.is_some_and(|pin| {
                side.listed(definition).map(canonical::hash).as_deref() != Some(pin)
            })
        })
    }
}

fn is_inside(path: &str) -> bool {
    let odd = |c: char| c.is_control() || matches!(c, '\\' | ':');
    let plain = |part: &str| !part.is_empty() && part != ".." && !part.contains(odd);
    path.split('/').all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CO-80, CO-81: a reference names a file below its folder, or nothing.
    #[test]
    fn a_reference_stays_in_its_folder() {
        let check = |text: &str, expected: Option<SchemaRef>| {
            assert_eq!(SchemaRef::read(text), expected, "{text}");
        };
        let named = |file: &str| Some(SchemaRef::Named(file.to_owned()));
        let file = |file: &str| Some(SchemaRef::File(file.to_owned()));
        check("schema://a.input.v1", named("a.input.v1.json"));
        check("schema://pay/a.v1", named("pay/a.v1.json"));
        check("a.json", file("a.json"));
        check("./shapes/a.json", file("./shapes/a.json"));
        check("https://example.com/a.json", Some(SchemaRef::Elsewhere));
        check("urn:a", Some(SchemaRef::Elsewhere));
        for out in ["schema://../a", "schema:///etc/a", "schema://", "../a.json", "/etc/a.json"] {
            check(out, None);
        }
        for odd in ["a/../../b", "C:\\a.json", "schema://a\\b", "schema://a\0", "", "a//b"] {
            check(odd, None);
        }
    }
}
