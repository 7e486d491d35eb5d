//! Everything a decision may rest on, and how it looks to Cedar.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::str::FromStr;
use std::sync::{PoisonError, RwLock};

use cedar_policy::{
    Context, Entities, Entity, EntityId, EntityTypeName, EntityUid, Request, RestrictedExpression,
};
use manifest::Capability;
use model::canonical::Field;
use model::{
    ApprovalMode, CallId, Caller, CapClass, DecisionId, Effect, Item, ItemKind, Method,
    PrincipalKind, Spent, Timestamp, canonical,
};
use serde_json::{Map, Value, json};

/// What is being asked for, by whom, with what.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    pub call_id: &'a CallId,
    /// The id this decision will be known by.
    pub decision_id: &'a DecisionId,
    pub caller: &'a Caller,
    pub method: &'a Method,
    pub item: &'a Item,
    /// Absent for a tool no manifest declares: then the worst case holds.
    pub capability: Option<&'a Capability>,
    /// A manifest declares it, though it is no tool and so has no capability.
    pub declared: bool,
    pub args: &'a Value,
    /// `args` letter by letter, where the value does not keep how numbers are spelled.
    pub written: Option<&'a str>,
    /// What else the request carries to the upstream.
    pub params: &'a Map<String, Value>,
    /// What the caller says it is about.
    pub intent: Option<&'a str>,
    /// What its run has used up, where runs have budgets.
    pub spent: Option<Spent>,
    pub at: Timestamp,
}

impl Facts<'_> {
    pub fn class(&self) -> CapClass {
        let unlisted = if self.method.only_looks() { CapClass::Observe } else { CapClass::Act };
        self.capability.map_or(unlisted, |capability| capability.class)
    }

    /// Whether a manifest speaks of it.
    pub(crate) fn is_declared(&self) -> bool {
        self.declared || self.capability.is_some()
    }

    pub fn mode(&self) -> ApprovalMode {
        if self.method.only_looks() {
            return ApprovalMode::ReadOnly;
        }
        self.capability.map_or(ApprovalMode::Destructive, |capability| capability.approval_mode)
    }

    /// Whether the caller may not go as far as this, whatever policies say.
    pub(crate) fn over_ceiling(&self) -> bool {
        self.caller.ceiling.is_some_and(|ceiling| self.mode() > ceiling)
    }

    pub fn effect(&self) -> Effect {
        if self.method.only_looks() {
            return Effect::Read;
        }
        self.capability.map_or(Effect::External, Capability::effect)
    }

    /// SHA-256 over everything the policy sees, so that a decision can be compared later.
    pub(crate) fn hash(&self) -> String {
        let mut principals = Vec::with_capacity(128);
        self.caller.write_chain(&mut principals);
        let key = &self.item.key;
        let tool = [
            ("kind", Field::Text(key.kind.as_str())),
            ("name", Field::Text(&key.name)),
            ("upstream", Field::Text(key.upstream.as_str())),
        ];
        let capability = self.capability.map(|capability| capability.capability_id.as_str());
        let more = self.circumstances();
        // In the order they are hashed in, which spares sorting them for every call.
        let fields = [
            ("args", Field::Value(self.args)),
            ("capability", capability.map_or(Field::Null, Field::Text)),
            ("class", Field::Text(self.class().as_str())),
            ("definition", Field::Text(&self.item.full_hash)),
            ("effect", Field::Text(self.effect().as_str())),
            ("method", Field::Text(self.method.as_str())),
            ("mode", Field::Text(self.mode().as_str())),
            ("principals", Field::Written(&principals)),
            ("tool", Field::Fields(&tool)),
        ];
        // Most calls have neither, and records from before know of neither.
        let circumstances = (!more.is_null()).then_some(("circumstances", Field::Value(&more)));
        let declared = self.declared.then_some(("declared", Field::Text("true")));
        canonical::hash_fields(fields.into_iter().chain(circumstances).chain(declared))
    }

    fn circumstances(&self) -> Value {
        let Caller { grants, roles, ceiling, .. } = self.caller;
        if grants.is_empty() && roles.is_empty() && ceiling.is_none() && self.intent.is_none() {
            return Value::Null;
        }
        json!({"grants": grants, "roles": roles, "ceiling": ceiling, "intent": self.intent})
    }
}

