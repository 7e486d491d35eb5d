//! Finding what is no tool: resources and prompts, a line each, by words or all in order.

use std::sync::Arc;

use model::ItemKind;
use model::fault::one_line;
use search::{Doc, Index};
use serde_json::{Value, json};

use crate::entry::Entry;
use crate::generation::Catalogue;
use crate::limits;

/// What a browse of a shelf answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Offering {
    pub text: String,
    pub structured: Value,
}

impl Catalogue {
    /// At most `top_k` prompts, or resources and templates, that this caller may see: the best for
    /// the words, or without words the first by name.
    pub fn offering(
        &self,
        kind: ItemKind,
        words: Option<&str>,
        top_k: usize,
        allowed: &dyn Fn(&Entry) -> bool,
    ) -> Offering {
        let shelf = self.shelf();
        let all: Vec<&Arc<Entry>> = match kind {
            ItemKind::Prompt => shelf.prompts().iter().collect(),
            _ => shelf.resources().iter().chain(shelf.templates()).collect(),
        };
        let seen: Vec<&Arc<Entry>> = all
            .into_iter()
            .filter(|entry| entry.quarantined().is_none() && allowed(entry) && can_be_said(entry))
            .collect();
        let top_k = top_k.clamp(1, limits::TOP_K_MAX);
        let (chosen, unmatched) = match words {
            None => (seen.iter().take(top_k).copied().collect(), Vec::new()),
            Some(words) => best(&seen, words, top_k),
        };
        tell(&chosen, &unmatched, seen.len(), words.is_some())
    }
}

/// There are few beside tools, and seldom asked for: the index is made for the question.
fn best<'a>(
    seen: &[&'a Arc<Entry>],
    words: &str,
    top_k: usize,
) -> (Vec<&'a Arc<Entry>>, Vec<String>) {
    let docs: Vec<Doc<'_>> = seen.iter().map(|entry| doc(entry)).collect();
    let ranking = Index::build(&docs).rank(words, top_k, &|_| true);
    let hits = ranking.hits.iter().filter_map(|hit| seen.get(hit.doc).copied());
    (hits.collect(), ranking.unmatched)
}

fn doc(entry: &Entry) -> Doc<'_> {
    let item = &entry.item;
    Doc {
        name: &item.name,
        title: item.title.as_deref(),
        namespace: &item.namespace,
        upstream: item.key.upstream.as_str(),
        description: &item.description,
        params: Vec::new(),
        param_texts: Vec::new(),
        tags: Vec::new(),
        aliases: vec![&entry.shown_name],
    }
}

fn tell(chosen: &[&Arc<Entry>], unmatched: &[String], all: usize, searched: bool) -> Offering {
    let cards: Vec<Value> = chosen.iter().map(|entry| card(entry)).collect();
    let lines: Vec<String> = cards.iter().map(line).collect();
    let hint = match (cards.is_empty(), searched, all.saturating_sub(cards.len())) {
        (true, true, _) => format!("nothing matches; without `query` all {all} are listed"),
        (true, false, _) => "there is nothing here".to_owned(),
        (false, false, more) if more > 0 => {
            format!("{more} more; raise `top_k` or search with words")
        }
        _ => String::new(),
    };
    let unknown = match unmatched {
        [] => String::new(),
        words => format!("nothing knows: {}", words.join(", ")),
    };
    let paragraphs = [lines.join("\n"), unknown, hint.clone()];
    let paragraphs = paragraphs.into_iter().filter(|paragraph| !paragraph.is_empty());
    let text = paragraphs.collect::<Vec<_>>().join("\n\n");
    Offering { text, structured: json!({"cards": cards, "unmatched": unmatched, "hint": hint}) }
}

/// What it is asked for by.
fn id(entry: &Entry) -> &str {
    if entry.item.kind == ItemKind::Prompt { &entry.shown_name } else { &entry.item.name }
}

/// Whether a reader can say it back: an id is shown as it is or not at all.
fn can_be_said(entry: &Entry) -> bool {
    let id = id(entry);
    let max = match entry.item.kind {
        ItemKind::Prompt => limits::PROMPT_NAME_CHARS_MAX,
        _ => limits::URI_CHARS_MAX,
    };
    id.chars().count() <= max && one_line(id, max) == id
}

