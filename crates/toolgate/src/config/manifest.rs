//! Manifests and bindings are read by the rules of configuration files: YAML or JSON, no key twice,
//! and a mistake names its line. What they mean is the crate `manifest`'s knowledge.

use manifest::{AdapterManifest, Binding, BindingError, SchemaLook};
use serde::Deserialize as _;
use serde_json::Value;

use super::node::Node;
use super::parse::{FILE_BYTES_MAX, parse};
use super::problem::{Place, Problem};

/// A manifest that still knows where everything stood.
pub(crate) struct ManifestFile {
    pub(crate) manifest: AdapterManifest,
    file: String,
    tree: Node,
}

impl ManifestFile {
    pub(crate) fn read(file: &str, text: &str) -> Result<Self, Problem> {
        let (tree, value) = tree(file, text, "manifest")?;
        match manifest::from_value(value) {
            Ok(manifest) => Ok(Self { manifest, file: file.to_owned(), tree }),
            Err(error) => Err(problem(file, Some(place(&tree, error.at())), error.to_string())),
        }
    }

    /// The line of a path such as `capabilities[0].tool`, or of what stands around it.
    pub(crate) fn line(&self, at: &str) -> usize {
        place(&self.tree, at).line
    }

    /// Takes a binding in, or says all in which the two differ.
    pub(crate) fn bind(&mut self, binding: &BindingFile) -> Result<(), Vec<Unbound>> {
        let bound = self.manifest.bind(binding.binding.clone());
        bound.map_err(|errors| {
            let unbound = errors.iter().map(|error| self.unbound(binding, error));
            unbound.collect()
        })
    }

    /// Pins the schemas that references lead to, by `look`. Those there is nowhere to look for are left
    /// as they are.
    pub(crate) fn pin(
        &mut self,
        look: impl Fn(&str) -> Result<SchemaLook, String>,
    ) -> Result<(), Problem> {
        let mut found = Vec::new();
        for used in self.manifest.schema_refs() {
            let refuse =
                |why: String| problem(&self.file, Some(place(&self.tree, &used.at())), why);
            let looked = look(used.reference).map_err(refuse)?;
            let (file, hash) = match looked {
                SchemaLook::Found { file, hash } => (file, hash),
                SchemaLook::Nowhere(_) => continue,
                // Not as if it were unpinned: whoever removes a file would free the tool.
                SchemaLook::Missing { file } => {
                    let reference = used.reference;
                    return Err(refuse(format!(
                        "`{reference}` leads to `{file}`, which is not there; write it or correct \
                         the reference"
                    )));
                }
            };
            let stated = used.capability.schema_pins.of(used.side);
            if stated.is_some_and(|stated| stated != hash) {
                return Err(refuse(format!(
                    "`{file}` has the hash {hash}, and `schema_pins` another; review the file and \
                     write its hash, or leave that out"
                )));
            }
            found.push((used.index, used.side, hash));
        }
        for (index, side, hash) in found {
            if let Some(capability) = self.manifest.capabilities.get_mut(index) {
                capability.schema_pins.set(side, hash);
            }
        }
        Ok(())
    }

    fn unbound(&self, binding: &BindingFile, error: &BindingError) -> Unbound {
        let at = binding.tree.place_of(error.keys());
        let message = match error {
            BindingError::Differs { index, .. } => {
                let capability = self.tree.get("capabilities").and_then(|all| all.item(*index));
                let line = capability.unwrap_or(&self.tree).place_of(error.keys()).line;
                format!("{error} ({}:{line})", self.file)
            }
            _ => format!("{error} ({})", self.file),
        };
        Unbound { rule: error.rule(), problem: problem(&binding.file, Some(at), message) }
    }
}

/// A binding that still knows where everything stood.
pub(crate) struct BindingFile {
    pub(crate) binding: Binding,
    file: String,
    tree: Node,
}

impl BindingFile {
    pub(crate) fn read(file: &str, text: &str) -> Result<Self, Problem> {
        let (tree, value) = tree(file, text, "binding")?;
        match Binding::from_value(value) {
            Ok(binding) => Ok(Self { binding, file: file.to_owned(), tree }),
            Err(error) => Err(problem(file, Some(place(&tree, error.at())), error.to_string())),
        }
    }
}

/// One way in which a binding does not go with its manifest.
#[derive(Debug)]
pub(crate) struct Unbound {
    pub(crate) rule: &'static str,
    pub(crate) problem: Problem,
}

fn tree(file: &str, text: &str, what: &str) -> Result<(Node, Value), Problem> {
    if text.len() > FILE_BYTES_MAX {
        let message = format!("a {what} has at most {FILE_BYTES_MAX} bytes");
        return Err(problem(file, None, message));
    }
    let tree = parse(text).map_err(|(at, message)| problem(file, Some(at), message))?;
    let none = || problem(file, None, format!("there is no {what} in it"));
    let tree = tree.ok_or_else(none)?;
    let value =
        Value::deserialize(&tree).map_err(|error| problem(file, None, error.to_string()))?;
    Ok((tree, value))
}

fn problem(file: &str, at: Option<Place>, message: String) -> Problem {
    Problem {
        file: file.to_owned(),
        line: at.map(|at| at.line),
        column: at.map(|at| at.column),
        message,
    }
}

fn place(tree: &Node, at: &str) -> Place {
    let path: Vec<&str> = at.split(['.', '[', ']']).filter(|name| !name.is_empty()).collect();
    tree.place(&path)
}
