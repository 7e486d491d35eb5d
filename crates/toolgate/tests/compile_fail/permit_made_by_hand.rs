//! A permit that nobody decided on, through the maker that only `policy` may use.

use toolgate::model::{CallId, Decision, Effect, ItemKey};
use toolgate::policy::Permit;

pub fn forge(call: &CallId, key: &ItemKey, effect: Effect, decision: &Decision) -> Permit {
    Permit::make(call, key, None, &Default::default(), effect, decision)
}
