//! Folders a client names, and those of them that an upstream may hear of. Knowing of a folder is no
//! leave to read in it: every call is judged all the same.

use manifest::Sandbox;
use serde_json::Value;

/// Leaves out what lies outside the folders its manifest declares.
pub(super) fn within(mut said: Value, sandbox: Option<&Sandbox>, open: bool) -> Value {
    let Some(roots) = said.get_mut("roots").and_then(Value::as_array_mut) else { return said };
    match sandbox {
        Some(Sandbox { fs_read, fs_write, .. }) => roots.retain(|root| {
            let uri = root.get("uri").and_then(Value::as_str).unwrap_or_default();
            fs_read.iter().chain(fs_write).any(|folder| lies_in(uri, folder))
        }),
        None if open => {}
        None => roots.clear(),
    }
    said
}

/// Whether a `file://` address lies in a folder. What is spelled oddly lies nowhere.
fn lies_in(uri: &str, folder: &str) -> bool {
    let Some(path) = uri.strip_prefix("file://") else { return false };
    let odd = path.contains(['%', '\\', '?', '#']) || path.split('/').any(|part| part == "..");
    let folder = folder.trim_end_matches('*').trim_end_matches('/');
    let below = path.strip_prefix(folder);
    !odd && path.starts_with('/')
        && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// CO-27: what a client gives is at most what the operator declared.
    #[test]
    fn only_declared_folders_are_named() {
        let sandbox = Sandbox {
            fs_read: vec!["/workspace".to_owned()],
            fs_write: vec!["/tmp/out/*".to_owned()],
            ..Sandbox::default()
        };
        let check = |uri: &str, passes: bool| {
            let said = json!({"roots": [{"uri": uri, "name": "r"}]});
            let left = within(said, Some(&sandbox), true);
            assert_eq!(left["roots"].as_array().unwrap().len(), usize::from(passes), "{uri}");
        };
        check("file:///workspace", true);
        check("file:///workspace/app", true);
        check("file:///tmp/out", true);
        check("file:///workspaces", false);
        check("file:///", false);
        check("file:///workspace/../etc", false);
        check("file:///workspace/%2e%2e/etc", false);
        check("https://workspace/", false);
        let all = json!({"roots": [{"uri": "file:///home"}]});
        assert_eq!(within(all.clone(), None, true), all);
        assert_eq!(within(all, None, false), json!({"roots": []}));
    }
}
