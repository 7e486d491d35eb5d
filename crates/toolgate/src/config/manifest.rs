//! Manifests are read by the rules of configuration files: YAML or JSON, no key twice, and a mistake
//! names its line. What a manifest means is the crate `manifest`'s knowledge.

use manifest::AdapterManifest;
use serde::Deserialize as _;
use serde_json::Value;

use super::node::Node;
use super::parse::{FILE_BYTES_MAX, parse};
use super::problem::{Place, Problem};

/// A manifest that still knows where everything stood.
pub(crate) struct ManifestFile {
    pub(crate) manifest: AdapterManifest,
    tree: Node,
}

impl ManifestFile {
    pub(crate) fn read(file: &str, text: &str) -> Result<Self, Problem> {
        let problem = |at: Option<Place>, message: String| Problem {
            file: file.to_owned(),
            line: at.map(|at| at.line),
            column: at.map(|at| at.column),
            message,
        };
        if text.len() > FILE_BYTES_MAX {
            let message = format!("a manifest has at most {FILE_BYTES_MAX} bytes");
            return Err(problem(None, message));
        }
        let tree = parse(text).map_err(|(at, message)| problem(Some(at), message))?;
        let tree = tree.ok_or_else(|| problem(None, "there is no manifest in it".to_owned()))?;
        let value = Value::deserialize(&tree).map_err(|error| problem(None, error.to_string()))?;
        match manifest::from_value(value) {
            Ok(manifest) => Ok(Self { manifest, tree }),
            Err(error) => Err(problem(Some(place(&tree, error.at())), error.to_string())),
        }
    }

    /// The line of a path such as `capabilities[0].tool`, or of what stands around it.
    pub(crate) fn line(&self, at: &str) -> usize {
        place(&self.tree, at).line
    }
}

fn place(tree: &Node, at: &str) -> Place {
    let path: Vec<&str> = at.split(['.', '[', ']']).filter(|name| !name.is_empty()).collect();
    tree.place(&path)
}
