//! The shorter ways: browse and hydrate. Nothing here reaches an upstream; a query may reach an
//! embedding endpoint.

use std::collections::BTreeMap;

use catalog::{Browse, Catalogue, Entry as Tool, Look, Offering, Query, menu};
use context::{Cleared, Redactor, refuse, say};
use model::{CallId, Caller, Code, DecisionId, Fault, ItemKind, Method, Packed, Timestamp};
use policy::{Action, Facts, Rules};
use serde_json::{Map, Value};

use crate::gateway::Gateway;
use crate::meaning::Heard;
use crate::memory;
use crate::unknown::held_back;

/// Hits that are named in their order where the cards stand in another.
const RANKED_MAX: usize = 5;

impl Gateway {
    /// Cards for a query or a path.
    pub async fn browse(&self, caller: &Caller, query: &Query, top_k: Option<usize>) -> Cleared {
        self.browse_in(caller, None, query, top_k).await
    }

    /// The same within a run: what was shown in it before comes first, if the gate is set so.
    pub async fn browse_in(
        &self,
        caller: &Caller,
        run_id: Option<&str>,
        query: &Query,
        top_k: Option<usize>,
    ) -> Cleared {
        let uses = self.uses(caller).await;
        let Heard { meaning, note } = self.hear(query).await;
        let catalogue = self.catalogue();
        let seen = self.seen(&catalogue, caller);
        let stale = self.offers.silent();
        let used = |tool: &Tool| uses.get(&tool.item.key.to_string()).copied().unwrap_or_default();
        let look = Look {
            uses: self.settings.search.feedback.then_some(&used as &dyn Fn(&Tool) -> u32),
            meaning: meaning.as_ref().map(|(meant, vector)| (meant.as_ref(), vector.as_slice())),
            known: Some(seen.as_deref().unwrap_or(catalogue.usable())),
            note: note.as_deref(),
            stale: Some(&stale),
            // Never asked: all is known.
            ..Look::new(top_k.unwrap_or_else(|| self.cards_unasked()), &|_| false)
        };
        match catalogue.browse_as(query, &look) {
            Ok(found) => {
                let found = self.arranged(&catalogue, caller, run_id, found);
                tell(&found, &self.settings.redactor)
            }
            Err(fault) => self.refuse(&fault),
        }
    }

    /// Prompts or resources for a query, or all of them.
    pub fn look(
        &self,
        caller: &Caller,
        kind: ItemKind,
        query: Option<&str>,
        top_k: Option<usize>,
    ) -> Cleared {
        let rules = self.rules();
        let allowed = self.viewing(&rules, caller);
        let top_k = top_k.unwrap_or_else(|| self.cards_unasked());
        let Offering { text, structured } = self.catalogue().offering(kind, query, top_k, &allowed);
        say(text, Some(structured), &self.settings.redactor)
    }

    /// Cards of a browse whose caller wants no other number.
    fn cards_unasked(&self) -> usize {
        catalog::limits::TOP_K_DEFAULT.min(self.settings.max_cards)
    }

    /// Cards in the order a prompt cache can live with, if the gate is set so.
    fn arranged(
        &self,
        catalogue: &Catalogue,
        caller: &Caller,
        run_id: Option<&str>,
        found: Browse,
    ) -> Browse {
        let key = memory::key(caller, run_id).filter(|_| self.settings.cache_stable);
        let Some(key) = key else { return found };
        let sees = |id: &str| {
            let tool = catalogue.resolve(id);
            tool.is_some_and(|tool| tool.quarantined().is_none() && visible(self, caller, tool))
        };
        let generation = catalogue.generation();
        let best = found.cards.iter().filter(|card| card.score.is_some());
        let ranked = best.take(RANKED_MAX).map(|card| card.id.clone()).collect();
        let cards = self.memory.with(key, |seen| seen.arrange(found.cards, generation, &sees));
        Browse { cards, ranked, ..found }
    }

    /// How often this caller, and nobody else, used each tool; nothing unless that is wanted.
    async fn uses(&self, caller: &Caller) -> BTreeMap<String, u32> {
        if !self.settings.search.feedback {
            return BTreeMap::new();
        }
        let uses = self.store.uses(&caller.principal.to_string()).await;
        uses.unwrap_or_else(|fault| {
            tracing::warn!(reason = fault.message, "ranking without the caller's former calls");
            BTreeMap::new()
        })
    }

    async fn hear(&self, query: &Query) -> Heard {
        let Query::Words(words) = query else { return Heard::default() };
        if self.meaning.is_rested() {
            self.learn_of(self.catalogue()).await;
        }
        self.meaning.hear(words).await
    }

