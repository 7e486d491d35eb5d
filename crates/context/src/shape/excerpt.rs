//! The part of a long text that is shown: whole lines, whole rows, whole items, within a budget.

use model::Selector;

use super::form::Form;
use super::outline::outline;
use crate::tokens::estimate;

/// A stretch of the whole, under a line that says which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) title: String,
    pub(super) body: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Excerpt {
    pub(super) sections: Vec<Section>,
    /// Where what is shown breaks off.
    pub(super) next: Option<Selector>,
    pub(super) whole: bool,
    pub(super) lines: usize,
    pub(super) chars: usize,
    pub(super) bytes: usize,
}

impl Excerpt {
    pub(super) fn tokens(&self) -> usize {
        self.sections.iter().map(|section| estimate(&section.title) + estimate(&section.body)).sum()
    }
}

/// As much of the text as `room` tokens hold, in the way its form is read.
pub(super) fn excerpt(text: &str, form: &Form, room: usize) -> Excerpt {
    let (sections, next) = match form {
        // No text has more tokens than bytes.
        _ if text.len() <= 4 * room && estimate(text) <= room => (whole(text), None),
        Form::Json(sketch) => outline(sketch, room),
        Form::Csv { .. } => table(text, room),
        Form::Text => ends(text, room),
    };
    Excerpt {
        whole: next.is_none(),
        sections,
        next,
        lines: lines(text),
        chars: text.chars().count(),
        bytes: text.len(),
    }
}

fn whole(text: &str) -> Vec<Section> {
    let title = match lines(text) {
        1 => "[all of it]".to_owned(),
        lines => format!("[all {lines} lines]"),
    };
    vec![Section { title, body: text.to_owned() }]
}

/// The first and the last lines.
fn ends(text: &str, room: usize) -> (Vec<Section>, Option<Selector>) {
    let total = lines(text);
    let (head, count) = fitting(text.split_inclusive('\n'), room - room / 3);
    if count == 0 {
        return long_line(text, room, total);
    }
    let rest = text.get(head..).unwrap_or_default();
    let (tail, last) = fitting(rest.split_inclusive('\n').rev(), room / 3);
    let mut sections = vec![Section {
        title: format!("[lines 1 to {count} of {total}]"),
        body: text.get(..head).unwrap_or_default().to_owned(),
    }];
    if last > 0 {
        sections.push(Section {
            title: format!("[lines {} to {total} of {total}]", total - last + 1),
            body: rest.get(rest.len() - tail..).unwrap_or_default().to_owned(),
        });
    }
    let next = Selector::Lines { start: count + 1, end: (count + 100).min(total) };
    (sections, Some(next))
}

/// The only thing that is ever cut: a first line longer than all the room there is.
fn long_line(text: &str, room: usize, total: usize) -> (Vec<Section>, Option<Selector>) {
    let mut chars = 4 * room;
    let prefix = |chars: usize| {
        let at = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
        text.get(..at).unwrap_or_default()
    };
    while estimate(prefix(chars)) > room {
        chars -= chars.div_ceil(8);
    }
    let body = prefix(chars).lines().next().unwrap_or_default().to_owned();
    let chars = body.chars().count();
    let title = format!("[line 1 of {total}, its first {chars} characters]");
    let next = Selector::Chars { offset: chars, chars: model::limits::VIEW_CHARS_MAX };
    (vec![Section { title, body }], Some(next))
}

/// The header, the first and the last rows.
fn table(text: &str, room: usize) -> (Vec<Section>, Option<Selector>) {
    let (header, rows) = text.split_at(text.find('\n').map_or(text.len(), |at| at + 1));
    let total = lines(rows);
    let room = room.saturating_sub(estimate(header));
    let (head, count) = fitting(rows.split_inclusive('\n'), room - room / 3);
    let rest = rows.get(head..).unwrap_or_default();
    let (tail, last) = fitting(rest.split_inclusive('\n').rev(), room / 3);
    if count == 0 {
        return ends(text, room);
    }
    let mut sections = vec![Section {
        title: format!("[header and rows 1 to {count} of {total}]"),
        body: format!("{header}{}", rows.get(..head).unwrap_or_default()),
    }];
    if last > 0 {
        sections.push(Section {
            title: format!("[rows {} to {total} of {total}]", total - last + 1),
            body: rest.get(rest.len() - tail..).unwrap_or_default().to_owned(),
        });
    }
    let end = (count + 50).min(total);
    (sections, Some(Selector::Rows { start: count + 1, end, pointer: String::new() }))
}

/// Bytes and number of the lines that fit one after the other.
fn fitting<'a>(lines: impl Iterator<Item = &'a str>, room: usize) -> (usize, usize) {
    let mut left = room;
    let (mut bytes, mut count) = (0, 0);
    for line in lines {
        // A line that long cannot fit, and is not looked at.
        let tokens = if line.len() > 16 * room { room + 1 } else { estimate(line) };
        let Some(less) = left.checked_sub(tokens) else { break };
        left = less;
        bytes += line.len();
        count += 1;
    }
    (bytes, count)
}

fn lines(text: &str) -> usize {
    let breaks = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    breaks + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str, room: usize) -> String {
        let excerpt = excerpt(text, &Form::of(text), room);
        let sections =
            excerpt.sections.iter().map(|Section { title, body }| format!("{title}{body}"));
        sections.collect::<Vec<_>>().join("|")
    }

    #[test]
    fn lines_and_rows_are_whole() {
        let check = |text: &str, room: usize, expected: &str| {
            assert_eq!(shown(text, room), expected, "{text:?}");
        };
        check("a\nb\n", 10, "[all 2 lines]a\nb\n");
        check("a\nb\nc\nd\ne\nf\n", 6, "[lines 1 to 2 of 6]a\nb\n|[lines 6 to 6 of 6]f\n");
        check(
            "k,v\n1,2\n3,4\n5,6\n7,8\n9,0\n",
            18,
            "[header and rows 1 to 2 of 5]k,v\n1,2\n3,4\n|[rows 5 to 5 of 5]9,0\n",
        );
    }

    proptest! {
        #[test]
        fn an_excerpt_keeps_to_its_room_and_cuts_no_line(
            text in "([a-z]{1,9}[ ,;:]?|\n|é){0,200}", room in 1_usize..120
        ) {
            let excerpt = excerpt(&text, &Form::of(&text), room);
            let bodies: usize = excerpt.sections.iter().map(|section| estimate(&section.body)).sum();
            prop_assert!(bodies <= room, "{bodies} over {room}");
            for section in &excerpt.sections {
                prop_assert!(text.contains(section.body.as_str()));
                let cut = section.title.contains("its first");
                prop_assert!(cut || section.body.ends_with('\n') || text.ends_with(section.body.as_str()));
            }
            prop_assert_eq!(excerpt.whole, estimate(&text) <= room && text.len() <= 4 * room);
        }
    }
}
