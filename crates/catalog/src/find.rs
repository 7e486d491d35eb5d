//! Finding tools by words: what is asked, by whom, and why each card stands where it stands.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use model::UpstreamName;
use model::fault::one_line;
use search::{Ask, Explanation, Hit, Index, Twin};

use crate::browse::{Browse, bounded, folders, near_names};
use crate::cards::make_cards;
use crate::entry::Entry;
use crate::generation::Catalogue;
use crate::indexed::Meant;
use crate::limits;

/// How a caller looks for tools.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// From 1 to 50; what is outside is brought inside.
    pub top_k: usize,
    /// Tools the caller may see.
    pub allowed: &'a dyn Fn(&Entry) -> bool,
    /// Which of the entries the caller may see and use, where that is known already; then `allowed`
    /// is not asked.
    pub known: Option<&'a [bool]>,
    /// How often this very caller used a tool; decides between scores that are nearly the same.
    pub uses: Option<&'a dyn Fn(&Entry) -> u32>,
    /// Meanings that others made of this catalogue, and of the query.
    pub meaning: Option<(&'a Meant, &'a [f32])>,
    /// What the reader should know beside what is found.
    pub note: Option<&'a str>,
    /// Upstreams that do not answer, whose tools are shown as they were listed before.
    pub stale: Option<&'a BTreeSet<UpstreamName>>,
}

impl<'a> Look<'a> {
    pub fn new(top_k: usize, allowed: &'a dyn Fn(&Entry) -> bool) -> Self {
        Self { top_k, allowed, known: None, uses: None, meaning: None, note: None, stale: None }
    }
}

impl Look<'_> {
    /// Those of the entries' upstreams that do not answer.
    pub(crate) fn stale_among<'e>(
        &self,
        entries: impl Iterator<Item = &'e Arc<Entry>>,
    ) -> Vec<String> {
        let Some(stale) = self.stale.filter(|stale| !stale.is_empty()) else { return Vec::new() };
        let upstreams = entries.map(|entry| &entry.item.key.upstream);
        let among: BTreeSet<&UpstreamName> =
            upstreams.filter(|name| stale.contains(*name)).collect();
        let named = among.iter().take(limits::NEAR_MAX).map(|name| name.as_str().to_owned());
        let more = among.len().saturating_sub(limits::NEAR_MAX);
        named.chain((more > 0).then(|| format!("{more} more"))).collect()
    }
}

impl std::fmt::Debug for Look<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Look").field("top_k", &self.top_k).finish_non_exhaustive()
    }
}

impl Catalogue {
    /// Why the best tools for a query stand where they stand.
    pub fn explain(&self, words: &str, look: &Look<'_>) -> Vec<(Arc<Entry>, Explanation)> {
        let told = self.ask(words, look, Index::explain);
        let entry = |why: &Explanation| self.entries().get(why.doc).map(Arc::clone);
        told.into_iter().filter_map(|why| Some((entry(&why)?, why))).collect()
    }

    /// All that the caller may see and use.
    pub(crate) fn seen(&self, look: &Look<'_>) -> Vec<&Arc<Entry>> {
        let sight = self.sight(look);
        self.entries()
            .iter()
            .zip(&*sight)
            .filter_map(|(entry, seen)| seen.then_some(entry))
            .collect()
    }

