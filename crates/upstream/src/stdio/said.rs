//! What a child wrote on standard error: the last of it, bounded, for people who look for a reason.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::limits;

/// The last lines. Terminal sequences and other control characters are gone.
#[derive(Debug, Default)]
pub(crate) struct Said(Mutex<VecDeque<String>>);

impl Said {
    pub(super) fn hear(&self, line: &[u8]) -> String {
        let text =
            model::fault::one_line(&String::from_utf8_lossy(line), limits::STDERR_LINE_CHARS);
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() >= limits::STDERR_LINES_KEPT {
            lines.pop_front();
        }
        lines.push_back(text.clone());
        text
    }

    /// What is started anew will say it again.
    pub(super) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_kept_and_without_terminal_sequences() {
        let said = Said::default();
        for number in 0..10_000 {
            said.hear(format!("\u{1b}[31mline {number}{}", "x".repeat(9_999)).as_bytes());
        }
        let lines = said.lines();
        assert_eq!(lines.len(), limits::STDERR_LINES_KEPT);
        let last = lines.last().unwrap();
        assert!(last.contains("line 9999") && !last.contains('\u{1b}'), "{last}");
        assert!(last.chars().count() <= limits::STDERR_LINE_CHARS);
    }
}