/// What says nothing is left out.
fn card(entry: &Entry) -> Value {
    let definition = entry.definition();
    let item = &entry.item;
    let about = item.title.as_deref().into_iter().chain([item.description.as_str()]);
    let about: Vec<&str> = about.filter(|text| !text.is_empty()).collect();
    let arguments: Vec<String> = definition
        .get("arguments")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(argument)
        .collect();
    let mut card = json!({
        "id": id(entry),
        "description": one_line(&about.join(": "), limits::CARD_DESCRIPTION_CHARS_MAX),
        "arguments": arguments,
        "mime_type": definition.get("mimeType").and_then(Value::as_str).map(|kind| one_line(kind, 100)),
        "bytes": definition.get("size").and_then(Value::as_u64),
    });
    if let Some(fields) = card.as_object_mut() {
        fields.retain(|_, value| !(value.is_null() || *value == json!("") || *value == json!([])));
    }
    card
}

fn argument(argument: &Value) -> Option<String> {
    let name = one_line(argument["name"].as_str()?, limits::SIGNATURE_PARAM_CHARS_MAX);
    Some(if argument["required"] == true { name } else { format!("{name}?") })
}

fn line(card: &Value) -> String {
    let text = |key: &str| card[key].as_str().unwrap_or_default();
    let arguments: Vec<&str> =
        card["arguments"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let signature =
        if arguments.is_empty() { String::new() } else { format!("({})", arguments.join(", ")) };
    let dash = if text("description").is_empty() { "" } else { " — " };
    let bytes = card["bytes"].as_u64().map(|bytes| format!("{bytes} bytes"));
    let kind = card["mime_type"].as_str().map(str::to_owned);
    let facts: Vec<String> = kind.into_iter().chain(bytes).collect();
    let facts = if facts.is_empty() { String::new() } else { format!(" [{}]", facts.join(", ")) };
    format!("{}{signature}{dash}{}{facts}", text("id"), text("description"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generation::Source;
    use crate::shelf::Extras;
    use crate::shown::Naming;
    use model::{Generation, UpstreamName};

    fn catalogue() -> Catalogue {
        let source = Source {
            upstream: UpstreamName::from_string("u"),
            protocol: "mcp",
            namespace: None,
            definitions: Vec::new(),
            manifest: None,
            extras: Extras {
                resources: vec![
                    json!({"uri": "notes://today", "name": "today", "title": "Today", "description": "Notes of the day.", "mimeType": "text/plain", "size": 12}),
                    json!({"uri": "notes://secret", "name": "secret"}),
                ],
                templates: vec![
                    json!({"uriTemplate": "weather://{city}", "name": "w", "description": "Weather of a city."}),
                ],
                prompts: vec![
                    json!({"name": "greet", "description": "Greets somebody.", "arguments": [{"name": "who", "required": true}, {"name": "tone"}]}),
                ],
                ..Extras::default()
            },
        };
        Catalogue::build(Generation(1), vec![source], Naming::Auto)
    }

    fn look(kind: ItemKind, words: Option<&str>, top_k: usize) -> String {
        let allowed = |entry: &Entry| !entry.item.name.contains("secret");
        catalogue().offering(kind, words, top_k, &allowed).text
    }

    #[test]
    fn everything_has_a_line_and_what_is_hidden_has_none() {
        assert_eq!(
            look(ItemKind::Resource, None, 10),
            "notes://today — Today: Notes of the day. [text/plain, 12 bytes]\n\
             weather://{city} — Weather of a city."
        );
        assert_eq!(look(ItemKind::Prompt, None, 10), "greet(who, tone?) — Greets somebody.");
    }

    /// What is shown is what must be said to read it.
    #[test]
    fn an_id_is_never_cut() {
        let long = |chars: usize| format!("x://{}", "a".repeat(chars));
        let uris = [long(300), long(5_000), "x://a\nb".to_owned()];
        let resources = uris.iter().map(|uri| json!({"uri": uri})).collect();
        let source = Source {
            upstream: UpstreamName::from_string("u"),
            protocol: "mcp",
            namespace: None,
            definitions: Vec::new(),
            manifest: None,
            extras: Extras { resources, ..Extras::default() },
        };
        let catalogue = Catalogue::build(Generation(1), vec![source], Naming::Auto);
        let offering = catalogue.offering(ItemKind::Resource, None, 10, &|_| true);
        assert_eq!(offering.structured["cards"], json!([{"id": long(300)}]));
        assert_eq!(offering.text, long(300));
    }

    #[test]
    fn words_find_the_best_and_nothing_is_never_silence() {
        assert!(look(ItemKind::Resource, Some("weather"), 1).starts_with("weather://"));
        let nothing = look(ItemKind::Prompt, Some("zzqx"), 10);
        assert!(nothing.contains("zzqx") && nothing.contains("nothing matches"), "{nothing}");
        assert!(look(ItemKind::Resource, None, 1).contains("1 more"));
    }
}
