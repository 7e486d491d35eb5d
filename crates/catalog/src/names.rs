//! The renderings of one key: legacy, canonical, wire and capability. None is ever used to route.
//!
//! Different keys can render alike (`a.b` and `a-b` give one wire name); `shown` sets those apart
//! and the catalogue's index leads every rendering back to its key.

use std::borrow::Cow;

use model::{ItemIds, ItemKey, canonical};
use serde_json::Value;

use crate::entry::Entry;
use crate::{limits, namespace};

/// All renderings, before collisions are looked at.
pub fn render(key: &ItemKey, namespace: &str, version: Option<&str>, shape_hash: &str) -> ItemIds {
    let local = namespace::strip(&key.name, namespace);
    let id = format!("{namespace}:{}", force_local(local));
    ItemIds {
        legacy: format!("{namespace}:{local}"),
        canonical: match version {
            Some(version) => format!("{id}@{version}"),
            None => format!("{id}#{shape_hash}"),
        },
        wire: wire_name(WIRE_PREFIX, key),
        capability: None,
    }
}

/// Eight hexadecimal digits over a tool's name and the names of its parameters.
pub fn shape_hash(name: &str, input_schema: &Value) -> String {
    let field = |key: &str| input_schema.get(key).unwrap_or(&Value::Null);
    let properties = field("properties").as_object().into_iter().flatten();
    let required = field("required").as_array().into_iter().flatten();
    let mut text = format!("{name}\n{{\"properties\":");
    write_sorted(properties.map(|(name, _)| name.as_str()), &mut text);
    text.push_str(",\"required\":");
    write_sorted(required.filter_map(Value::as_str), &mut text);
    text.push('}');
    digits(&text, 8)
}

/// A JSON list of the names in order.
fn write_sorted<'a>(names: impl Iterator<Item = &'a str>, text: &mut String) {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    text.push('[');
    for (index, name) in names.iter().enumerate() {
        text.push_str(if index == 0 { "\"" } else { "\",\"" });
        if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            text.push_str(name);
        } else {
            let escaped = Value::from(*name).to_string();
            text.push_str(escaped.get(1..escaped.len().saturating_sub(1)).unwrap_or_default());
        }
    }
    text.push_str(if names.is_empty() { "]" } else { "\"]" });
}

/// What wire names begin with where nobody says otherwise (OR-11).
pub const WIRE_PREFIX: &str = "mcp";

/// `prefix__upstream__name` with every other character replaced by `_`; over-long names end in a hash.
pub fn wire_name(prefix: &str, key: &ItemKey) -> String {
    let name = format!("{prefix}__{}__{}", plain(key.upstream.as_str()), plain(&key.name));
    if name.len() <= limits::WIRE_NAME_CHARS_MAX { name } else { marked(&name, key, 8) }
}

/// A wire name with a hash of its key behind it, cut to fit.
pub(crate) fn marked(name: &str, key: &ItemKey, hash_chars: usize) -> String {
    cut(name, key, limits::WIRE_NAME_CHARS_MAX, hash_chars)
}

/// The beginning of a name and a hash of its key, within so many characters.
pub(crate) fn cut(name: &str, key: &ItemKey, chars_max: usize, hash_chars: usize) -> String {
    let mark = digits(&format!("{}\n{}", key.upstream, key.name), hash_chars);
    let room = chars_max.saturating_sub(mark.len() + 1);
    let kept: String = name.chars().take(room).collect();
    format!("{kept}_{mark}")
}

/// A name within what model providers take, `[A-Za-z0-9_-]{1,64}`: the shown one where it fits.
pub(crate) fn provider_name(entry: &Entry) -> Cow<'_, str> {
    let legal = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let takes =
        |name: &str| name.len() <= limits::PROVIDER_NAME_CHARS_MAX && name.chars().all(legal);
    let wire = &entry.item.ids.wire;
    if takes(&entry.shown_name) {
        (&entry.shown_name).into()
    } else if takes(wire) {
        wire.into()
    } else {
        cut(wire, &entry.item.key, limits::PROVIDER_NAME_CHARS_MAX, 8).into()
    }
}

