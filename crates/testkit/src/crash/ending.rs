//! How each round ends: by chance from outside, or at one place after the other, so that none is
//! left out.

use std::time::Duration;

use store::failpoint;

use super::Dice;

/// Where gates keep what they write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Database {
    Folder,
    Server,
}

/// Passed by entries that need no more than to be there. Where there are others all the time, those take
/// them along, and nothing is left for the journal to file.
const JOURNAL: [&str; 4] = ["journal.written", "filing.begun", "filing.written", "filing.done"];

/// How the process is to die.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Killed from outside after this time.
    Killed(Duration),
    /// It ends itself when it passes this place so many times.
    At(&'static str, u64),
    /// A write of its store fails there; then it is killed.
    Failing(&'static str, u64),
    /// No file may grow beyond so many blocks of 1024 bytes, until there is room again.
    Cramped(u64),
}

/// Passed once or seldom in the life of a gate.
const SELDOM: [&str; 6] = [
    "batch.formed",
    "opening.redeemed",
    "artifact.written",
    "checkpoint.stored",
    "checkpoint.noted",
    "seal.made",
];
/// How often the others are passed before something happens, at most.
const PASSES_MAX: u64 = 12;

impl Ending {
    /// Of three rounds one dies by chance, one at the next place, and in one a write fails at the
    /// next place where it can. A server has no journal, and so none of its places.
    pub(super) fn of(round: u64, dice: &mut Dice, database: Database) -> Self {
        let count = 1 + dice.below(PASSES_MAX);
        match round % 3 {
            0 => Self::Killed(Duration::from_millis(20 + dice.below(500))),
            1 => {
                let place = nth(&failpoint::PLACES, database, round / 3);
                Self::At(place, often(place, count))
            }
            _ => {
                let place = nth(&failpoint::WRITES, database, round / 3);
                Self::Failing(place, often(place, count))
            }
        }
    }

    /// The place it must come to, if it must.
    pub(super) fn place(&self) -> Option<&'static str> {
        match self {
            Self::At(place, _) | Self::Failing(place, _) => Some(place),
            Self::Killed(_) | Self::Cramped(_) => None,
        }
    }

    /// Whether it comes to that place where calls only read.
    pub(super) fn wants_reads(&self) -> bool {
        self.place().is_some_and(|place| JOURNAL.contains(&place))
    }

    /// Whether it comes to that place only where no gate was before.
    pub(super) fn wants_new_folder(&self) -> bool {
        self.place() == Some("seal.made")
    }
}

fn nth(places: &[&'static str], database: Database, number: u64) -> &'static str {
    let there = |place: &&str| database == Database::Folder || !JOURNAL.contains(place);
    let places: Vec<&str> = places.iter().copied().filter(there).collect();
    let at = number % u64::try_from(places.len()).unwrap_or(1);
    places.get(usize::try_from(at).unwrap_or_default()).copied().unwrap_or("batch.written")
}

fn often(place: &str, count: u64) -> u64 {
    if SELDOM.contains(&place) { 1 } else { count }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn check(database: Database, rounds: u64, expected: impl Fn(&&str) -> bool + Copy) {
        let endings = (0..rounds).map(|round| Ending::of(round, &mut Dice::new(round), database));
        let (mut died, mut failed) = (BTreeSet::new(), BTreeSet::new());
        for ending in endings {
            match ending {
                Ending::At(place, _) => drop(died.insert(place)),
                Ending::Failing(place, _) => drop(failed.insert(place)),
                Ending::Killed(_) | Ending::Cramped(_) => {}
            }
        }
        let all = |places: &[&'static str]| places.iter().copied().filter(expected).collect();
        assert_eq!(died, all(&failpoint::PLACES));
        assert_eq!(failed, all(&failpoint::WRITES));
    }

    #[test]
    fn the_rounds_of_the_tests_come_by_every_place() {
        check(Database::Folder, 200, |_| true);
        check(Database::Server, 50, |place| !JOURNAL.contains(place));
    }
}
