//! What a text costs a model, counted with one published vocabulary. The only file that knows the
//! tokenizer.
//!
//! Models differ in their vocabularies; one that is public and pinned gives figures that can be
//! checked and compared. Loading its tables takes a moment, so counting stays off the road of a
//! call: it happens when a generation is built and when somebody asks what things cost.

use std::cell::RefCell;
use std::collections::HashMap;

use serde_json::Value;

/// The vocabulary all figures are in.
pub const VOCABULARY: &str = "o200k_base";

pub fn count(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

/// The same for a word with the space before it. Tools say the same words again and again, so each
/// thread remembers what they cost.
pub(crate) fn of_word(word: &str) -> usize {
    const WORDS_MAX: usize = 8_192;
    const WORD_BYTES_MAX: usize = 32;
    thread_local! {
        static KNOWN: RefCell<HashMap<Box<str>, usize>> = RefCell::default();
    }
    if word.len() > WORD_BYTES_MAX {
        return count(word);
    }
    KNOWN.with_borrow_mut(|known| {
        if let Some(cost) = known.get(word) {
            return *cost;
        }
        if known.len() >= WORDS_MAX {
            known.clear();
        }
        let cost = count(word);
        known.insert(word.into(), cost);
        cost
    })
}

/// The tokens of a value in the bytes it is sent as.
pub fn count_json(value: &Value) -> usize {
    count(&value.to_string())
}

/// Whether the text costs at most so many tokens. Short text is not tokenised at all: a token is
/// at least a byte.
pub(crate) fn fits(text: &str, tokens_max: usize) -> bool {
    let vocabulary = bpe_openai::o200k_base();
    text.len() <= tokens_max
        || vocabulary.count_till_limit(&vocabulary.normalize(text), tokens_max).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// Figures of the reference implementation for the same vocabulary.
    #[test]
    fn tokens_are_counted_as_the_vocabulary_says() {
        let check = |text: &str, expected: usize| assert_eq!(count(text), expected, "{text}");
        check("", 0);
        check("hello world", 2);
        check("tokenization is fun!", 5);
        assert_eq!(count_json(&json!({"type": "object"})), count("{\"type\":\"object\"}"));
    }

    proptest! {
        #[test]
        fn a_token_is_at_least_a_byte(text in any::<String>()) {
            prop_assert!(count(&text) <= text.len());
            prop_assert_eq!(fits(&text, 10), count(&text) <= 10);
            prop_assert_eq!((of_word(&text), of_word(&text)), (count(&text), count(&text)));
        }
    }
}
