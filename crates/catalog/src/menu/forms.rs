//! The arguments of the gate's own tools, held against the very schemas that are listed.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use model::Fault;
use serde_json::{Map, Value, json};

use super::{meta, shelf};
use crate::schema::{Schema, outline};

/// Arguments as one of our own tools reads them: what is `null` is left out, `args` and `selector`
/// that are left out are there, and a whole number is written as one.
///
/// Refused with every error, each with its place, and the schema. A name that is not ours has
/// nothing to be held against.
pub fn fit(name: &str, max_cards: usize, args: Value) -> Result<Value, Fault> {
    let Some(form) = form(name, max_cards) else { return Ok(args) };
    let args = fill(name, args);
    match form.check.misfit(name, &args) {
        None => Ok(args),
        Some(fault) => {
            let schema = outline(&form.schema, &fault.violations);
            Err(fault.with("schema", schema))
        }
    }
}

struct Form {
    /// As it is listed.
    schema: Value,
    check: Schema,
}

/// Few names and few numbers of cards: this stays small.
static FORMS: RwLock<BTreeMap<(String, usize), Arc<Form>>> = RwLock::new(BTreeMap::new());

fn form(name: &str, max_cards: usize) -> Option<Arc<Form>> {
    let key = (name.to_owned(), max_cards);
    if let Some(form) = FORMS.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return Some(Arc::clone(form));
    }
    let schema = listed(name, max_cards)?.get("inputSchema")?.clone();
    let check = Schema::compile(&checked(&schema)).ok()?;
    let form = Arc::new(Form { schema, check });
    FORMS.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&form));
    Some(form)
}

fn listed(name: &str, max_cards: usize) -> Option<Value> {
    let scope = meta::Scope::bare(max_cards);
    let nothing = shelf::Stock { count: 0, servers: String::new() };
    let [resource_browse, resource_read] = shelf::resources(&nothing, max_cards);
    let [prompt_browse, prompt_get] = shelf::prompts(&nothing, max_cards);
    Some(match name {
        super::TOOL_BROWSE => meta::browse(&scope),
        super::TOOL_HYDRATE => meta::hydrate(&scope),
        super::TOOL_EXECUTE | super::TOOL_READ | super::TOOL_WRITE | super::TOOL_DESTROY => {
            meta::execute(&scope, None)
        }
        super::TOOL_VIEW => meta::view(&scope),
        super::RESOURCE_BROWSE => resource_browse,
        super::RESOURCE_READ => resource_read,
        super::PROMPT_BROWSE => prompt_browse,
        super::PROMPT_GET => prompt_get,
        _ => return None,
    })
}

/// A selector is read by its own reader: of nine shapes a validator can say only that none fits.
fn checked(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(selector) = schema.pointer_mut("/properties/selector") {
        *selector = true.into();
    }
    schema
}

fn fill(name: &str, args: Value) -> Value {
    let Value::Object(mut args) = args else { return args };
    args.retain(|_, value| !value.is_null());
    match name {
        super::TOOL_EXECUTE | super::TOOL_READ | super::TOOL_WRITE | super::TOOL_DESTROY => {
            args.entry("args").or_insert_with(|| Map::new().into());
        }
        // What the gate passes on is not the gate's to respell.
        super::PROMPT_GET => {}
        super::TOOL_VIEW => {
            args.entry("selector").or_insert_with(|| json!({"type": "head"}));
            args.values_mut().for_each(respell);
        }
        _ => args.values_mut().for_each(respell),
    }
    args.into()
}

/// JSON Schema takes 3.0 for an integer.
fn respell(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            #[expect(clippy::cast_possible_truncation, reason = "only what comes out the same")]
            let whole = number.as_f64().map(|float| (float, float as i64));
            #[expect(clippy::cast_precision_loss, reason = "only what comes out the same")]
            if let Some((_, whole)) =
                whole.filter(|(float, whole)| (*whole as f64).to_bits() == float.to_bits())
            {
                *value = whole.into();
            }
        }
        Value::Object(fields) => fields.values_mut().for_each(respell),
        Value::Array(items) => items.iter_mut().for_each(respell),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Code;

    /// gateway-spec §8.
    #[test]
    fn every_error_has_its_place_and_the_schema_beside_it() {
        let check = |name: &str, args: Value, places: &[&str]| {
            let fault = fit(name, 20, args).unwrap_err();
            assert_eq!((fault.code, fault.path.as_str()), (Code::ArgsInvalid, name));
            let found: Vec<&str> =
                fault.violations.iter().map(|one| one.instance_path.as_str()).collect();
            assert_eq!(found, places, "{fault}");
            assert_eq!(fault.details["schema"]["type"], "object");
        };
        check("tool_browse", json!({"query": "a", "top_k": "3"}), &["/top_k"]);
        check("tool_browse", json!({"query": "", "top_k": 21, "x": 1}), &["", "/query", "/top_k"]);
        check("tool_browse", json!({"query": "a".repeat(1_001)}), &["/query"]);
        check("tool_browse", json!(7), &[""]);
        check("tool_execute", json!({}), &[""]);
        check(
            "tool_write",
            json!({"tool_id": "", "args": [], "dry_run": "no"}),
            &["/args", "/dry_run", "/tool_id"],
        );
        check("tool_hydrate", json!({"tool_id": 7}), &["/tool_id"]);
        check("tool_view", json!({"handle": null}), &[""]);
        check("resource_read", json!({"uri": ""}), &["/uri"]);
        check("resource_browse", json!({"top_k": 0}), &["/top_k"]);
        check("prompt_get", json!({"name": "p", "args": {"a": 1}}), &["/args/a"]);
    }

    #[test]
    fn what_models_write_loosely_is_understood() {
        let check = |name: &str, args: Value, wanted: Value| {
            assert_eq!(fit(name, 20, args).unwrap(), wanted, "{name}");
        };
        check(
            "tool_browse",
            json!({"query": "a", "path": null, "top_k": 3.0}),
            json!({"query": "a", "top_k": 3}),
        );
        check(
            "tool_execute",
            json!({"tool_id": "a", "args": null}),
            json!({"tool_id": "a", "args": {}}),
        );
        check(
            "tool_execute",
            json!({"tool_id": "a", "args": {"x": 3.0}}),
            json!({"tool_id": "a", "args": {"x": 3.0}}),
        );
        check(
            "tool_view",
            json!({"handle": "h", "selector": {"type": "head", "chars": 9.0}}),
            json!({"handle": "h", "selector": {"type": "head", "chars": 9}}),
        );
        check(
            "tool_view",
            json!({"handle": "h"}),
            json!({"handle": "h", "selector": {"type": "head"}}),
        );
        check("somebody_elses", json!([1]), json!([1]));
    }
}