/// The three parts of a wire name as its maker meant them. Warning: not reliable, since parts may
/// contain the separator; for display, never for routing.
pub fn parse_wire_name(name: &str) -> Option<(&str, &str, &str)> {
    let (prefix, rest) = name.split_once("__")?;
    let (upstream, tool) = rest.split_once("__")?;
    let whole = [prefix, upstream, tool].iter().all(|part| !part.is_empty());
    whole.then_some((prefix, upstream, tool))
}

fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Forces a name into `[A-Za-z_][A-Za-z0-9_.-]{0,127}`.
fn force_local(name: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' };
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let lead = if starts_well { "" } else { "_" };
    lead.chars().chain(name.chars().map(legal)).take(limits::LOCAL_NAME_CHARS_MAX).collect()
}

fn digits(text: &str, count: usize) -> String {
    canonical::hash_bytes(text.as_bytes()).chars().take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ItemKind, UpstreamName};
    use proptest::prelude::*;
    use serde_json::json;

    fn key(upstream: &str, name: &str) -> ItemKey {
        let upstream = UpstreamName::from_string(upstream);
        ItemKey { upstream, name: name.to_owned(), kind: ItemKind::Tool }
    }

    /// OR-9, OR-10, OR-12 and the pitfalls of semantics 2.2.
    #[test]
    fn wire_names_have_three_plain_parts() {
        let check = |upstream: &str, name: &str, expected: &str| {
            assert_eq!(wire_name(WIRE_PREFIX, &key(upstream, name)), expected);
        };
        check("my-server", "search", "mcp__my_server__search");
        check("a_", "b", "mcp__a___b");
        check("a", "_b", "mcp__a___b");
        check("s", "a.b", "mcp__s__a_b");
        check("s", "äö", "mcp__s____");
        assert_eq!(wire_name("tools", &key("s", "x")), "tools__s__x");
    }

    /// OR-13, OR-14.
    #[test]
    fn a_wire_name_comes_apart_at_the_first_two_separators() {
        let check = |name: &str, expected| assert_eq!(parse_wire_name(name), expected, "{name}");
        check("mcp__my_server__search", Some(("mcp", "my_server", "search")));
        check("mcp__my__srv__x", Some(("mcp", "my", "srv__x")));
        check("mcp__only", None);
        check("nope", None);
        check("mcp____x", None);
    }

    /// Written by hand for speed; the general writer says the same.
    #[test]
    fn a_shape_hash_is_over_names_in_order() {
        let check = |properties: &[&str], required: &[&str]| {
            let fields: serde_json::Map<String, Value> =
                properties.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
            let sorted = |names: &[&str]| {
                let mut names = names.to_vec();
                names.sort_unstable();
                json!(names)
            };
            let shape = json!({"properties": sorted(properties), "required": sorted(required)});
            let schema = json!({"properties": fields, "required": required});
            assert_eq!(shape_hash("f", &schema), digits(&format!("f\n{shape}"), 8), "{shape}");
        };
        check(&["b", "a_1"], &["b"]);
        check(&["\"", "é", "a\nb"], &["\"", ""]);
        check(&[], &[]);
    }

    #[test]
    fn a_version_replaces_the_hash_in_the_canonical_id() {
        let check = |name: &str, version: Option<&str>, expected: &str| {
            let namespace = namespace::infer_namespace(name);
            assert_eq!(
                render(&key("u", name), &namespace, version, "01234567").canonical,
                expected
            );
        };
        check("github.create_issue", Some("2.1"), "github:create_issue@2.1");
        check("github.create_issue", None, "github:create_issue#01234567");
        check("get weather", None, "mcp:get_weather#01234567");
        check("9lives", None, "mcp:_9lives#01234567");
    }

    proptest! {
        #[test]
        fn every_rendering_fits_its_grammar(upstream in any::<String>(), name in any::<String>()) {
            let key = key(&upstream, &name);
            let ids = render(&key, &namespace::infer_namespace(&name), None, "01234567");
            prop_assert!(ids.wire.len() <= limits::WIRE_NAME_CHARS_MAX);
            prop_assert!(ids.wire.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
            prop_assert!(ids.canonical.len() <= 240);
            prop_assert!(ids.canonical.is_ascii());
            prop_assert!(marked(&ids.wire, &key, 64).len() <= limits::WIRE_NAME_CHARS_MAX);
        }
    }
}