    /// A fault in words a model can act on.
    pub fn refuse(&self, fault: &Fault) -> Cleared {
        refuse(fault, &self.settings.redactor)
    }

    /// The whole definition of one tool.
    pub fn hydrate(&self, caller: &Caller, tool_id: &str) -> Cleared {
        self.hydrate_in(caller, None, tool_id)
    }

    /// The same within a run, where it counts as seen.
    pub fn hydrate_in(&self, caller: &Caller, run_id: Option<&str>, tool_id: &str) -> Cleared {
        match self.describe(caller, tool_id) {
            Ok(definition) => {
                self.note_seen(caller, run_id, tool_id);
                say(definition.to_string(), Some(definition), &self.settings.redactor)
            }
            Err(fault) => self.refuse(&fault),
        }
    }

    /// What a tool's arguments must look like, if this caller may see the tool.
    pub fn input_schema(&self, caller: &Caller, name: &str) -> Option<Packed> {
        let catalogue = self.catalogue();
        let tool = catalogue.resolve(name).filter(|tool| visible(self, caller, tool))?;
        Some(tool.item.input_schema.clone())
    }

    fn note_seen(&self, caller: &Caller, run_id: Option<&str>, tool_id: &str) {
        let catalogue = self.catalogue();
        let key = memory::key(caller, run_id).filter(|_| self.settings.cache_stable);
        if let (Some(key), Some(tool)) = (key, catalogue.resolve(tool_id)) {
            let (card, generation) =
                (tool.card(catalog::cards::Form::Full), catalogue.generation());
            self.memory.with(key, |seen| seen.note(card, generation));
        }
    }

    /// The definition of a tool this caller may see, under the name it is shown by.
    pub fn describe(&self, caller: &Caller, tool_id: &str) -> Result<Value, Fault> {
        let catalogue = self.catalogue();
        let found = catalogue.resolve(tool_id).filter(|tool| visible(self, caller, tool));
        let unknown = || self.unknown_tool(caller, tool_id, Code::HydrateFailed);
        let tool = found.ok_or_else(unknown)?;
        if let Some(fault) = held_back(tool) {
            return Err(fault);
        }
        let mut definition = tool.definition();
        if let Some(object) = definition.as_object_mut() {
            object.insert("name".into(), menu::name_in(self.mode(), tool).into());
        }
        Ok(definition)
    }
}

/// Whether policy lets the caller know that the tool exists. Hidden here means hidden everywhere.
pub(crate) fn visible(gateway: &Gateway, caller: &Caller, tool: &Tool) -> bool {
    visible_by(&gateway.rules(), gateway, caller, tool)
}

/// The same by rules that a call began with.
pub(crate) fn visible_by(rules: &Rules, gateway: &Gateway, caller: &Caller, tool: &Tool) -> bool {
    // Where everybody may see everything, nothing need be asked.
    let all = rules.permits_all() && caller.ceiling.is_none();
    all || may(rules, Action::List, gateway, caller, (tool, &Value::Null))
}

/// Whether policy lets somebody do this about a tool, with these arguments in view.
pub(crate) fn may(
    rules: &Rules,
    action: Action,
    gateway: &Gateway,
    caller: &Caller,
    (tool, args): (&Tool, &Value),
) -> bool {
    let no_params = Map::new();
    let now = gateway.clock.now();
    facts(caller, tool, (args, &no_params), now, |facts| policy::may(rules, action, facts))
}

/// What policy is told of somebody who would do nothing that reaches an upstream.
pub(crate) fn facts<T>(
    caller: &Caller,
    tool: &Tool,
    (args, params): (&Value, &Map<String, Value>),
    at: Timestamp,
    judge: impl FnOnce(&Facts<'_>) -> T,
) -> T {
    let (call_id, decision_id) = (CallId::from_string(""), DecisionId::from_string(""));
    let method = match tool.item.kind {
        ItemKind::Resource => Method::ReadResource,
        ItemKind::Prompt => Method::GetPrompt,
        ItemKind::Tool | ItemKind::Skill | ItemKind::Internal => Method::CallTool,
    };
    judge(&Facts {
        call_id: &call_id,
        decision_id: &decision_id,
        caller,
        method: &method,
        item: &tool.item,
        capability: tool.capability.as_ref(),
        declared: tool.declared,
        args,
        written: None,
        params,
        intent: None,
        spent: None,
        at,
    })
}

fn tell(found: &Browse, redactor: &Redactor) -> Cleared {
    say(found.to_text(), Some(found.to_json()), redactor)
}
