//! What the caller may see, and how rare a word is among just that.

use std::borrow::Cow;

use crate::index::Index;
use crate::log::ln;
use crate::part::Posting;
use crate::rank::Ask;

pub(crate) struct Sight<'a> {
    visible: Cow<'a, [bool]>,
    pub(crate) count: usize,
}

impl<'a> Sight<'a> {
    pub(crate) fn new(index: &Index, ask: &Ask<'a>) -> Self {
        let known = ask.known.filter(|known| known.len() == index.len());
        let visible = known.map_or_else(
            || (0..index.len()).map(ask.allowed).collect::<Vec<bool>>().into(),
            Cow::Borrowed,
        );
        let count = visible.iter().filter(|seen| **seen).count();
        Self { visible, count }
    }

    pub(crate) fn sees(&self, doc: u32) -> bool {
        let doc = usize::try_from(doc).unwrap_or(usize::MAX);
        self.visible.get(doc).copied().unwrap_or(false)
    }

    pub(crate) fn all(&self) -> &[bool] {
        &self.visible
    }

    pub(crate) fn any(&self, postings: &[Posting]) -> bool {
        postings.iter().any(|posting| self.sees(posting.doc))
    }

    /// Visible documents among these.
    pub(crate) fn holders(&self, postings: &[Posting]) -> usize {
        if self.count == self.visible.len() {
            return postings.len();
        }
        postings.iter().filter(|posting| self.sees(posting.doc)).count()
    }

    /// Whether so many hold a word that, standing in for another, it tells nothing.
    pub(crate) fn is_common(&self, postings: &[Posting]) -> bool {
        const FEW: usize = 4_000;
        const ONE_IN: usize = 40;
        postings.len() > FEW && self.holders(postings) > FEW.max(self.count / ONE_IN)
    }

    /// What a word tells that so many visible documents hold.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "small counts"
    )]
    pub(crate) fn rarity(&self, holders: usize) -> f32 {
        let (count, holders) = (self.count as f64, holders as f64);
        ln(1.0 + (count - holders + 0.5) / (holders + 0.5)) as f32
    }
}
