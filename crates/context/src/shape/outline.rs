//! A JSON value in short: what is in it and how many, then whole items of its longest list.

use model::Selector;

use super::excerpt::Section;
use super::sketch::Sketch;
use crate::limits::NAME_CHARS_MAX;
use crate::tokens::estimate;

/// Half of the room at most for the outline, the rest for items.
pub(super) fn outline(sketch: &Sketch, room: usize) -> (Vec<Section>, Option<Selector>) {
    let body = described(sketch, room / 2);
    let left = room.saturating_sub(estimate(&body));
    let mut sections = vec![Section { title: "[outline]".to_owned(), body }];
    let next = match sketch.longest_list() {
        None => Selector::JsonKeys { pointer: String::new(), keys: Vec::new(), offset: 0 },
        Some((pointer, count, first)) => {
            let (items, shown) = fitting(first, left);
            let place = if pointer.is_empty() { String::new() } else { format!(" at {pointer}") };
            if shown > 0 {
                let title = format!("[items 1 to {shown} of {count}{place}]");
                sections.push(Section { title, body: items });
            }
            Selector::Rows {
                start: shown + 1,
                end: (shown + 20).min(count.max(shown + 1)),
                pointer,
            }
        }
    };
    (sections, Some(next))
}

fn fitting(items: &[String], room: usize) -> (String, usize) {
    let mut left = room;
    let (mut text, mut count) = (String::new(), 0);
    for item in items {
        let Some(less) = left.checked_sub(estimate(item) + 1) else { break };
        left = less;
        text.push_str(item);
        text.push('\n');
        count += 1;
    }
    (text, count)
}

/// One line for each field, as many as fit; the last line tells how many more there are.
fn described(sketch: &Sketch, room: usize) -> String {
    let Sketch::Object { count, fields } = sketch else { return format!("{}\n", brief(sketch)) };
    let mut lines = vec![format!("an object of {count}:\n")];
    let mut left = room.saturating_sub(12);
    for (key, field) in fields {
        let line = format!("  {}: {}\n", name(key), brief(field));
        let Some(less) = left.checked_sub(estimate(&line)) else { break };
        left = less;
        lines.push(line);
    }
    let unshown = count + 1 - lines.len();
    if unshown > 0 {
        lines.push(format!("  and {unshown} more\n"));
    }
    lines.concat()
}

fn brief(sketch: &Sketch) -> String {
    match sketch {
        Sketch::Scalar(value) => match value.to_string() {
            text if text.chars().count() <= 2 * NAME_CHARS_MAX => text,
            text => format!("a text of {} characters", text.chars().count() - 2),
        },
        Sketch::Text { chars } => format!("a text of {chars} characters"),
        Sketch::Array { count, item: None, .. } => format!("an array of {count}"),
        Sketch::Array { count, item: Some(item), .. } => {
            format!("an array of {count}, the first is {}", kind(item))
        }
        Sketch::Object { .. } | Sketch::Deep => kind(sketch),
    }
}

/// What it is, without what it says.
fn kind(sketch: &Sketch) -> String {
    match sketch {
        Sketch::Scalar(value) => crate::json::sort_of(value),
        Sketch::Text { .. } => "string".to_owned(),
        Sketch::Array { count, .. } => format!("array of {count}"),
        Sketch::Object { count, fields } => {
            let mut names: Vec<_> = fields.iter().take(8).map(|(key, _)| name(key)).collect();
            if *count > names.len() {
                names.push("…".to_owned());
            }
            format!("an object of {count} ({})", names.join(", "))
        }
        Sketch::Deep => "something deeper".to_owned(),
    }
}

fn name(key: &str) -> String {
    key.chars().take(NAME_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn shown(value: &Value, room: usize) -> String {
        let (sections, next) = outline(&Sketch::of_value(value), room);
        let parts = sections.iter().map(|Section { title, body }| format!("{title}\n{body}"));
        let next = serde_json::to_string(&next).unwrap();
        parts.chain([next]).collect::<Vec<_>>().concat()
    }

    #[test]
    fn counts_come_first_and_items_are_whole() {
        let orders: Vec<_> = (0..300).map(|n| json!({"id": n, "state": "open"})).collect();
        let page = json!({"total": 300, "next": null, "orders": orders, "note": "x".repeat(900), "meta": {"a": 1}});
        insta::assert_snapshot!(shown(&page, 150), @r#"
        [outline]
        an object of 5:
          total: 300
          next: null
          orders: an array of 300, the first is an object of 2 (id, state)
          note: a text of 900 characters
          meta: an object of 1 (a)
        [items 1 to 5 of 300 at /orders]
        {"id":0,"state":"open"}
        {"id":1,"state":"open"}
        {"id":2,"state":"open"}
        {"id":3,"state":"open"}
        {"id":4,"state":"open"}
        {"type":"rows","start":6,"end":25,"pointer":"/orders"}
        "#);
        insta::assert_snapshot!(shown(&json!([["x".repeat(5_000)]]), 60), @r#"
        [outline]
        an array of 1, the first is array of 1
        {"type":"rows","start":1,"end":1,"pointer":""}
        "#);
    }

    #[test]
    fn the_outline_keeps_to_its_room() {
        let wide: serde_json::Map<_, _> =
            (0..500).map(|n| (format!("field_{n}"), json!("value"))).collect();
        let wide = Value::Object(wide);
        for room in [20, 60, 200] {
            let (sections, _) = outline(&Sketch::of_value(&wide), room);
            let tokens: usize = sections.iter().map(|section| estimate(&section.body)).sum();
            assert!(tokens <= room, "{tokens} over {room}");
            assert!(sections[0].body.contains("more"), "{}", sections[0].body);
        }
    }
}
