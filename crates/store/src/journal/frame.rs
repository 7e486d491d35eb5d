//! How entries stand in a journal: a line about a few of them, then each of them on a line.
//!
//! A frame is sound if the chain computed anew over its bodies ends where the line says. What is torn,
//! or left over from an earlier use of the file, does not; nobody has been told that it is durable.

use model::canonical;
use serde::{Deserialize, Serialize};

use crate::chain::{self, Link, Placed};

const VERSION: &str = "toolgate.journal.v1";

/// The line before the entries.
#[derive(Serialize, Deserialize)]
struct Head<'t> {
    journal: &'t str,
    /// The place of the first of them.
    seq: i64,
    entries: usize,
    /// What their lines take.
    bytes: usize,
    /// The hash before the first of them.
    prev: &'t str,
    /// The hash of the last of them.
    hash: &'t str,
    /// Over what this line says: it may be torn, too, and half of it be from before.
    seal: &'t str,
}

/// Entries that follow on each other, in the chain and in a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// What they follow on.
    pub(crate) base: Link,
    pub(crate) bodies: Vec<String>,
    pub(crate) end: Link,
}

/// The frame of these entries; none if there are none, or one of them is not a single line.
pub(crate) fn encode(entries: &[Placed]) -> Option<Vec<u8>> {
    let (first, last) = (entries.first()?, entries.last()?);
    let bytes = entries.iter().map(|entry| entry.body.as_str().len() + 1).sum();
    let (prev, hash) = (first.prev_hash.as_str(), last.hash.as_str());
    let seal = seal(first.seq, entries.len(), bytes, prev, hash);
    let (journal, seq, entries_count) = (VERSION, first.seq, entries.len());
    let head = Head { journal, seq, entries: entries_count, bytes, prev, hash, seal: &seal };
    let mut frame = serde_json::to_vec(&head).ok()?;
    frame.reserve(bytes + 1);
    frame.push(b'\n');
    for entry in entries {
        let body = entry.body.as_str();
        if body.contains('\n') {
            return None;
        }
        frame.extend_from_slice(body.as_bytes());
        frame.push(b'\n');
    }
    Some(frame)
}

/// The sound frames at the beginning of a journal that follow on each other.
pub(crate) fn decode(journal: &[u8]) -> Option<Run> {
    let (mut run, mut rest) = one(journal)?;
    while let Some((next, behind)) = one(rest)
        && next.base == run.end
    {
        run.bodies.extend(next.bodies);
        (run.end, rest) = (next.end, behind);
    }
    Some(run)
}

/// The first frame, if it is sound, and what comes behind it.
fn one(journal: &[u8]) -> Option<(Run, &[u8])> {
    let (head, rest) = split_line(journal)?;
    let Head { journal, seq, entries, bytes, prev, hash, seal: said } =
        serde_json::from_slice(head).ok()?;
    if journal != VERSION || said != seal(seq, entries, bytes, prev, hash) {
        return None;
    }
    let base = Link { seq: seq.checked_sub(1)?, hash: prev.to_owned() };
    let (lines, behind) = rest.split_at_checked(bytes)?;
    let lines = str::from_utf8(lines).ok()?.strip_suffix('\n')?;
    let bodies: Vec<String> = lines.split('\n').map(str::to_owned).collect();
    let end = bodies.iter().try_fold(base.clone(), |link, body| {
        Some(Link { seq: link.seq.checked_add(1)?, hash: chain::hash(&link.hash, body) })
    })?;
    let sound = bodies.len() == entries && end.hash == hash;
    sound.then_some((Run { base, bodies, end }, behind))
}

fn split_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (line, rest) = text.split_at_checked(text.iter().position(|byte| *byte == b'\n')?)?;
    Some((line, rest.get(1..)?))
}

fn seal(seq: i64, entries: usize, bytes: usize, prev: &str, hash: &str) -> String {
    canonical::hash(&serde_json::json!([seq, entries, bytes, prev, hash]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::entry::Columns;
    use crate::text::Text;

    fn placed(head: &mut Link, bodies: &[String]) -> Vec<Placed> {
        let none = || Text::from("");
        let columns = Columns {
            record_id: none(),
            call_id: none(),
            phase: none(),
            at: 0,
            tool: none(),
            status: none(),
            principal: none(),
            run_id: none(),
        };
        let bodies: Vec<Text> = bodies.iter().map(|body| body.as_str().into()).collect();
        chain::place(head, bodies.iter().map(|body| (&columns, body)))
    }

    /// Frames of these bodies, one behind the other, and where each ends.
    fn journal(frames: &[Vec<String>]) -> (Vec<u8>, Vec<usize>) {
        let (mut head, mut text, mut ends) = (Link::genesis(), Vec::new(), Vec::new());
        for bodies in frames {
            text.extend(encode(&placed(&mut head, bodies)).unwrap());
            ends.push(text.len());
        }
        (text, ends)
    }

    fn frames() -> impl Strategy<Value = Vec<Vec<String>>> {
        let bodies = proptest::collection::vec("[^\n]{0,40}", 1..4);
        proptest::collection::vec(bodies, 1..5)
    }

    fn read(journal: &[u8]) -> Vec<String> {
        decode(journal).map(|run| run.bodies).unwrap_or_default()
    }

    proptest! {
        #[test]
        fn wherever_a_journal_is_torn_the_frames_before_are_there(
            frames in frames(), at in any::<proptest::sample::Index>(), rest in "\\PC{0,60}",
        ) {
            let (text, ends) = journal(&frames);
            prop_assert_eq!(read(&text), frames.concat());
            let cut = at.index(text.len());
            let whole = ends.iter().filter(|end| **end <= cut).count();
            let torn = [&text[..cut], rest.as_bytes()].concat();
            let expected = frames[..whole].concat();
            // What is put behind may happen to be what was cut off.
            prop_assert!(torn.starts_with(&text) || read(&torn) == expected);
        }

        #[test]
        fn a_journal_with_a_changed_letter_is_cut_there(
            frames in frames(), at in any::<proptest::sample::Index>(), letter: u8,
        ) {
            let (mut text, ends) = journal(&frames);
            let at = at.index(text.len());
            prop_assume!(text[at] != letter);
            text[at] = letter;
            let whole = ends.iter().filter(|end| **end <= at).count();
            prop_assert_eq!(read(&text), frames[..whole].concat());
        }

        #[test]
        fn whatever_stands_in_a_journal_can_be_looked_at(
            text in proptest::collection::vec(any::<u8>(), 0..400),
        ) {
            prop_assert_eq!(decode(&text), None);
        }
    }

    /// A file is used again from its beginning; what is left behind the new frames is from before.
    #[test]
    fn what_is_left_over_does_not_follow() {
        let bodies = |text: &str| vec![text.to_owned()];
        let mut head = Link::genesis();
        let frame = |head: &mut Link, text: &str| encode(&placed(head, &bodies(text))).unwrap();
        let old = [frame(&mut head, "1"), frame(&mut head, "2"), frame(&mut head, "3")].concat();
        let new = frame(&mut head, "4");
        assert_eq!(new.len() * 3, old.len(), "the frames lie where the old ones lay");
        let used_again = [&new, &old[new.len()..]].concat();
        let run = decode(&used_again).unwrap();
        assert_eq!((run.base.seq, run.bodies, &run.end), (3, bodies("4"), &head));
    }

    #[test]
    fn an_entry_of_several_lines_has_no_frame() {
        assert_eq!(encode(&placed(&mut Link::genesis(), &["{\n}".to_owned()])), None);
        assert_eq!(encode(&[]), None);
    }
}
