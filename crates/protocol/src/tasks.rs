//! A task in the words of either design: that of 2025-11-25, and the extension of 2026-07-28.

use serde_json::{Map, Value};

use crate::revision::Revision;

/// The extension, as clients and servers of 2026-07-28 declare it.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// Under which news belong to what was listened for.
pub const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The fields that have another name, older first.
const RENAMED: [(&str, &str); 2] = [("ttl", "ttlMs"), ("pollInterval", "pollIntervalMs")];

/// A task as a server of 2026-07-28 hands it out.
pub fn as_modern(task: &Map<String, Value>) -> Map<String, Value> {
    let mut told = renamed(task, |(old, new)| (old, new));
    told.insert("resultType".to_owned(), "task".into());
    told
}

/// A task as a server of 2025-11-25 tells of it. What came of it is asked for there.
pub fn as_legacy(task: &Map<String, Value>) -> Map<String, Value> {
    let mut told = renamed(task, |(old, new)| (new, old));
    for key in ["resultType", "result", "error", "inputRequests", "requestState"] {
        told.shift_remove(key);
    }
    told.entry("ttl").or_insert(Value::Null);
    told
}

/// News of a task for a client: under which name, and what is said.
pub fn news(revision: Revision, task: &Map<String, Value>) -> (&'static str, Map<String, Value>) {
    let mut told =
        if revision.is_modern() { renamed(task, |(old, new)| (old, new)) } else { as_legacy(task) };
    // What the gate listened under is nothing to its clients.
    if let Some(Value::Object(meta)) = told.get_mut("_meta") {
        meta.shift_remove(SUBSCRIPTION);
        if meta.is_empty() {
            told.shift_remove("_meta");
        }
    }
    (if revision.is_modern() { NEWS } else { LEGACY_NEWS }, told)
}

const NEWS: &str = "notifications/tasks";
const LEGACY_NEWS: &str = "notifications/tasks/status";

fn renamed<'n>(
    task: &Map<String, Value>,
    way: impl Fn((&'n str, &'n str)) -> (&'n str, &'n str),
) -> Map<String, Value> {
    let name = |key: &String| {
        let found = RENAMED.into_iter().map(&way).find(|(from, _)| from == key);
        found.map_or_else(|| key.clone(), |(_, to)| to.to_owned())
    };
    task.iter().map(|(key, value)| (name(key), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Whoever said it, each client hears it in its own words.
    #[test]
    fn news_of_a_task_are_in_the_words_of_the_client() {
        let old = json!({"taskId": "7", "status": "completed", "ttl": 60, "pollInterval": 5});
        let new = json!({"taskId": "7", "status": "completed", "ttlMs": 60, "pollIntervalMs": 5});
        let with = |task: &Value, more: Value| {
            let mut task = task.as_object().cloned().unwrap();
            task.extend(more.as_object().cloned().unwrap());
            task
        };
        let said = json!({"result": {"content": []}, "_meta": {SUBSCRIPTION: 3, "a/b": 1}});
        let check = |revision: Revision, said: &Map<String, Value>, method: &str, told: Value| {
            assert_eq!(news(revision, said), (method, told.as_object().cloned().unwrap()));
        };
        let (legacy, modern) = (Revision::V2025_11_25, Revision::V2026_07_28);
        let none = || json!({});
        check(legacy, &with(&old, none()), LEGACY_NEWS, old.clone());
        check(modern, &with(&old, none()), NEWS, new.clone());
        check(modern, &with(&new, none()), NEWS, new.clone());
        let kept = json!({"_meta": {"a/b": 1}});
        check(legacy, &with(&new, said.clone()), LEGACY_NEWS, with(&old, kept).into());
        let all = json!({"result": {"content": []}, "_meta": {"a/b": 1}});
        check(modern, &with(&new, said), NEWS, with(&new, all).into());
    }
}
