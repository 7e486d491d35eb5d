//! Follows the pages of a list: all of them, up to a bound, never in a circle.

use std::collections::BTreeSet;
use std::io;

use model::limits::LIST_PAGES_MAX;
use model::{Code, Fault, Listed};
use protocol::peer;
use serde_json::Value;

use crate::limits;

/// What is left for everything one upstream lists.
#[derive(Debug)]
pub(crate) struct Room {
    items: usize,
    bytes: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { items: limits::LISTED_ITEMS_MAX, bytes: limits::LISTED_BYTES_MAX }
    }
}

/// A list in the making. Ask for [`Pages::wanted`] until nothing is.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) items: Vec<Value>,
    what: Listed,
    next: Next,
    /// Cursors asked with so far, one for each page but the first.
    seen: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq)]
enum Next {
    First,
    After(String),
    Done,
}

impl Pages {
    pub(crate) fn new(what: Listed) -> Self {
        Self { items: Vec::new(), what, next: Next::First, seen: BTreeSet::new() }
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

    pub(crate) fn take(&mut self, page: Value, room: &mut Room) -> Result<(), Fault> {
        let (mut items, cursor) = peer::page(self.what, page)?;
        room.items = room.items.checked_sub(items.len()).ok_or_else(|| self.too_much())?;
        room.bytes = room.bytes.checked_sub(written(&items)).ok_or_else(|| self.too_much())?;
        self.items.append(&mut items);
        let Some(cursor) = cursor else {
            self.next = Next::Done;
            return Ok(());
        };
        if !self.seen.insert(cursor.clone()) {
            return Err(self.broken("repeats a page"));
        }
        if self.seen.len() >= LIST_PAGES_MAX {
            return Err(self.broken("has too many pages"));
        }
        self.next = Next::After(cursor);
        Ok(())
    }

    fn too_much(&self) -> Fault {
        let (items, bytes) = (limits::LISTED_ITEMS_MAX, limits::LISTED_BYTES_MAX);
        self.broken(&format!("goes beyond {items} items or {bytes} bytes in all"))
    }

    fn broken(&self, why: &str) -> Fault {
        Fault::new(Code::UpstreamError, format!("the upstream's `{}` {why}", self.what.method()))
    }
}

/// How long they are as JSON.
fn written(items: &[Value]) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // What cannot be written cannot be sized either.
    serde_json::to_writer(&mut count, items).map_or(usize::MAX, |()| count.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn collect(answer: impl Fn(Option<&str>) -> Value) -> Result<Vec<Value>, Fault> {
        let mut pages = Pages::new(Listed::Tools);
        let mut room = Room::default();
        while let Some(cursor) = pages.wanted() {
            pages.take(answer(cursor.as_deref()), &mut room)?;
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
        let longer = |cursor: Option<&str>| format!("{}x", cursor.unwrap_or_default());
        let check = |why: &str, answer: &dyn Fn(Option<&str>) -> Value| {
            let fault = collect(answer).unwrap_err();
            assert!(fault.message.contains(why), "{fault}");
        };
        check("repeats a page", &|_| json!({"tools": [], "nextCursor": "a"}));
        check(
            "repeats a page",
            &|cursor| json!({"tools": [], "nextCursor": if cursor == Some("a") { "b" } else { "a" }}),
        );
        check("too many pages", &|cursor| json!({"tools": [], "nextCursor": longer(cursor)}));
        let megabyte = "x".repeat(1 << 20);
        check(
            "bytes in all",
            &|cursor| json!({"tools": [{"name": megabyte}], "nextCursor": longer(cursor)}),
        );
        let many = vec![json!(1); 1_000];
        check("items or", &|cursor| json!({"tools": many, "nextCursor": longer(cursor)}));
    }

    #[test]
    fn all_lists_of_an_upstream_share_one_room() {
        let mut room = Room::default();
        let half = vec![json!(1); limits::LISTED_ITEMS_MAX / 2 + 1];
        let mut take = |what: Listed| {
            Pages::new(what).take(
                Value::Object([(what.key().into(), json!(half))].into_iter().collect()),
                &mut room,
            )
        };
        assert!(take(Listed::Tools).is_ok());
        assert!(take(Listed::Prompts).is_err());
    }
}
