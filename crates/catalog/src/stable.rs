//! Cards in an order a prompt cache can live with: those a caller has seen first and unchanged,
//! then a mark, then the new ones (CW-51 to CW-56).
//!
//! Frozen within one generation and not beyond it (C29): a changed catalogue is a changed prompt.

use std::collections::BTreeMap;

use model::card::Safety;
use model::{Card, Generation, ItemKind};

use crate::limits;

/// The id of the card that marks where the unchanged part ends.
pub const BREAKPOINT: &str = "__cache_breakpoint__";

/// What one caller has been shown, each card as it was then.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    generation: Generation,
    cards: BTreeMap<String, Card>,
}

impl Seen {
    /// Puts found cards behind those seen before, and remembers them.
    ///
    /// Every found card is in the answer: none gives way to an old one. A full memory takes no
    /// more, so that what it holds stays the same prefix.
    pub fn arrange(
        &mut self,
        found: Vec<Card>,
        generation: Generation,
        visible: &dyn Fn(&str) -> bool,
    ) -> Vec<Card> {
        self.turn(generation);
        self.cards.retain(|id, _| visible(id));
        let mut new: Vec<Card> =
            found.into_iter().filter(|card| !self.cards.contains_key(&card.id)).collect();
        new.sort_by(|a, b| a.id.cmp(&b.id));
        let mut arranged: Vec<Card> = self.cards.values().cloned().collect();
        if !arranged.is_empty() && !new.is_empty() {
            arranged.push(breakpoint(generation));
        }
        for card in &new {
            self.remember(card.clone());
        }
        arranged.extend(new);
        arranged
    }

    /// Counts a card as seen that was shown in another way, such as by its whole definition.
    pub fn note(&mut self, card: Card, generation: Generation) {
        self.turn(generation);
        self.remember(card);
    }

    fn turn(&mut self, generation: Generation) {
        if self.generation != generation {
            *self = Self { generation, cards: BTreeMap::new() };
        }
    }

    fn remember(&mut self, card: Card) {
        if self.cards.len() < limits::SEEN_CARDS_MAX {
            self.cards.entry(card.id.clone()).or_insert(card);
        }
    }
}

fn breakpoint(generation: Generation) -> Card {
    Card {
        id: BREAKPOINT.to_owned(),
        name: "cache_breakpoint".to_owned(),
        description: String::new(),
        tags: Vec::new(),
        kind: ItemKind::Internal,
        namespace: String::new(),
        signature: BREAKPOINT.to_owned(),
        has_schema: false,
        score: None,
        cost_hint: 0.0,
        side_effects: false,
        safety: Safety::Unknown,
        generation,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cards::render_text;
    use proptest::prelude::*;

    const ONE: Generation = Generation(1);

    fn card(id: &str, score: f64) -> Card {
        let (id, signature) = (id.to_owned(), format!("{id}()"));
        Card { id, signature, score: Some(score), kind: ItemKind::Tool, ..breakpoint(ONE) }
    }

    fn browse(seen: &mut Seen, found: &[(&str, f64)]) -> Vec<Card> {
        let found = found.iter().map(|(id, score)| card(id, *score)).collect();
        seen.arrange(found, ONE, &|_| true)
    }

    fn ids(cards: &[Card]) -> Vec<&str> {
        cards.iter().map(|card| card.id.as_str()).collect()
    }

    /// CW-50, CW-52, CW-53, gateway-spec §5: seen by id, the mark, new by id; the mark only between two halves.
    #[test]
    fn seen_cards_come_first_then_the_mark_then_new_ones() {
        let mut seen = Seen::default();
        assert_eq!(ids(&browse(&mut seen, &[("c", 3.0), ("a", 2.0)])), ["a", "c"]);
        assert_eq!(ids(&browse(&mut seen, &[("c", 3.0)])), ["a", "c"]);
        let third = browse(&mut seen, &[("b", 9.0), ("c", 1.0), ("B", 0.5)]);
        assert_eq!(ids(&third), ["a", "c", BREAKPOINT, "B", "b"]);
        assert_eq!(ids(&browse(&mut seen, &[])), ["B", "a", "b", "c"]);
        assert_eq!(ids(&browse(&mut Seen::default(), &[])), [""; 0]);
    }

    /// CW-54, CW-56: a card stays as it was first seen, score included.
    #[test]
    fn a_card_is_frozen_at_first_sight() {
        let mut seen = Seen::default();
        browse(&mut seen, &[("a", 2.0)]);
        assert_eq!(browse(&mut seen, &[("a", 7.0)])[0].score, Some(2.0));
    }

    /// C29: another generation begins anew.
    #[test]
    fn another_generation_thaws_everything() {
        let mut seen = Seen::default();
        browse(&mut seen, &[("a", 2.0)]);
        let cards = seen.arrange(vec![card("b", 1.0)], Generation(2), &|_| true);
        assert_eq!(ids(&cards), ["b"]);
    }

    #[test]
    fn what_may_no_longer_be_seen_is_forgotten() {
        let mut seen = Seen::default();
        browse(&mut seen, &[("a", 2.0), ("b", 1.0)]);
        let cards = seen.arrange(vec![], ONE, &|id| id != "a");
        assert_eq!(ids(&cards), ["b"]);
    }

    #[test]
    fn a_definition_that_was_shown_counts_as_seen() {
        let mut seen = Seen::default();
        seen.note(card("h", 0.0), ONE);
        assert_eq!(ids(&browse(&mut seen, &[("a", 1.0)])), ["h", BREAKPOINT, "a"]);
    }

    proptest! {
        /// CW-55: whatever is asked, the answer begins with the cards shown until then, each in
        /// the bytes it had at first; nothing new, and all of it stays. No hit is lost.
        #[test]
        fn the_prefix_stays_and_no_hit_is_lost(
            first in prop::collection::btree_set("[a-z]{1,2}", 0..60),
            queries in prop::collection::vec(prop::collection::btree_set("[a-z]{1,2}", 0..12), 1..4),
        ) {
            let mut seen = Seen::default();
            let first: Vec<(&str, f64)> = first.iter().map(|id| (id.as_str(), 1.0)).collect();
            let mut told: BTreeMap<String, Card> = BTreeMap::new();
            let tell = |told: &mut BTreeMap<String, Card>, cards: &[Card]| {
                for card in cards.iter().filter(|card| card.id != BREAKPOINT) {
                    if told.len() < limits::SEEN_CARDS_MAX {
                        told.entry(card.id.clone()).or_insert_with(|| card.clone());
                    }
                }
            };
            tell(&mut told, &browse(&mut seen, &first));
            for query in &queries {
                let query: Vec<(&str, f64)> = query.iter().map(|id| (id.as_str(), 5.0)).collect();
                let prefix = render_text(&told.values().cloned().collect::<Vec<_>>());
                prop_assert_eq!(render_text(&browse(&mut seen, &[])), prefix.clone());
                let answer = browse(&mut seen, &query);
                prop_assert!(render_text(&answer).starts_with(&prefix));
                tell(&mut told, &answer);
                let shown = ids(&answer);
                prop_assert!(query.iter().all(|(id, _)| shown.contains(id)));
                let marks = shown.iter().filter(|id| **id == BREAKPOINT).count();
                let halves = shown.split(|id| *id == BREAKPOINT).all(|half| !half.is_empty());
                prop_assert!(marks == 0 || (marks == 1 && halves));
                prop_assert!(seen.cards.len() <= limits::SEEN_CARDS_MAX);
            }
        }
    }
}
