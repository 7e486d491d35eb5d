//! The rules in force: swapped whole, while calls under way keep those they began with.

use std::sync::{Arc, PoisonError, RwLock};

use model::Listed;
use policy::Rules;

use crate::changes::Change;
use crate::gateway::Gateway;

#[derive(Debug)]
pub(crate) struct InForce {
    rules: RwLock<Arc<Rules>>,
    /// Why the rules that should be in force are not.
    trouble: RwLock<Option<String>>,
}

impl InForce {
    pub(crate) fn new(rules: Rules) -> Self {
        Self { rules: RwLock::new(Arc::new(rules)), trouble: RwLock::default() }
    }
}

impl Gateway {
    /// The rules of this moment. Hold on to them for the length of one call, not longer.
    pub fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.in_force.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts other rules in force. Lists made under the former ones are not shown again, and clients
    /// are told to look anew.
    pub fn swap_rules(&self, rules: Rules) {
        *self.in_force.trouble.write().unwrap_or_else(PoisonError::into_inner) = None;
        if rules.hash() == self.rules().hash() {
            return;
        }
        *self.in_force.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
        for what in [Listed::Tools, Listed::Prompts, Listed::Resources] {
            self.tell(Change::List(what));
        }
    }

    /// Notes that rules could not be put in force; the former ones stay.
    pub fn keep_rules(&self, trouble: String) {
        *self.in_force.trouble.write().unwrap_or_else(PoisonError::into_inner) = Some(trouble);
    }

    /// Why the rules in force are not those the operator wrote last.
    pub fn rules_trouble(&self) -> Option<String> {
        self.in_force.trouble.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
