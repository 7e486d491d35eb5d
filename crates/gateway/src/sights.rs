//! What each caller may see of the catalogue, worked out once and kept while neither the catalogue
//! nor the rules nor the caller changes. Calls are judged anew each time and never by this.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use catalog::{Catalogue, Entry as Tool};
use model::limits::{SIGHT_FRESH, VIEWS_MAX};
use model::{ApprovalMode, Caller, Generation, Grant, Principal, Timestamp};
use policy::{Rules, Sight};
use serde_json::{Map, Value};

use crate::browse::facts;
use crate::gateway::Gateway;

/// All that rules about listing can know a caller by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Viewer {
    principal: Principal,
    roles: Vec<String>,
    grants: Vec<Grant>,
    ceiling: Option<ApprovalMode>,
}

impl From<&Caller> for Viewer {
    fn from(caller: &Caller) -> Self {
        Self {
            principal: caller.principal.clone(),
            roles: caller.roles.clone(),
            grants: caller.grants.clone(),
            ceiling: caller.ceiling,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Sights(RwLock<HashMap<Viewer, View>>);

#[derive(Debug)]
struct View {
    generation: Generation,
    rules: Arc<Rules>,
    at: Timestamp,
    /// One place a tool of the catalogue.
    seen: Arc<[bool]>,
}

impl View {
    fn holds(&self, generation: Generation, rules: &Arc<Rules>, now: Timestamp) -> bool {
        self.generation == generation
            && Arc::ptr_eq(&self.rules, rules)
            && (!rules.looks().at_clock || now.since(self.at) < SIGHT_FRESH)
    }
}

impl Gateway {
    /// Which tools of the catalogue the caller may see and use; nothing where that is all that can
    /// be used.
    pub(crate) fn seen(&self, catalogue: &Catalogue, caller: &Caller) -> Option<Arc<[bool]>> {
        let rules = self.rules();
        if rules.permits_all() && caller.ceiling.is_none() {
            return None;
        }
        let (viewer, now) = (Viewer::from(caller), self.clock.now());
        let generation = catalogue.generation();
        let known = self.sights.0.read().unwrap_or_else(PoisonError::into_inner);
        let fresh = known.get(&viewer).filter(|view| view.holds(generation, &rules, now));
        if let Some(view) = fresh {
            return Some(Arc::clone(&view.seen));
        }
        drop(known);
        let seen: Arc<[bool]> = {
            let sees = self.viewing(&rules, caller);
            let tools = catalogue.entries().iter().zip(catalogue.usable());
            tools.map(|(tool, usable)| *usable && sees(tool)).collect()
        };
        let view = View { generation, rules, at: now, seen: Arc::clone(&seen) };
        let mut known = self.sights.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= VIEWS_MAX {
            known.clear();
        }
        known.insert(viewer, view);
        Some(seen)
    }

    /// Whether policy lets the caller know of a thing, to be asked of many at one moment.
    pub(crate) fn viewing<'a>(
        &self,
        rules: &'a Rules,
        caller: &'a Caller,
    ) -> impl Fn(&Tool) -> bool + use<'a> {
        let (sight, at, none) = (RefCell::new(Sight::new(rules)), self.clock.now(), Map::new());
        move |tool| {
            let no_args = (&Value::Null, &none);
            facts(caller, tool, no_args, at, |facts| sight.borrow_mut().sees(facts))
        }
    }
}
