//! A permit that nobody decided on, through the maker that only `policy` may use.

use toolgate::model::Decision;
use toolgate::policy::{Facts, Permit};

pub fn forge(facts: &Facts<'_>, decision: &Decision) -> Permit {
    Permit::make(facts, decision)
}
