//! The token shapes whose fixed part has two bytes only, searched for one by one.

use memchr::memmem::Finder;

use super::{Anchor, Hit, Pattern};

/// How many there may be.
pub(super) const MAX: usize = 4;

#[derive(Clone, Debug)]
pub(super) struct Pair {
    pattern: Pattern,
    finder: Finder<'static>,
    /// Shorter texts cannot hold the token.
    bytes_min: usize,
}

impl Pair {
    /// `None` for longer texts. INVARIANT: a pair counts as it is written.
    pub(super) fn of(pattern: &Pattern) -> Option<Self> {
        let Anchor::Shape(shape) = pattern.anchor else { return None };
        (pattern.literal.len() == 2).then(|| Self {
            pattern: pattern.clone(),
            finder: Finder::new(&pattern.literal).into_owned(),
            bytes_min: 2 + shape.least,
        })
    }

    fn find(&self, bytes: &[u8], from: usize) -> usize {
        let rest = bytes.get(from..).unwrap_or_default();
        let mut places = self.finder.find_iter(rest).map(|at| from + at);
        let goes_on =
            |at: &usize| bytes.get(at + 2).is_some_and(|next| self.pattern.goes_on(*next));
        places.find(goes_on).unwrap_or(usize::MAX)
    }
}

/// Where each pair stands next.
pub(super) struct Pairs<'s, 't> {
    of: &'s [Pair],
    bytes: &'t [u8],
    next: [usize; MAX],
    soonest: usize,
}

impl<'s, 't> Pairs<'s, 't> {
    pub(super) fn new(pairs: &'s [Pair], bytes: &'t [u8]) -> Self {
        let mut next = [usize::MAX; MAX];
        for (next, pair) in next.iter_mut().zip(pairs) {
            if bytes.len() >= pair.bytes_min {
                *next = pair.find(bytes, 0);
            }
        }
        Self { of: pairs, bytes, next, soonest: soonest(&next) }
    }

    /// Calls `see` with every pair that stands at `end` or before, and has not been seen.
    #[inline]
    pub(super) fn up_to(&mut self, end: usize, see: &mut impl FnMut(Hit<'s>)) {
        while self.soonest <= end && self.soonest < self.bytes.len() {
            self.step(see);
        }
    }

    #[cold]
    fn step(&mut self, see: &mut impl FnMut(Hit<'s>)) {
        let start = self.soonest;
        for (next, pair) in self.next.iter_mut().zip(self.of) {
            if *next == start {
                see(Hit { start, end: start + 2, anchor: &pair.pattern.anchor });
                *next = pair.find(self.bytes, start + 1);
            }
        }
        self.soonest = soonest(&self.next);
    }
}

fn soonest(next: &[usize]) -> usize {
    next.iter().min().copied().unwrap_or(usize::MAX)
}
