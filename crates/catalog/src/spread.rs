//! Work on many things by several threads, with the outcome in the order of the things.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder, available_parallelism};

/// More hands than this wait for memory, not for each other.
const HANDS_MAX: usize = 8;

/// Does the work on each item. Every thread makes itself a state, which its items share.
pub(crate) fn spread<T: Send, S, R: Send>(
    items: Vec<T>,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, T) -> R + Sync,
) -> Vec<R> {
    let hands = available_parallelism().map_or(1, NonZero::get).min(HANDS_MAX).min(items.len());
    let waiting = Mutex::new(items.into_iter().enumerate());
    let take = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let hand = || {
        let (mut state, mut done) = (state(), Vec::new());
        while let Some((place, item)) = take() {
            done.push((place, work(&mut state, item)));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        // A machine that gives no further thread gets its work done by this one.
        let others: Vec<_> =
            (1..hands).filter_map(|_| Builder::new().spawn_scoped(scope, hand).ok()).collect();
        let mut done = hand();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_stand_in_the_order_of_the_items() {
        let check = |count: usize| {
            let doubled = spread((0..count).collect(), || (), |(), item| item * 2);
            assert_eq!(doubled, (0..count).map(|item| item * 2).collect::<Vec<_>>());
        };
        check(0);
        check(1);
        check(1_000);
    }

    #[test]
    fn a_state_is_made_once_a_thread() {
        let made = Mutex::new(0);
        spread(vec![(); 100], || *made.lock().unwrap() += 1, |(), ()| ());
        let hands = available_parallelism().unwrap().get().min(HANDS_MAX);
        assert_eq!(made.into_inner().unwrap(), hands);
    }
}