/// The facts could not be put into Cedar's terms; the call is then denied.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unspeakable(String);

pub(crate) struct Asked {
    pub(crate) request: Request,
    pub(crate) entities: Entities,
}

/// Puts the facts before Cedar: who, what, on which tool, with which arguments.
pub(crate) fn ask(action: &str, facts: &Facts<'_>) -> Result<Asked, Unspeakable> {
    let principal = principal(facts.caller)?;
    let resource = resource(facts)?;
    let action = uid(Kind::Action, action)?;
    let context = context(facts)?;
    let request = Request::new(principal.uid(), action, resource.uid(), context, None);
    let entities = Entities::from_entities([principal, resource], None);
    Ok(Asked { request: request.map_err(unspeakable)?, entities: entities.map_err(unspeakable)? })
}

fn principal(Caller { principal, roles, .. }: &Caller) -> Result<Entity, Unspeakable> {
    let tenant = principal.tenant_id.as_deref().unwrap_or_default();
    let attributes = HashMap::from([("tenant".to_owned(), text(tenant))]);
    let roles: Result<HashSet<_>, _> = roles.iter().map(|role| uid(Kind::Role, role)).collect();
    Entity::new(uid(Kind::Principal(principal.kind), &principal.id)?, attributes, roles?)
        .map_err(unspeakable)
}

fn resource(facts: &Facts<'_>) -> Result<Entity, Unspeakable> {
    let item = facts.item;
    let capability = facts.capability.map_or("", |capability| capability.capability_id.as_str());
    let attributes = HashMap::from([
        ("name".to_owned(), text(&item.name)),
        ("upstream".to_owned(), text(item.key.upstream.as_str())),
        ("namespace".to_owned(), text(&item.namespace)),
        ("capability".to_owned(), text(capability)),
        ("declared".to_owned(), RestrictedExpression::new_bool(facts.is_declared())),
        ("class".to_owned(), text(facts.class().as_str())),
        ("mode".to_owned(), text(facts.mode().as_str())),
        ("effect".to_owned(), text(facts.effect().as_str())),
    ]);
    let parents = HashSet::from([
        uid(Kind::Upstream, item.key.upstream.as_str())?,
        uid(Kind::Namespace, &item.namespace)?,
    ]);
    let kind = match item.kind {
        ItemKind::Resource => Kind::Resource,
        ItemKind::Prompt => Kind::Prompt,
        ItemKind::Tool | ItemKind::Skill | ItemKind::Internal => Kind::Tool,
    };
    Entity::new(uid(kind, &item.key.to_string())?, attributes, parents).map_err(unspeakable)
}

fn context(facts: &Facts<'_>) -> Result<Context, Unspeakable> {
    if weight(facts.args, ARGUMENTS_MAX) > ARGUMENTS_MAX {
        return Err(Unspeakable(format!("there are more than {ARGUMENTS_MAX} values in it")));
    }
    let arguments = match facts.args {
        // A template answers for many addresses: which it is can matter.
        _ if *facts.method == Method::ReadResource => {
            let uri = facts.params.get("uri").and_then(Value::as_str);
            let uri = uri.map(|uri| ("uri".to_owned(), text(uri)));
            RestrictedExpression::new_record(uri).map_err(unspeakable)?
        }
        Value::Object(arguments) => record(arguments)?,
        _ => RestrictedExpression::new_record([]).map_err(unspeakable)?,
    };
    let now = RestrictedExpression::new_long(facts.at.as_millis());
    let scopes = facts.caller.grants.iter().map(|grant| text(&grant.to_string()));
    let mut pairs = vec![
        ("arguments".to_owned(), arguments),
        ("now_ms".to_owned(), now),
        ("scopes".to_owned(), RestrictedExpression::new_set(scopes)),
    ];
    pairs.extend(facts.intent.map(|intent| ("intent".to_owned(), text(intent))));
    if let Some(Spent { calls, writes }) = facts.spent {
        let long = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let long = |count: u64| RestrictedExpression::new_long(long(count));
        let spent = [("calls".to_owned(), long(calls)), ("writes".to_owned(), long(writes))];
        let spent = RestrictedExpression::new_record(spent).map_err(unspeakable)?;
        pairs.push(("budget".to_owned(), spent));
    }
    Context::from_pairs(pairs).map_err(unspeakable)
}

