//! Messages on a pipe: one JSON text a line, of bounded length.

use crate::pieces::Pieces;

/// Cuts a byte stream into lines, however the bytes arrive.
#[derive(Debug)]
pub struct Lines {
    buffer: Pieces,
    bytes_max: usize,
    /// Inside a line that is already too long: drop until its end.
    skipping: bool,
}

/// One line, or the news that a line was too long and has been dropped.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Complete(Vec<u8>),
    TooLong,
}

impl Lines {
    pub fn new(bytes_max: usize) -> Self {
        Self { buffer: Pieces::default(), bytes_max, skipping: false }
    }

    /// Takes what was read and returns the lines it completes. Blank lines are dropped.
    pub fn push(&mut self, mut bytes: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (head, rest) = bytes.split_at(end);
            self.take(head, &mut lines);
            self.finish(&mut lines);
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.take(bytes, &mut lines);
        lines
    }

    /// What is left when the stream ends without a last newline.
    pub fn end(&mut self) -> Option<Vec<u8>> {
        let mut lines = Vec::new();
        self.finish(&mut lines);
        lines.into_iter().find_map(|line| match line {
            Line::Complete(bytes) => Some(bytes),
            Line::TooLong => None,
        })
    }

    fn take(&mut self, bytes: &[u8], lines: &mut Vec<Line>) {
        if self.skipping {
            return;
        }
        if self.buffer.len() + bytes.len() > self.bytes_max {
            self.buffer = Pieces::default();
            self.skipping = true;
            lines.push(Line::TooLong);
            return;
        }
        self.buffer.push(bytes);
    }

    fn finish(&mut self, lines: &mut Vec<Line>) {
        if std::mem::take(&mut self.skipping) {
            return;
        }
        let mut line = self.buffer.take();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if !line.iter().all(u8::is_ascii_whitespace) {
            lines.push(Line::Complete(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn complete(text: &str) -> Line {
        Line::Complete(text.as_bytes().to_vec())
    }

    #[test]
    fn a_line_too_long_is_dropped_and_the_next_one_read() {
        let mut lines = Lines::new(4);
        let got = lines.push(b"abcdefgh\nok\n\n  \nend");
        assert_eq!(got, [Line::TooLong, complete("ok")]);
        assert_eq!(lines.end(), Some(b"end".to_vec()));
    }

    #[test]
    fn a_line_too_long_is_reported_once_and_never_held() {
        let mut lines = Lines::new(4);
        let reports: usize = (0..1000).map(|_| lines.push(b"xxxxxxxx").len()).sum();
        assert_eq!(reports, 1);
        assert!(lines.buffer.is_empty());
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_the_bytes_arrive(
            text in "[a-c\n\r]{0,60}", cuts in proptest::collection::vec(0usize..60, 0..6)
        ) {
            let whole = Lines::new(10).push(text.as_bytes());
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= text.len()).collect();
            cuts.sort_unstable();
            let mut lines = Lines::new(10);
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts.into_iter().chain([text.len()]) {
                pieces.extend(lines.push(&text.as_bytes()[from..cut]));
                from = cut;
            }
            prop_assert_eq!(pieces, whole);
        }
    }
}
