//! What upstreams offer, as last heard, and who of them has not answered since.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use model::{Fault, Listed, UpstreamName};
use serde_json::Value;
use tokio::sync::Mutex;
use upstream::Offer;

use crate::in_force::Manifests;

/// What is known of each upstream.
#[derive(Debug, Default)]
pub(crate) struct Offers {
    pub(crate) known: Mutex<Known>,
    /// To be read without waiting.
    marks: RwLock<Marks>,
}

#[derive(Clone, Debug, Default)]
struct Marks {
    /// Some tools are shown as they were listed before.
    stale: bool,
    /// Those of them who were asked since, and did not answer.
    silent: Arc<BTreeSet<UpstreamName>>,
}

impl Offers {
    pub(crate) fn new(manifests: Arc<Manifests>) -> Self {
        Self { known: Mutex::new(Known { manifests, ..Known::default() }), ..Self::default() }
    }

    pub(crate) fn is_stale(&self) -> bool {
        self.marks().stale
    }

    /// Whose tools are shown as they were listed before, because they do not answer. One that is only
    /// being asked is not among them: what is said of it would change with the next word.
    pub(crate) fn silent(&self) -> Arc<BTreeSet<UpstreamName>> {
        self.marks().silent
    }

    fn marks(&self) -> Marks {
        self.marks.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn mark(&self, known: &Known) {
        let stale = || known.offers.iter().filter(|(_, heard)| heard.stale).map(|(name, _)| name);
        let silent = stale().filter(|name| known.faults.contains_key(*name)).cloned().collect();
        let marks = Marks { stale: stale().next().is_some(), silent: Arc::new(silent) };
        *self.marks.write().unwrap_or_else(PoisonError::into_inner) = marks;
    }
}

#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The number of the last generation.
    pub(crate) last: u64,
    /// Who has listed something that was not yet held against its pins. Only such lists become
    /// pins: neither a copy nor a list from before may undo what somebody has accepted since.
    pub(crate) new: BTreeSet<UpstreamName>,
    /// Of the pins the last generation was held against.
    pub(crate) pins_mark: (i64, i64),
    pub(crate) offers: BTreeMap<UpstreamName, Heard>,
    pub(crate) faults: BTreeMap<UpstreamName, Fault>,
    /// By which the next generation is made.
    pub(crate) manifests: Arc<Manifests>,
}

#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) offer: Remembered,
    pub(crate) stale: bool,
}

/// An offer while nobody looks at it. Tools are the bulk of it, and text is a quarter of the size
/// of values.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Remembered {
    tools: String,
    pub(crate) count: usize,
    pub(crate) rest: Offer,
}

impl Remembered {
    pub(crate) fn new(mut offer: Offer) -> Self {
        let tools = std::mem::take(&mut offer.tools);
        Self { count: tools.len(), tools: Value::Array(tools).to_string(), rest: offer }
    }

    pub(crate) fn recall(&self) -> Offer {
        // INVARIANT: written by `new` from values.
        Offer { tools: serde_json::from_str(&self.tools).unwrap_or_default(), ..self.rest.clone() }
    }
}

impl Known {
    /// A list that could not be had leaves the former one in place, marked.
    pub(crate) fn remember(&mut self, name: UpstreamName, list: Result<Remembered, Fault>) {
        match list {
            Ok(offer) => {
                self.faults.remove(&name);
                self.new.insert(name.clone());
                self.offers.insert(name, Heard { offer, stale: false });
            }
            Err(fault) => {
                if let Some(heard) = self.offers.get_mut(&name) {
                    heard.stale = true;
                }
                self.faults.insert(name, fault);
            }
        }
    }

    pub(crate) fn failures(&self) -> Vec<(UpstreamName, Fault)> {
        self.faults.iter().map(|(name, fault)| (name.clone(), fault.clone())).collect()
    }
}

/// An offer with what was known of the lists that it leaves out.
pub(crate) fn as_before(former: Option<&Heard>, offer: Offer) -> Offer {
    match former {
        Some(former) => offer.or_as_before(&former.offer.rest),
        None => offer,
    }
}

/// Which lists are not what they were. What else an upstream says of itself counts as its tools.
pub(crate) fn differences(former: Option<&Heard>, offer: &Remembered) -> Vec<Listed> {
    let none = Remembered::default();
    let former_offer = former.map_or(&none, |former| &former.offer);
    let (was, is) = (&former_offer.rest, &offer.rest);
    let about = (&was.capabilities, &was.instructions, &was.speaks)
        != (&is.capabilities, &is.instructions, &is.speaks);
    [
        (Listed::Tools, former.is_none() || about || former_offer.tools != offer.tools),
        (Listed::Prompts, was.prompts != is.prompts),
        (Listed::Resources, was.resources != is.resources || was.templates != is.templates),
    ]
    .into_iter()
    .filter_map(|(what, differs)| differs.then_some(what))
    .collect()
}
