//! Why a manifest cannot be used. Each message says where, and what to do.

/// The first thing wrong with a manifest. `at` is a path such as `capabilities[0].tool`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    #[error("the manifest is not JSON: {0}")]
    NotJson(String),
    #[error("unknown key `{key}` in {}{}", place(.at), hint(.nearest.as_deref()))]
    UnknownKey { at: String, key: String, nearest: Option<String> },
    #[error("in {}: {message}", place(.at))]
    Invalid { at: String, message: String },
    #[error("`{at}` repeats the capability id `{id}`; give each capability its own")]
    DuplicateCapability { at: String, id: String },
    #[error(
        "`{at}` binds the tool `{tool}`, which `{other}` already binds; \
         one tool has one capability"
    )]
    ToolBoundTwice { at: String, tool: String, other: String },
    #[error("`{at}` belongs to the adapter `{stated}`, not to `{adapter_id}`; move or correct it")]
    OtherAdapter { at: String, stated: String, adapter_id: String },
}

impl ManifestError {
    /// Where it is wrong; empty where only the whole can be named.
    pub fn at(&self) -> &str {
        match self {
            Self::NotJson(_) => "",
            Self::UnknownKey { at, .. }
            | Self::Invalid { at, .. }
            | Self::DuplicateCapability { at, .. }
            | Self::ToolBoundTwice { at, .. }
            | Self::OtherAdapter { at, .. } => at,
        }
    }
}

fn place(at: &str) -> String {
    if at.is_empty() { "the manifest".to_owned() } else { format!("`{at}`") }
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |key| format!("; did you mean `{key}`?"))
}