/// Values in the arguments that rules are asked about. Cedar ends always, and with so few soon.
const ARGUMENTS_MAX: usize = 20_000;

/// How many values there are, counted until they are too many.
fn weight(value: &Value, most: usize) -> usize {
    let mut open = vec![value];
    let mut count = 0;
    while let Some(value) = open.pop() {
        count += 1;
        if count > most {
            break;
        }
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.values()),
            _ => {}
        }
    }
    count
}

/// The kinds of things rules speak about.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Action,
    Role,
    Principal(PrincipalKind),
    Tool,
    Resource,
    Prompt,
    Upstream,
    Namespace,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Action => "Action",
            Self::Role => "Role",
            Self::Principal(PrincipalKind::User) => "User",
            Self::Principal(PrincipalKind::Service) => "Service",
            Self::Principal(PrincipalKind::Agent) => "Agent",
            Self::Principal(PrincipalKind::Automation) => "Automation",
            Self::Tool => "Tool",
            Self::Resource => "Resource",
            Self::Prompt => "Prompt",
            Self::Upstream => "Upstream",
            Self::Namespace => "Namespace",
        }
    }
}

fn uid(kind: Kind, id: &str) -> Result<EntityUid, Unspeakable> {
    Ok(EntityUid::from_type_name_and_id(type_name(kind.name())?, EntityId::new(id)))
}

/// Cedar reads a type's name with a parser; ten names need to be read only once.
fn type_name(name: &'static str) -> Result<EntityTypeName, Unspeakable> {
    static READ: RwLock<BTreeMap<&'static str, EntityTypeName>> = RwLock::new(BTreeMap::new());
    if let Some(known) = READ.read().unwrap_or_else(PoisonError::into_inner).get(name) {
        return Ok(known.clone());
    }
    let read = EntityTypeName::from_str(name).map_err(unspeakable)?;
    READ.write().unwrap_or_else(PoisonError::into_inner).insert(name, read.clone());
    Ok(read)
}

fn record(object: &Map<String, Value>) -> Result<RestrictedExpression, Unspeakable> {
    let fields: Result<Vec<_>, Unspeakable> = object
        .iter()
        .filter_map(|(key, value)| {
            expression(value).transpose().map(|value| Ok((key.clone(), value?)))
        })
        .collect();
    RestrictedExpression::new_record(fields?).map_err(unspeakable)
}

/// A JSON value in Cedar's terms. Cedar has no null: such a field is absent.
fn expression(value: &Value) -> Result<Option<RestrictedExpression>, Unspeakable> {
    Ok(Some(match value {
        Value::Null => return Ok(None),
        Value::Bool(value) => RestrictedExpression::new_bool(*value),
        Value::String(value) => text(value),
        Value::Number(number) => match number.as_i64() {
            Some(long) => RestrictedExpression::new_long(long),
            None => decimal(number)?,
        },
        Value::Array(items) => {
            let items: Result<Vec<_>, _> =
                items.iter().filter_map(|item| expression(item).transpose()).collect();
            RestrictedExpression::new_set(items?)
        }
        Value::Object(object) => record(object)?,
    }))
}

/// Cedar's decimals have four places; a number that does not fit cannot be judged, so it is refused.
/// Rounded, it would be another than the one that is sent.
fn decimal(number: &serde_json::Number) -> Result<RestrictedExpression, Unspeakable> {
    const DECIMAL_MAX: f64 = 922_337_203_685_477.0;
    let Some(value) = number.as_f64().filter(|value| value.abs() < DECIMAL_MAX) else {
        return Err(Unspeakable(format!("number `{number}` is too large to be judged")));
    };
    let written = format!("{value:.4}");
    if written.parse::<f64>().is_ok_and(|read| read.to_bits() == value.to_bits()) {
        return Ok(RestrictedExpression::new_decimal(written));
    }
    Err(Unspeakable(format!("number `{number}` has more than four places, too fine to be judged")))
}

fn text(value: &str) -> RestrictedExpression {
    RestrictedExpression::new_string(value.to_owned())
}

fn unspeakable(error: impl std::fmt::Display) -> Unspeakable {
    Unspeakable(error.to_string())
}
