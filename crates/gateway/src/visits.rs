//! Who was sent to an address, by the name their upstream gave that visit. Only they hear that it is
//! over, and nothing of what they did there ever passes here.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use model::UpstreamName;
use model::limits::{VISITS_MAX, VISITS_PER_ACCOUNT_MAX};

#[derive(Debug, Default)]
pub(crate) struct Visits(Mutex<VecDeque<Visit>>);

#[derive(Debug)]
struct Visit {
    upstream: UpstreamName,
    elicitation_id: String,
    account: String,
}

impl Visits {
    /// Remembers that this account was sent away by this upstream.
    pub(crate) fn begin(&self, upstream: &UpstreamName, elicitation_id: &str, account: &str) {
        let mut visits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        visits.retain(|visit| !visit.is(upstream, elicitation_id) || visit.account != account);
        let mine = |visit: &Visit| visit.account == account;
        if visits.iter().filter(|visit| mine(visit)).count() >= VISITS_PER_ACCOUNT_MAX {
            let oldest = visits.iter().position(mine);
            oldest.and_then(|oldest| visits.remove(oldest));
        }
        if visits.len() >= VISITS_MAX {
            visits.pop_front();
        }
        visits.push_back(Visit {
            upstream: upstream.clone(),
            elicitation_id: elicitation_id.to_owned(),
            account: account.to_owned(),
        });
    }

    /// Whose visit is over; nobody's, if this upstream sent nobody under this name. With an owner,
    /// that one's alone.
    pub(crate) fn end(
        &self,
        upstream: &UpstreamName,
        owner: Option<&str>,
        elicitation_id: &str,
    ) -> Vec<String> {
        let mut visits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut accounts = Vec::new();
        visits.retain(|visit| {
            let theirs = owner.is_none_or(|owner| owner == visit.account);
            let over = theirs && visit.is(upstream, elicitation_id);
            if over {
                accounts.push(visit.account.clone());
            }
            !over
        });
        accounts
    }
}

impl Visit {
    fn is(&self, upstream: &UpstreamName, elicitation_id: &str) -> bool {
        self.upstream == *upstream && self.elicitation_id == elicitation_id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visit_is_over_once_and_by_its_own_upstream() {
        let visits = Visits::default();
        let [a, b] = ["a", "b"].map(UpstreamName::from_string);
        visits.begin(&a, "e1", "user:ann");
        visits.begin(&a, "e1", "user:ann");
        visits.begin(&b, "e1", "user:bob");
        assert!(visits.end(&a, None, "e2").is_empty());
        assert!(visits.end(&a, Some("user:bob"), "e1").is_empty());
        assert_eq!(visits.end(&a, None, "e1"), ["user:ann"]);
        assert!(visits.end(&a, None, "e1").is_empty());
        assert_eq!(visits.end(&b, Some("user:bob"), "e1"), ["user:bob"]);
    }

    #[test]
    fn nobody_makes_anothers_visit_forgotten() {
        let visits = Visits::default();
        let upstream = UpstreamName::from_string("a");
        visits.begin(&upstream, "hers", "user:ann");
        for number in 0..VISITS_MAX {
            visits.begin(&upstream, &number.to_string(), "user:bob");
        }
        assert_eq!(visits.end(&upstream, None, "hers"), ["user:ann"]);
        assert!(visits.end(&upstream, None, "0").is_empty());
    }
}
