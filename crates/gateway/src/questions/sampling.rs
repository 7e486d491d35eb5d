//! What an upstream wants a client's model to do.

use manifest::{Review, Sampling};
use model::Client;
use serde_json::{Map, Value, json};

/// Whether the client's model may be asked this, after `before` questions within the same call.
pub(super) fn check(
    params: &Map<String, Value>,
    rule: Option<&Sampling>,
    open: bool,
    client: &Client,
    before: u32,
) -> Result<(), String> {
    if !rule.map_or(open, |rule| rule.declared) {
        return Err("no manifest declares that it asks models".to_owned());
    }
    if !client.takes("sampling/createMessage") {
        return Err("the client offers no model".to_owned());
    }
    if let Some(most) = rule.and_then(|rule| rule.max_iterations).filter(|most| before >= *most) {
        return Err(format!("the manifest allows {most} of these in a call"));
    }
    tools(params, rule, client)?;
    balanced(params)
}

/// Where nothing passes that no manifest declares: bounded, on record, and known to do well.
pub(super) fn governed(rule: &Sampling, budgeted: bool, recorded: bool) -> Result<(), String> {
    let missing = if rule.max_per_run.is_none() && !budgeted {
        "no budget bounds how often it asks models"
    } else if !recorded {
        "calls that only read leave no record here, and models are not asked unseen"
    } else if rule.eval_ref.is_none() {
        "its manifest names no evaluation of what it asks models"
    } else {
        return Ok(());
    };
    Err(missing.to_owned())
}

/// Whether a person must look at it first.
pub(super) fn reviewed(params: &Map<String, Value>, rule: &Sampling, writes: bool) -> bool {
    match rule.review {
        Review::Always => true,
        Review::Risky => writes || params.contains_key("tools") || shares_context(params),
        Review::Never => false,
    }
}

fn shares_context(params: &Map<String, Value>) -> bool {
    params.get("includeContext").is_some_and(|context| context != "none")
}

/// Which model is asked is not the upstream's to say: where the manifest names models, those stand in
/// the place of its preferences.
pub(super) fn routed(mut params: Map<String, Value>, rule: &Sampling) -> Map<String, Value> {
    if !rule.models.is_empty() {
        let hints: Vec<Value> = rule.models.iter().map(|name| json!({"name": name})).collect();
        params.insert("modelPreferences".to_owned(), json!({"hints": hints}));
    }
    params
}

/// What a model said goes back, if it is a model that may be asked.
pub(super) fn answered(said: Value, rule: Option<&Sampling>) -> Result<Value, String> {
    let models = rule.map(|rule| rule.models.as_slice()).unwrap_or_default();
    let model = said.get("model").and_then(Value::as_str).unwrap_or_default();
    let named = |name: &String| model.contains(name.as_str());
    if models.is_empty() || models.iter().any(named) {
        return Ok(said);
    }
    let model = model::fault::one_line(model, 80);
    Err(format!("`{model}` answered, which the manifest does not name"))
}

/// Tools for the model must be named in the request, declared, and something the client deals with.
fn tools(
    params: &Map<String, Value>,
    rule: Option<&Sampling>,
    client: &Client,
) -> Result<(), String> {
    let Some(tools) = params.get("tools").and_then(Value::as_array) else {
        let chooses = params.get("toolChoice").is_some();
        return if chooses { Err("it chooses a tool and names none".to_owned()) } else { Ok(()) };
    };
    let able = client.capabilities.get("sampling").and_then(|sampling| sampling.get("tools"));
    if able.is_none() {
        return Err("the client offers its model no tools".to_owned());
    }
    let name = |tool: &Value| tool.get("name").and_then(Value::as_str).unwrap_or("").to_owned();
    let declared = |name: &String| rule.is_none_or(|rule| rule.tools.contains(name));
    match tools.iter().map(name).find(|name| name.is_empty() || !declared(name)) {
        Some(name) => Err(format!("its tool `{name}` is not declared")),
        None => Ok(()),
    }
}

