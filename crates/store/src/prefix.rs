//! Ids as people type them: the beginning is enough while only one thing begins so.

use model::fault::{Code, Fault};

/// The first text after all that begin with `prefix`, in byte order.
pub(crate) fn end(prefix: &str) -> String {
    format!("{prefix}\u{10FFFF}")
}

/// The one id among those found, if there is any.
///
/// INVARIANT: `found` has at least two ids if more than one begins with `asked`.
pub(crate) fn only(asked: &str, mut found: Vec<String>) -> Result<Option<String>, Fault> {
    if found.len() > 1 {
        let message = format!("`{asked}` fits more than one id; give more of it");
        return Err(Fault::new(Code::ArgsInvalid, message).at(asked));
    }
    Ok(found.pop())
}
