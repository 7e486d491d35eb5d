//! The bounds of this crate.

/// Operations of one document.
pub(crate) const OPERATIONS_MAX: usize = 5_000;
/// References followed from one place before it must be something else.
pub(crate) const REF_CHAIN_MAX: usize = 16;
/// Nesting of one schema once its references are written out.
pub(crate) const SCHEMA_DEPTH_MAX: usize = 32;
/// Schemas of one operation once its references are written out; beyond it they are cut short.
pub(crate) const SCHEMA_NODES_MAX: usize = 2_000;
/// A tool's name, as the strictest clients want it.
pub(crate) const NAME_CHARS_MAX: usize = 64;
/// One planned address.
pub(crate) const URL_BYTES_MAX: usize = 8_192;
/// How often an argument is unescaped while looking for a way up the path.
pub(crate) const UNESCAPE_ROUNDS_MAX: usize = 4;
/// What is shown of the body of a failed response.
pub(crate) const EXCERPT_CHARS_MAX: usize = 2_000;
