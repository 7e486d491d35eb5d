//! A description cut to what there is room for: at a sentence, else at a word, else within one.

use crate::{limits, tokens};

/// What stands between a signature and the words.
pub(super) const DASH: &str = " —";

/// A description as one line, each word counted once: a space is where costs add up.
pub(super) struct Words {
    line: String,
    /// Where each word ends, and what all up to there cost behind a dash.
    ends: Vec<(usize, usize)>,
    /// Nothing was left out for its length.
    is_whole: bool,
}

impl Words {
    pub(super) fn new(text: &str) -> Self {
        // Enough for a line of full length, whatever white space it is spread over.
        let end = text.char_indices().nth(8 * limits::CARD_DESCRIPTION_CHARS_MAX);
        let head = end.and_then(|(end, _)| text.get(..end)).unwrap_or(text);
        let mut line = if head.contains("://") {
            without_addresses(&squeezed(head, usize::MAX))
        } else {
            squeezed(head, limits::CARD_DESCRIPTION_CHARS_MAX)
        };
        let cut = line.char_indices().nth(limits::CARD_DESCRIPTION_CHARS_MAX).map(|(at, _)| at);
        let is_whole = cut.is_none() && head.len() == text.len();
        if let Some(cut) = cut {
            // A word that goes on is no word.
            let goes_on = line.get(cut..).is_some_and(|rest| !rest.starts_with(' '));
            let last = line.get(..cut).and_then(|kept| kept.rfind(' ')).filter(|_| goes_on);
            line.truncate(last.unwrap_or(cut));
        }
        let mut total = tokens::of_word(DASH);
        let (mut start, mut ends) = (0, Vec::new());
        let mut room = String::new();
        for word in line.split(' ').filter(|word| !word.is_empty()) {
            room.clear();
            room.extend([" ", word]);
            total += tokens::of_word(&room);
            start += word.len();
            ends.push((start, total));
            start += 1;
            if total > limits::CARD_TOKENS_MAX {
                break;
            }
        }
        Self { line, ends, is_whole }
    }

    /// The words that cost at most so many tokens, the dash before them included, and what they do
    /// cost.
    pub(super) fn within(&self, room: usize) -> (String, usize) {
        let nothing = (String::new(), 0);
        let Some((end, cost)) = self.ends.last().copied() else { return nothing };
        if self.is_whole && end == self.line.len() && cost <= room {
            return (self.line.clone(), cost);
        }
        let fitting = self.ends.iter().rev().filter(|(_, cost)| *cost <= room);
        let mut sentences = fitting.filter_map(|(end, cost)| {
            Some((self.line.get(..*end).filter(|text| ends_sentence(text))?, *cost))
        });
        if let Some((text, cost)) = sentences.next() {
            return (text.to_owned(), cost);
        }
        self.begun(room).or_else(|| self.letters(room)).unwrap_or(nothing)
    }

    /// As many words as there is room for with an ellipsis behind them.
    fn begun(&self, room: usize) -> Option<(String, usize)> {
        let before = std::iter::once((0, tokens::of_word(DASH))).chain(self.ends.iter().copied());
        let rows: Vec<_> = before.zip(&self.ends).collect();
        rows.into_iter().rev().filter(|((_, before), _)| *before < room).find_map(
            |((start, before), (end, _))| {
                let word = self.line.get(start..*end)?.trim_start();
                let cost = before + tokens::of_word(&format!(" {word}…"));
                let text = self.line.get(..*end).filter(|_| cost <= room)?;
                Some((format!("{text}…"), cost))
            },
        )
    }

    /// Of a first word that is too long, as many letters.
    fn letters(&self, room: usize) -> Option<(String, usize)> {
        let begun = |chars: usize| -> String {
            self.line.chars().take(chars).chain(std::iter::once('…')).collect()
        };
        let cost = |text: &str| tokens::count(DASH) + tokens::count(&format!(" {text}"));
        let (mut fitting, mut beyond) = (0, self.line.chars().count());
        while beyond - fitting > 1 {
            let middle = usize::midpoint(fitting, beyond);
            if cost(&begun(middle)) <= room { fitting = middle } else { beyond = middle }
        }
        let text = begun(fitting);
        let cost = cost(&text);
        (fitting > 0 && cost <= room).then_some((text, cost))
    }
}

/// Words with a space between them, no more than are needed for a line longer than so many characters.
fn squeezed(text: &str, chars_max: usize) -> String {
    let (mut line, mut chars) = (String::new(), 0);
    let is_gap = |c: char| c.is_whitespace() || c.is_control();
    for word in text.split(is_gap).filter(|word| !word.is_empty()) {
        if chars > chars_max {
            break;
        }
        if chars > 0 {
            line.push(' ');
            chars += 1;
        }
        line.push_str(word);
        chars += word.chars().count();
    }
    line
}

/// Whether a sentence ends here and not a shortened word.
fn ends_sentence(text: &str) -> bool {
    const SHORTENED: [&str; 12] = [
        "e.g.", "i.e.", "etc.", "vs.", "no.", "nr.", "cf.", "incl.", "approx.", "max.", "min.",
        "ca.",
    ];
    let last = text.rsplit(' ').next().unwrap_or_default().trim_start_matches(['(', '[', '"']);
    match text.chars().next_back() {
        Some('!' | '?') => true,
        Some('.') => !SHORTENED.contains(&last.to_lowercase().as_str()),
        _ => false,
    }
}

/// A card says what a tool does; where more is written about it is for programs and people.
fn without_addresses(line: &str) -> String {
    const LINK: &str = "[link]";
    // Whatever the scheme: `postgres://user:password@host` is an address, too.
    let begins = |word: &str| {
        let of_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let colon = word.find("://")?;
        Some(word.get(..colon)?.trim_end_matches(of_scheme).len())
    };
    let words = line.split(' ').map(|word| {
        let Some((before, address)) = begins(word).and_then(|at| word.split_at_checked(at)) else {
            return word.to_owned();
        };
        let is_own = |c: char| {
            !matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | ')' | ']' | '>' | '"' | '\'' | '`')
        };
        let end = address
            .rfind(is_own)
            .and_then(|at| address.get(at..)?.chars().next().map(|c| at + c.len_utf8()));
        let after = end.and_then(|end| address.get(end..)).unwrap_or_default();
        format!("{before}{LINK}{after}")
    });
    words.collect::<Vec<_>>().join(" ")
}
