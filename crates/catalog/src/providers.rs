//! Cards as the tool arrays model providers take: stable bytes that may stand before a cache
//! breakpoint. No provider's library is used; these are their documented shapes.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::cards::{self, Form};
use crate::entry::Entry;
use crate::names;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    Anthropic,
    OpenAi,
}

/// The text names no provider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no provider; use `anthropic` or `openai`")]
pub struct UnknownProvider(String);

impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "anthropic" => Ok(Self::Anthropic),
            "openai" => Ok(Self::OpenAi),
            _ => Err(UnknownProvider(model::fault::one_line(text, 40))),
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        })
    }
}

/// The entries as tool definitions with the sentinel schema, in the order given.
///
/// Anthropic reads a breakpoint on the last definition; `OpenAI` caches prefixes by itself and
/// knows no such mark. The names resolve in the catalogue like every other rendering.
pub fn render(provider: Provider, entries: &[Arc<Entry>]) -> Vec<Value> {
    let mut tools: Vec<Value> = entries.iter().map(|entry| tool(provider, entry)).collect();
    if let (Provider::Anthropic, Some(Value::Object(last))) = (provider, tools.last_mut()) {
        last.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
    tools
}

fn tool(provider: Provider, entry: &Entry) -> Value {
    let (name, card) = (names::provider_name(entry), entry.card(Form::Full));
    // The signature goes with the words: the sentinel schema shows no parameters.
    let description = cards::line(&card);
    match provider {
        Provider::Anthropic => {
            json!({"name": name, "description": description, "input_schema": {"type": "object"}})
        }
        Provider::OpenAi => json!({
            "type": "function",
            "function": {"name": name, "description": description, "parameters": {"type": "object"}},
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generation::{Catalogue, Source};
    use crate::shown::Naming;
    use model::{Generation, UpstreamName};

    fn catalogue(names: &[&str]) -> Catalogue {
        let definition = |name: &&str| json!({"name": name, "description": "Does it.", "inputSchema": {"type": "object", "properties": {"secret_parameter": {"type": "string", "pattern": "^x"}}}});
        let source = Source {
            upstream: UpstreamName::from_string("u"),
            protocol: "mcp",
            namespace: None,
            definitions: names.iter().map(definition).collect(),
            manifest: None,
            extras: crate::Extras::default(),
        };
        Catalogue::build(Generation(1), vec![source], Naming::Auto)
    }

    /// CW-45, CW-47, CW-48: sentinel schemas, and one breakpoint on the last definition.
    #[test]
    fn the_breakpoint_stands_on_the_last_definition_alone() {
        let catalogue = catalogue(&["a", "b", "c"]);
        let tools = render(Provider::Anthropic, catalogue.entries());
        let marked: Vec<bool> =
            tools.iter().map(|tool| tool.get("cache_control").is_some()).collect();
        assert_eq!(marked, [false, false, true]);
        assert_eq!(
            tools[0],
            json!({"name": "a", "description": "a(secret_parameter?) — Does it.", "input_schema": {"type": "object"}})
        );
        assert!(!json!(tools).to_string().contains("properties"));
        assert_eq!(render(Provider::Anthropic, &[]), Vec::<Value>::new());
    }

    #[test]
    fn openai_gets_functions_and_no_mark() {
        let catalogue = catalogue(&["a"]);
        let tools = render(Provider::OpenAi, catalogue.entries());
        assert_eq!(tools[0]["function"]["parameters"], json!({"type": "object"}));
        assert!(!json!(tools).to_string().contains("cache_control"));
    }

    #[test]
    fn every_name_is_one_providers_take_and_leads_back() {
        let long = "long_".repeat(25);
        let catalogue = catalogue(&["plain-name", "github.create_issue", &long]);
        for (entry, tool) in
            catalogue.entries().iter().zip(render(Provider::Anthropic, catalogue.entries()))
        {
            let name = tool["name"].as_str().unwrap();
            let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            assert!(name.len() <= 64 && name.chars().all(legal), "{name}");
            assert_eq!(catalogue.resolve(name).unwrap().item.key, entry.item.key);
        }
    }

    #[test]
    fn only_known_providers_are_read() {
        assert_eq!("openai".parse(), Ok(Provider::OpenAi));
        assert!("acme".parse::<Provider>().unwrap_err().to_string().contains("`acme`"));
    }
}
