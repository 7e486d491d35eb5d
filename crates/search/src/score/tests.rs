//! Leaving out what cannot lead leaves the same leaders.

use proptest::prelude::*;

use super::*;
use crate::Doc;
use crate::query::read;
use crate::rank::order;

const WORDS: [&str; 12] = [
    "read", "file", "send", "mail", "list", "issue", "weather", "city", "refund", "payment",
    "zebra", "the",
];

prop_compose! {
    fn text(most: usize)(words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..most)) -> String {
        words.join(" ")
    }
}

/// Every document's score by itself.
fn one_by_one(scores: &Scores, index: &Index, sight: &Sight<'_>) -> Vec<(f32, u32)> {
    let mut all = Best::new(usize::MAX);
    for doc in (0..).take(index.len()).filter(|doc| sight.sees(*doc)) {
        scores.offer(doc, scores.meaning(index, doc), &mut all);
    }
    all.rows()
}

proptest! {
    #[test]
    fn only_what_cannot_lead_is_left_out(
        rows in prop::collection::vec((text(3), text(8), any::<bool>()), 0..60),
        query in text(6),
        count in 1_usize..8,
    ) {
        let docs: Vec<Doc<'_>> = rows
            .iter()
            .map(|(name, description, _)| Doc { name, description, ..Doc::default() })
            .collect();
        let index = Index::build(&docs);
        let seen: Vec<bool> = rows.iter().map(|row| row.2).collect();
        let allowed = |doc: usize| seen[doc];
        let sight = Sight::new(&index, &Ask::new("", 1, &allowed));
        let known = Sight::new(&index, &Ask { known: Some(&seen), ..Ask::new("", 1, &|_| true) });
        prop_assert_eq!(known.all(), sight.all());
        let ask = Ask::new(&query, count, &|_| true);
        let scores = score(&index, &sight, &ask, &read(&index, &sight, &query), count);
        let mut leading = scores.leading(&index, &sight, count);
        leading.sort_by(order);
        let mut all = one_by_one(&scores, &index, &sight);
        all.sort_by(order);
        all.truncate(count);
        prop_assert_eq!(leading, all);
    }
}
