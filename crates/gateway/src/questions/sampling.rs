//! What an upstream wants a client's model to do.

use manifest::Sampling;
use model::Client;
use serde_json::{Map, Value};

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
    use serde_json::json;

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
