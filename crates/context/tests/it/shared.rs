//! Where the shared material lies. What is missing is said aloud, and the test passes without it.

use std::path::PathBuf;

/// Below `TOOLGATE_SHARED`, or `shared` beside the workspace; `None` if it is not there.
#[expect(clippy::print_stderr, reason = "a test says what it leaves out")]
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
    let root =
        std::env::var_os("TOOLGATE_SHARED").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let found = root.join(path);
    if found.exists() {
        return Some(found);
    }
    eprintln!(
        "LEFT OUT: `{}` is missing, so nothing is measured against it; set TOOLGATE_SHARED",
        found.display()
    );
    None
}
