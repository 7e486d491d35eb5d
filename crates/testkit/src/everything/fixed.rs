//! What is the same on every request: the lists and the answers in the JSON files beside this one,
//! and how a list is cut into pages.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, PaginatedRequestParams, Prompt, Resource, Tool};
use serde_json::Value;

pub(super) static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| read(include_str!("tools.json")));

pub(super) static PROMPTS: LazyLock<Vec<Prompt>> =
    LazyLock::new(|| read(include_str!("prompts.json")));

pub(super) static RESOURCES: LazyLock<Vec<Resource>> =
    LazyLock::new(|| read(include_str!("resources.json")));

/// What the tools that always answer the same answer.
pub(super) static ANSWERS: LazyLock<BTreeMap<String, CallToolResult>> =
    LazyLock::new(|| read(include_str!("answers.json")));

/// The results of the prompts, with `{argument}` where an argument goes.
pub(super) static MESSAGES: LazyLock<BTreeMap<String, Value>> =
    LazyLock::new(|| read(include_str!("messages.json")));

/// The page that the cursor points to, and the cursor of the next; a cursor is the index of the
/// first item.
pub(super) fn page<T: Clone>(
    items: &[T],
    request: Option<PaginatedRequestParams>,
    size: usize,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let start = match request.and_then(|request| request.cursor) {
        None => 0,
        Some(cursor) => {
            cursor.parse().ok().filter(|start| *start < items.len()).ok_or_else(|| {
                ErrorData::invalid_params(format!("`{cursor}` is no cursor of this list"), None)
            })?
        }
    };
    let end = start.saturating_add(size).min(items.len());
    let next = (end < items.len()).then(|| end.to_string());
    Ok((items[start..end].to_vec(), next))
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).expect("the file beside this one is good")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cursor: Option<&str>, expected: Option<(&[u32], Option<&str>)>) {
        let request = cursor
            .map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor.to_owned())));
        let page = page(&[1, 2, 3, 4, 5], request, 2).ok();
        let expected = expected.map(|(items, next)| (items.to_vec(), next.map(ToOwned::to_owned)));
        assert_eq!(page, expected, "cursor {cursor:?}");
    }

    #[test]
    fn a_cursor_leads_from_page_to_page() {
        check(None, Some((&[1, 2], Some("2"))));
        check(Some("2"), Some((&[3, 4], Some("4"))));
        check(Some("4"), Some((&[5], None)));
    }

    #[test]
    fn a_cursor_that_was_not_given_out_is_refused() {
        check(Some("5"), None);
        check(Some("two"), None);
    }
}
