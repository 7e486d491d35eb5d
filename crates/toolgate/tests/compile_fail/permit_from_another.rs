//! A permit for other arguments than those that were judged.

use toolgate::policy::Permit;

pub fn forge(honest: Permit, other: &Permit) -> Permit {
    Permit { args: other.arguments().clone(), ..honest }
}
