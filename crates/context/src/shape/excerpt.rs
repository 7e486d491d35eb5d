//! The first and last lines of a text, as many as fit.

pub(super) struct Excerpt {
    pub(super) head: String,
    /// The lines of `head`; the last of them may be cut.
    pub(super) head_lines: usize,
    /// `head` is the start of one line that is too long.
    pub(super) cut: bool,
    pub(super) tail: String,
    pub(super) tail_lines: usize,
    pub(super) lines: usize,
    pub(super) chars: usize,
    pub(super) bytes: usize,
}

impl Excerpt {
    pub(super) fn is_whole(&self) -> bool {
        self.bytes == self.head.len()
    }

    pub(super) fn shown_chars(&self) -> usize {
        self.head.chars().count() + self.tail.chars().count()
    }
}

/// Two thirds of the room for the head, the rest for the tail; whole lines unless the first is
/// longer than the head.
pub(super) fn excerpt(text: &str, room: usize) -> Excerpt {
    let chars = text.chars().count();
    let tail_room = if chars <= room { 0 } else { room / 3 };
    let head_room = room - tail_room;
    let (whole, whole_lines) = fitting(text.split_inclusive('\n'), head_room);
    let cut = whole_lines == 0 && !text.is_empty();
    let (head_bytes, head_lines) =
        if cut { (cut_at(text, head_room), 1) } else { (whole, whole_lines) };
    let (head, _) = text.split_at_checked(head_bytes).unwrap_or((text, ""));
    // INVARIANT: the tail starts behind the line the head ends in.
    let rest = if cut {
        text.split_once('\n').map_or("", |(_, rest)| rest)
    } else {
        text.get(head_bytes..).unwrap_or("")
    };
    let (tail_bytes, tail_lines) = fitting(rest.split_inclusive('\n').rev(), tail_room);
    let tail = rest.get(rest.len() - tail_bytes..).unwrap_or("");
    Excerpt {
        head: head.to_owned(),
        head_lines,
        cut,
        tail: tail.to_owned(),
        tail_lines,
        lines: text.split_inclusive('\n').count(),
        chars,
        bytes: text.len(),
    }
}

/// Bytes and number of the lines that fit one after the other.
fn fitting<'a>(lines: impl Iterator<Item = &'a str>, room: usize) -> (usize, usize) {
    let mut left = room;
    let (mut bytes, mut count) = (0, 0);
    for line in lines {
        let Some(less) = left.checked_sub(line.chars().count()) else { break };
        left = less;
        bytes += line.len();
        count += 1;
    }
    (bytes, count)
}

fn cut_at(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn head_and_tail_are_whole_lines_within_the_room() {
        let check = |text: &str, room: usize, head: &str, tail: &str, cut: bool| {
            let excerpt = excerpt(text, room);
            assert_eq!((excerpt.head.as_str(), excerpt.tail.as_str()), (head, tail), "{text:?}");
            assert_eq!(excerpt.cut, cut, "{text:?}");
        };
        check("", 10, "", "", false);
        check("a\nb\n", 10, "a\nb\n", "", false);
        check("aa\nbb\ncc\ndd\nee\nff", 9, "aa\nbb\n", "ff", false);
        check("éééééééééé", 6, "éééé", "", true);
        check("aaaaaaaaaa\nb\nc", 6, "aaaa", "c", true);
    }

    proptest! {
        #[test]
        fn an_excerpt_never_overlaps_nor_exceeds_its_room(text in "[ab\né]{0,80}", room in 0_usize..60) {
            let excerpt = excerpt(&text, room);
            prop_assert!(excerpt.shown_chars() <= room);
            prop_assert!(text.starts_with(&excerpt.head) && text.ends_with(&excerpt.tail));
            prop_assert!(excerpt.head.len() + excerpt.tail.len() <= text.len());
            prop_assert!(excerpt.head_lines + excerpt.tail_lines <= excerpt.lines);
            prop_assert_eq!(excerpt.is_whole(), text.chars().count() <= room);
        }
    }
}
