//! The manual leaves nothing out: every command and flag, every key of the configuration with its
//! default and bounds, every code of a fault with what follows from it.

use clap::Command;
use model::Code;
use serde_json::Value;
use toolgate::config::Config;
use upstream::demo::Demo;

use super::{root, text};

fn page(name: &str) -> String {
    text(&root().join("docs").join(name))
}

/// Each command has a section of its own, which names each of its flags.
#[test]
fn every_command_and_flag_is_in_the_manual() {
    let mut root = toolgate::cli::command();
    root.build();
    let mut missing = Vec::new();
    look_for(&root, &page("cli.md"), "toolgate", &mut missing);
    assert!(missing.is_empty(), "docs/cli.md leaves out:\n{}", missing.join("\n"));
}

fn look_for(command: &Command, page: &str, name: &str, missing: &mut Vec<String>) {
    let section = section(page, name);
    if section.is_empty() {
        missing.push(format!("a heading `{name}`"));
    }
    let inherited = |argument: &&clap::Arg| argument.is_global_set() && name != "toolgate";
    let spoken = command.get_arguments().filter(|argument| !inherited(argument));
    for argument in
        spoken.filter(|argument| !["help", "version"].contains(&argument.get_id().as_str()))
    {
        let word = match (argument.get_long(), argument.get_value_names()) {
            (Some(long), _) => format!("`--{long}"),
            (None, Some([value, ..])) => format!("`{value}`"),
            (None, _) => continue,
        };
        let short = argument.get_short().map(|short| format!("`-{short}`"));
        for word in std::iter::once(word).chain(short) {
            if !section.contains(&word) {
                missing.push(format!("{word} under `{name}`"));
            }
        }
    }
    for child in command.get_subcommands().filter(|child| child.get_name() != "help") {
        look_for(child, page, &format!("{name} {}", child.get_name()), missing);
    }
}

/// From the heading to the next one.
fn section(page: &str, name: &str) -> String {
    let is_heading = |line: &&str| line.starts_with('#');
    let mut lines = page.lines().skip_while(|line| {
        !(is_heading(line) && line.trim_start_matches('#').trim() == format!("`{name}`"))
    });
    lines.next().map_or_else(String::new, |_| {
        lines.take_while(|line| !is_heading(line)).collect::<Vec<_>>().join("\n") + "\n"
    })
}

#[test]
fn every_key_of_the_configuration_is_in_the_manual() {
    let schema = Config::json_schema();
    let mut keys = Vec::new();
    walk(&schema, &schema, "", &mut keys);
    assert!(keys.len() > 60, "the schema was not understood");
    let page = page("configuration.md");
    let mut missing = Vec::new();
    for (key, property) in keys.iter().filter(|(key, _)| !key.starts_with("servers.")) {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{key}` |")));
        let Some(row) = row else {
            missing.push(format!("`{key}`"));
            continue;
        };
        for fact in facts(property).filter(|fact| !row.contains(fact)) {
            missing.push(format!("`{key}`: {fact}"));
        }
    }
    assert!(missing.is_empty(), "docs/configuration.md leaves out:\n{}", missing.join("\n"));
}

/// Every key with its schema. Entries of a map go by `NAME`, those of a list by `[]`.
fn walk(root: &Value, node: &Value, path: &str, keys: &mut Vec<(String, Value)>) {
    if let Some(pointer) = node["$ref"].as_str().and_then(|target| target.strip_prefix('#')) {
        return walk(root, root.pointer(pointer).unwrap(), path, keys);
    }
    for alternative in ["anyOf", "oneOf"].iter().filter_map(|key| node[*key].as_array()).flatten() {
        walk(root, alternative, path, keys);
    }
    let dotted = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    for (key, property) in node["properties"].as_object().into_iter().flatten() {
        keys.push((dotted(key), property.clone()));
        walk(root, property, &dotted(key), keys);
    }
    if node["additionalProperties"].is_object() {
        walk(root, &node["additionalProperties"], &dotted("NAME"), keys);
    }
    if node["items"].is_object() && path != "upstreams.NAME.tools" {
        walk(root, &node["items"], &format!("{path}[]"), keys);
    }
}

/// Default and bounds as a row of the manual must show them.
fn facts(property: &Value) -> impl Iterator<Item = String> {
    let shown = |value: &Value| match value {
        Value::String(text) => Some(format!("`{text}`")),
        Value::Number(number) if number.as_f64() == Some(0.0) => None,
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let bounds = ["default", "minimum", "maximum", "maxLength"];
    bounds.into_iter().filter_map(move |key| shown(&property[key])).collect::<Vec<_>>().into_iter()
}

/// One row for each code, with what the product itself says about it.
#[test]
fn every_fault_code_is_in_the_manual() {
    let page = page("road.md");
    let missing: Vec<String> = Code::ALL.iter().map(|code| row(*code)).collect();
    let missing: Vec<String> =
        missing.into_iter().filter(|row| !page.lines().any(|line| line.starts_with(row))).collect();
    assert!(missing.is_empty(), "docs/road.md leaves out:\n{}", missing.join("\n"));
}

fn row(code: Code) -> String {
    let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let side = word(serde_json::to_value(code.side()).unwrap());
    let next = word(serde_json::to_value(code.next()).unwrap());
    let again = if code.retryable() { "yes" } else { "no" };
    format!("| `{code}` | {side} | {again} | `{next}` |")
}

#[test]
fn every_tool_of_the_demo_is_in_the_manual() {
    let page = page("demo.md");
    for definition in Demo::definitions() {
        let name = definition["name"].as_str().unwrap();
        assert!(page.contains(&format!("`{name}`")), "docs/demo.md leaves out `{name}`");
    }
}
