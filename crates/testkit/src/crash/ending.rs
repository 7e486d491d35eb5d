//! How each round ends: by chance from outside, or at one place after the other, so that none is
//! left out.

use std::time::Duration;

use store::failpoint;

use super::Dice;

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
    /// next place where it can.
    pub(super) fn of(round: u64, dice: &mut Dice) -> Self {
        let count = 1 + dice.below(PASSES_MAX);
        match round % 3 {
            0 => Self::Killed(Duration::from_millis(20 + dice.below(500))),
            1 => {
                let place = nth(&failpoint::PLACES, round / 3);
                Self::At(place, often(place, count))
            }
            _ => {
                let place = nth(&failpoint::WRITES, round / 3);
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

    /// Whether it comes to that place only where no gate was before.
    pub(super) fn wants_new_folder(&self) -> bool {
        self.place() == Some("seal.made")
    }
}

fn nth(places: &[&'static str], number: u64) -> &'static str {
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

    #[test]
    fn fifty_rounds_come_by_every_place() {
        let endings = (0..50).map(|round| Ending::of(round, &mut Dice::new(round)));
        let (mut died, mut failed) = (BTreeSet::new(), BTreeSet::new());
        for ending in endings {
            match ending {
                Ending::At(place, _) => drop(died.insert(place)),
                Ending::Failing(place, _) => drop(failed.insert(place)),
                Ending::Killed(_) | Ending::Cramped(_) => {}
            }
        }
        assert_eq!(died, BTreeSet::from(failpoint::PLACES));
        assert_eq!(failed, BTreeSet::from(failpoint::WRITES));
    }
}
