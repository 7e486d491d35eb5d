//! Where the shared material lies. Its absence fails a test rather than skipping it in silence.

use std::path::PathBuf;

/// `TOOLGATE_SHARED`, or `shared` beside the workspace.
pub(crate) fn shared(path: &str) -> PathBuf {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
    let root =
        std::env::var_os("TOOLGATE_SHARED").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let found = root.join(path);
    assert!(
        found.exists(),
        "`{}` is missing: this test measures against it; set TOOLGATE_SHARED to the folder",
        found.display()
    );
    found
}