    /// The same, one place an entry.
    fn sight<'l>(&self, look: &Look<'l>) -> Cow<'l, [bool]> {
        let entries = self.entries();
        if let Some(known) = look.known.filter(|known| known.len() == entries.len()) {
            return Cow::Borrowed(known);
        }
        let sees =
            |(number, entry): (usize, &Arc<Entry>)| self.is_usable(number) && (look.allowed)(entry);
        entries.iter().enumerate().map(sees).collect::<Vec<bool>>().into()
    }

    pub(crate) fn find(&self, words: &str, look: &Look<'_>) -> Browse {
        let ranking = self.ask(words, look, Index::ask);
        let scored: Vec<(Arc<Entry>, Option<f64>)> = ranking
            .hits
            .iter()
            .filter_map(|hit| Some((Arc::clone(self.entries().get(hit.doc)?), Some(hit.score))))
            .collect();
        let note = look.note.map(str::to_owned);
        let browse = Browse { unmatched: ranking.unmatched, note, ..Browse::default() };
        if scored.is_empty() {
            let seen = self.seen(look);
            let (folders, more) = bounded(folders(&seen), limits::NAMESPACES_NAMED_MAX);
            let hint = format!(
                "{more}nothing matches; try other words, or browse by path: `/` lists namespaces, \
                 `/namespace` its tools"
            );
            return Browse { folders, near: near_names(words, &seen), hint, ..browse };
        }
        let hint = if ranking.fits {
            "call one by its name, with these arguments"
        } else {
            "nothing fits well; these are the nearest. Try other words, or open a namespace by its path"
        };
        let alike = self.alike(&ranking.hits);
        let stale = look.stale_among(scored.iter().map(|(entry, _)| entry));
        let browse = Browse { hint: hint.to_owned(), alike, stale, ..browse };
        let cards = make_cards(&scored, scored.len(), browse.tokens(), self.generation());
        Browse { cards, ..browse }
    }

    /// Puts a look in the terms of the index.
    fn ask<T>(
        &self,
        words: &str,
        look: &Look<'_>,
        answer: impl FnOnce(&Index, &Ask<'_>) -> T,
    ) -> T {
        let own = &self.indexed().index;
        let entry = |number: usize| self.entries().get(number);
        let sight = self.sight(look);
        let sees = |number: usize| sight.get(number).copied().unwrap_or(false);
        let uses =
            look.uses.map(|uses| move |number: usize| entry(number).map_or(0, |entry| uses(entry)));
        let uses = uses.as_ref().map(|uses| uses as &dyn Fn(usize) -> u32);
        // Meanings of another generation would stand at the wrong tools.
        let meant = look.meaning.filter(|(meant, _)| meant.index.is_of(own));
        let index = meant.map_or(own, |(meant, _)| &meant.index);
        let top_k = look.top_k.clamp(1, limits::TOP_K_MAX);
        let meaning = meant.map(|(_, vector)| vector);
        answer(index, &Ask { uses, meaning, known: Some(&sight), ..Ask::new(words, top_k, &sees) })
    }

    /// One line for near-duplicates that differ in the same way.
    fn alike(&self, hits: &[Hit]) -> Vec<String> {
        let mut groups: Vec<(Twin, Vec<usize>)> = Vec::new();
        for twin in self.indexed().index.twins(hits) {
            let same = |(other, _): &&mut (Twin, Vec<usize>)| {
                other.of == twin.of && other.differs == twin.differs
            };
            match groups.iter_mut().find(same) {
                Some((_, docs)) => docs.push(twin.doc),
                None => groups.push((twin.clone(), vec![twin.of, twin.doc])),
            }
        }
        groups.iter().map(|(twin, docs)| self.alike_line(hits, twin, docs)).collect()
    }

    /// Names whichever are fewer: those that are alike, or all others.
    fn alike_line(&self, hits: &[Hit], twin: &Twin, docs: &[usize]) -> String {
        let own = |doc: usize| self.entries().get(doc).map(|entry| entry.item.name.as_str());
        // The upstream's own name is shorter, and says it all where only one hit has it.
        let short = |doc: usize| {
            let name = own(doc)?;
            let bearers = hits.iter().filter(|hit| own(hit.doc) == Some(name)).count();
            let shown = || self.entries().get(doc).map(|entry| entry.shown_name.as_str());
            if bearers == 1 { Some(name) } else { shown() }
        };
        let named = |docs: &mut dyn Iterator<Item = usize>| {
            let names =
                docs.filter_map(short).map(|name| one_line(name, limits::CARD_NAME_CHARS_MAX));
            names.collect::<Vec<_>>().join(", ")
        };
        let others: Vec<usize> =
            hits.iter().map(|hit| hit.doc).filter(|doc| !docs.contains(doc)).collect();
        let differs = &twin.differs;
        if docs.len() > 2 && others.is_empty() {
            return format!("all of these are much alike: {differs}");
        }
        if docs.len() > 2 && others.len() < docs.len() {
            let others = named(&mut others.into_iter());
            return format!("all but {others} are much alike: {differs}");
        }
        let of = named(&mut std::iter::once(twin.of));
        let twins = named(&mut docs.iter().copied().skip(1));
        format!("much like {of}: {twins}; {differs}")
    }
}

#[cfg(test)]
mod tests;