/// Each use of a tool is answered, by nothing else, before anything else is said.
fn balanced(params: &Map<String, Value>) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let messages = params.get("messages").and_then(Value::as_array);
    for message in messages.into_iter().flatten() {
        let parts: Vec<&Value> = match message.get("content") {
            Some(Value::Array(parts)) => parts.iter().collect(),
            Some(part) => vec![part],
            None => Vec::new(),
        };
        let ids = |kind: &str, key: &str| -> Vec<&str> {
            let of_kind = parts.iter().filter(|part| part.get("type").is_some_and(|t| t == kind));
            of_kind.filter_map(|part| part.get(key)?.as_str()).collect()
        };
        let (mut uses, mut results) = (ids("tool_use", "id"), ids("tool_result", "toolUseId"));
        results.sort_unstable();
        open.sort_unstable();
        if results != open || (!results.is_empty() && results.len() != parts.len()) {
            return Err("its uses of tools and their results do not match".to_owned());
        }
        open.clear();
        open.append(&mut uses);
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err("a use of a tool is left without a result".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(able: &Value) -> Client {
        let capabilities = able.as_object().cloned().unwrap();
        Client { capabilities, ..Client::default() }
    }

    fn rule() -> Sampling {
        Sampling { declared: true, tools: vec!["look".to_owned()], ..Sampling::default() }
    }

    /// CO-176: declared, offered, and not without end.
    #[test]
    fn a_model_is_asked_only_where_that_is_declared_and_offered() {
        let able = client(&json!({"sampling": {}}));
        let asked = |rule: Option<&Sampling>, open: bool, client: &Client, before: u32| {
            check(&Map::new(), rule, open, client, before).is_ok()
        };
        assert!(asked(Some(&rule()), false, &able, 0));
        assert!(asked(None, true, &able, 0));
        assert!(!asked(None, false, &able, 0));
        assert!(!asked(Some(&Sampling::default()), true, &able, 0), "a manifest that says no");
        assert!(!asked(Some(&rule()), true, &client(&json!({})), 0));
        let twice = Sampling { max_iterations: Some(2), ..rule() };
        assert!(asked(Some(&twice), false, &able, 1));
        assert!(!asked(Some(&twice), false, &able, 2));
    }

    /// CO-175: declared is not enough; bounded, on record and evaluated besides.
    #[test]
    fn a_model_is_asked_only_where_that_is_bounded_recorded_and_evaluated() {
        let check = |rule: Sampling, budgeted: bool, recorded: bool, part: Option<&str>| {
            let got = governed(&rule, budgeted, recorded);
            match part {
                None => assert_eq!(got, Ok(())),
                Some(part) => assert!(got.unwrap_err().contains(part)),
            }
        };
        let whole = || Sampling {
            max_per_run: Some(3),
            eval_ref: Some("goldenset://asks.v1".to_owned()),
            ..rule()
        };
        check(whole(), false, true, None);
        check(Sampling { max_per_run: None, ..whole() }, true, true, None);
        check(Sampling { max_per_run: None, ..whole() }, false, true, Some("no budget"));
        check(whole(), false, false, Some("no record"));
        check(Sampling { eval_ref: None, ..whole() }, false, true, Some("no evaluation"));
    }

    /// CO-180: whether a person looks at it is the manifest's word, and risk is what can be seen.
    #[test]
    fn a_person_looks_where_the_manifest_says_or_risk_warrants() {
        let check = |review: Review, params: Value, writes: bool, wanted: bool| {
            let params = params.as_object().unwrap();
            let rule = Sampling { review, ..rule() };
            assert_eq!(reviewed(params, &rule, writes), wanted, "{review:?} {params:?}");
        };
        check(Review::Always, json!({}), false, true);
        check(Review::Never, json!({"tools": []}), true, false);
        check(Review::Risky, json!({}), false, false);
        check(Review::Risky, json!({}), true, true);
        check(Review::Risky, json!({"tools": [{"name": "look"}]}), false, true);
        check(Review::Risky, json!({"includeContext": "allServers"}), false, true);
        check(Review::Risky, json!({"includeContext": "none"}), false, false);
    }

    /// CO-179: preferences are wishes; the manifest names the models, and no other one answers.
    #[test]
    fn which_model_is_asked_is_not_the_upstreams_to_say() {
        let asked = json!({"modelPreferences": {"hints": [{"name": "huge"}]}, "maxTokens": 9});
        let asked = asked.as_object().unwrap();
        assert_eq!(&routed(asked.clone(), &rule()), asked);
        let small = Sampling { models: vec!["small".to_owned()], ..rule() };
        let wanted = json!({"modelPreferences": {"hints": [{"name": "small"}]}, "maxTokens": 9});
        assert_eq!(Value::from(routed(asked.clone(), &small)), wanted);
        let said = |model: &str| json!({"model": model, "role": "assistant"});
        assert!(answered(said("small-2"), Some(&small)).is_ok());
        assert!(answered(said("huge"), Some(&small)).unwrap_err().contains("`huge`"));
        assert!(answered(json!({}), Some(&small)).is_err());
        assert!(answered(said("huge"), Some(&rule())).is_ok());
    }

    /// CO-177: tools need a client that has them, and a surface that is declared.
    #[test]
    fn tools_for_a_model_are_declared_and_offered() {
        let able = json!({"sampling": {"tools": {}}});
        let check = |params: Value, able: &Value, passes: bool| {
            let params = params.as_object().unwrap();
            let got = check(params, Some(&rule()), false, &client(able), 0);
            assert_eq!(got.is_ok(), passes, "{params:?}: {got:?}");
        };
        check(json!({"tools": [{"name": "look"}]}), &able, true);
        check(json!({"tools": [{"name": "look"}]}), &json!({"sampling": {}}), false);
        check(json!({"tools": [{"name": "burn"}]}), &able, false);
        check(json!({"tools": [{}]}), &able, false);
        check(json!({"toolChoice": {"mode": "required"}}), &able, false);
    }

    /// CO-178: every use has its result, next and alone.
    #[test]
    fn uses_and_results_of_tools_match() {
        let used = |id: &str| json!({"type": "tool_use", "id": id, "name": "look", "input": {}});
        let result = |id: &str| json!({"type": "tool_result", "toolUseId": id, "content": []});
        let text = json!({"type": "text", "text": "hi"});
        let said = |content: Value| json!({"role": "user", "content": content});
        let check = |messages: Value, passes: bool| {
            let params = json!({"messages": messages});
            let got = balanced(params.as_object().unwrap());
            assert_eq!(got.is_ok(), passes, "{params}: {got:?}");
        };
        check(json!([said(text.clone())]), true);
        check(
            json!([said(json!([used("a"), used("b")])), said(json!([result("b"), result("a")]))]),
            true,
        );
        check(json!([said(used("a")), said(result("a")), said(text.clone())]), true);
        check(json!([said(used("a"))]), false);
        check(json!([said(used("a")), said(text.clone())]), false);
        check(json!([said(used("a")), said(json!([result("a"), text]))]), false);
        check(json!([said(result("a"))]), false);
        check(json!([said(used("a")), said(result("b"))]), false);
    }
}
