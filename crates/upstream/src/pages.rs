//! Follows the pages of a list: all of them, up to a bound, never in a circle.

use model::{Code, Fault, Listed, limits};
use protocol::peer;
use serde_json::Value;

/// A list in the making. Ask for [`Pages::wanted`] until nothing is.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) items: Vec<Value>,
    what: Listed,
    next: Next,
    count: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Next {
    First,
    After(String),
    Done,
}

impl Pages {
    pub(crate) fn new(what: Listed) -> Self {
        Self { items: Vec::new(), what, next: Next::First, count: 0 }
    }

    /// The cursor to ask with; none within means the first page.
    #[expect(
        clippy::option_option,
        reason = "no page wanted, first page wanted, page after a cursor"
    )]
    pub(crate) fn wanted(&self) -> Option<Option<String>> {
        match &self.next {
            Next::First => Some(None),
            Next::After(cursor) => Some(Some(cursor.clone())),
            Next::Done => None,
        }
    }

    pub(crate) fn take(&mut self, page: Value) -> Result<(), Fault> {
        let (mut items, cursor) = peer::page(self.what, page)?;
        self.items.append(&mut items);
        self.count += 1;
        let next = cursor.map_or(Next::Done, Next::After);
        if next == self.next {
            return Err(self.broken("repeats a page"));
        }
        if self.count >= limits::LIST_PAGES_MAX && next != Next::Done {
            return Err(self.broken("has too many pages"));
        }
        self.next = next;
        Ok(())
    }

    fn broken(&self, why: &str) -> Fault {
        Fault::new(Code::UpstreamError, format!("the upstream's `{}` {why}", self.what.method()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn collect(answer: impl Fn(Option<&str>) -> Value) -> Result<Vec<Value>, Fault> {
        let mut pages = Pages::new(Listed::Tools);
        while let Some(cursor) = pages.wanted() {
            pages.take(answer(cursor.as_deref()))?;
        }
        Ok(pages.items)
    }

    #[test]
    fn all_pages_are_followed() {
        let tools = collect(|cursor| match cursor {
            None => json!({"tools": [1], "nextCursor": ""}),
            Some("") => json!({"tools": [2], "nextCursor": "b"}),
            Some(_) => json!({"tools": [3]}),
        });
        assert_eq!(tools.unwrap(), [json!(1), json!(2), json!(3)]);
    }

    #[test]
    fn an_endless_list_is_refused() {
        let circle = collect(|_| json!({"tools": [], "nextCursor": "a"})).unwrap_err();
        assert!(circle.message.contains("repeats"), "{circle}");
        let longer = |cursor: Option<&str>| format!("{}x", cursor.unwrap_or_default());
        let endless =
            collect(|cursor| json!({"tools": [], "nextCursor": longer(cursor)})).unwrap_err();
        assert!(endless.message.contains("too many pages"), "{endless}");
    }
}
