//! The best few of many without sorting the many.

use crate::rank::order;

/// Keeps the best so many rows of all it is offered.
#[derive(Debug)]
pub(crate) struct Best {
    count: usize,
    rows: Vec<(f32, u32)>,
    /// A score below it is not among the best.
    bar: f32,
}

impl Best {
    pub(crate) fn new(count: usize) -> Self {
        Self::above(f32::NEG_INFINITY, count)
    }

    /// With a score that so many are known to reach.
    pub(crate) fn above(bar: f32, count: usize) -> Self {
        Self { count, rows: Vec::new(), bar }
    }

    /// A score that so many are known to reach.
    pub(crate) fn bar(&self) -> f32 {
        self.bar
    }

    /// Whether it raised the bar.
    pub(crate) fn offer(&mut self, score: f32, doc: u32) -> bool {
        if score < self.bar {
            return false;
        }
        self.rows.push((score, doc));
        let is_full = self.rows.len() >= self.count.saturating_mul(2);
        if is_full {
            self.cut();
        }
        is_full
    }

    /// The same after a last look: the least of the best, if there are so many.
    pub(crate) fn last_bar(mut self) -> f32 {
        self.cut();
        self.bar
    }

    /// In no order.
    pub(crate) fn rows(mut self) -> Vec<(f32, u32)> {
        self.cut();
        self.rows
    }

    fn cut(&mut self) {
        let last = self.count.saturating_sub(1);
        if last < self.rows.len() {
            let (_, (score, _), _) = self.rows.select_nth_unstable_by(last, order);
            self.bar = *score;
            self.rows.truncate(self.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_best_of_all_are_kept(scores in prop::collection::vec(0_u8..20, 0..200), count in 1_usize..20) {
            let rows = scores.iter().map(|score| f32::from(*score)).zip(0_u32..);
            let mut best = Best::new(count);
            for (score, doc) in rows.clone() {
                best.offer(score, doc);
            }
            let mut again = Best::new(count);
            for (score, doc) in rows.clone() {
                again.offer(score, doc);
            }
            let reach = rows.clone().filter(|(score, _)| *score >= again.bar()).count();
            prop_assert!(again.bar() == f32::NEG_INFINITY || reach >= count);
            let bar = again.last_bar();
            let reach = rows.clone().filter(|(score, _)| *score >= bar).count();
            prop_assert_eq!(bar > f32::NEG_INFINITY, scores.len() >= count);
            prop_assert!(bar == f32::NEG_INFINITY || reach >= count);
            let (mut kept, mut all) = (best.rows(), rows.collect::<Vec<_>>());
            kept.sort_by(order);
            all.sort_by(order);
            all.truncate(count);
            prop_assert_eq!(kept, all);
        }
    }
}
