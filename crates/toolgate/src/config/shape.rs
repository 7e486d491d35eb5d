//! Holds a tree against the schema of the configuration and says all that is wrong at once: unknown
//! keys, wrong kinds, wrong words, numbers out of bounds. Knows the part of JSON Schema that our
//! own types produce, nothing more.

use serde_json::{Number, Value};

use super::node::{Data, Node};
use super::problem::{Problems, nearest};
use super::scalar;

/// Checks the whole tree, and reads numbers and booleans out of variables where the schema wants
/// them.
pub(super) fn check(schema: &Value, root: &mut Node, problems: &mut Problems) {
    Shape { schema, problems }.visit(schema, root, "");
}

struct Shape<'a> {
    schema: &'a Value,
    problems: &'a mut Problems,
}

impl Shape<'_> {
    fn visit(&mut self, schema: &Value, node: &mut Node, path: &str) {
        if matches!(node.data, Data::Broken) {
            return;
        }
        let mut leaves = Vec::new();
        self.leaves(schema, &mut leaves);
        read_variable(&leaves, node);
        let fitting = leaves.iter().filter(|leaf| accepts(leaf, node)).collect::<Vec<_>>();
        let Some(first) = fitting.first() else {
            let expected = expected(&leaves);
            let message = format!("{} must be {expected}, not {}", title(path), kind(node));
            return self.problems.add(Some(node.at), message);
        };
        let words = fitting.iter().flat_map(|leaf| words(leaf)).collect::<Vec<_>>();
        if !words.is_empty() {
            return self.visit_word(&words, node, path);
        }
        self.visit_bounds(first, node, path);
        self.visit_children(first, node, path);
    }

    /// The alternatives of a schema, references followed.
    fn leaves(&self, schema: &Value, leaves: &mut Vec<Value>) {
        let target = schema.get("$ref").and_then(Value::as_str);
        if let Some(pointer) = target.and_then(|target| target.strip_prefix('#')) {
            if let Some(schema) = self.schema.pointer(pointer) {
                self.leaves(schema, leaves);
            }
            return;
        }
        let alternatives = schema.get("anyOf").or_else(|| schema.get("oneOf"));
        match alternatives.and_then(Value::as_array) {
            Some(alternatives) => {
                for schema in alternatives {
                    self.leaves(schema, leaves);
                }
            }
            None => leaves.push(schema.clone()),
        }
    }

    fn visit_word(&mut self, words: &[String], node: &Node, path: &str) {
        let Data::Text(text) = &node.data else { return };
        if !words.contains(text) {
            let list = list(words);
            let message = format!("{} must be {list}, not `{}`", title(path), node.source);
            self.problems.add(Some(node.at), message);
        }
    }

    fn visit_bounds(&mut self, schema: &Value, node: &Node, path: &str) {
        let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
        let (value, low, high, unit) = match &node.data {
            Data::Number(number) => {
                (number.as_f64().unwrap_or_default(), bound("minimum"), bound("maximum"), "")
            }
            Data::Text(text) => {
                let count = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
                (f64::from(count), bound("minLength"), bound("maxLength"), " characters long")
            }
            _ => return,
        };
        let title = title(path);
        let message = match (low, high) {
            (Some(low), Some(high)) if value < low || value > high => {
                format!("{title} must be from {low} to {high}{unit}")
            }
            (Some(1.0), None) if value < 1.0 && !unit.is_empty() => {
                format!("{title} must not be empty")
            }
            (Some(low), None) if value < low => format!("{title} must be at least {low}{unit}"),
            (None, Some(high)) if value > high => format!("{title} must be at most {high}{unit}"),
            _ => return,
        };
        self.problems.add(Some(node.at), message);
    }

    fn visit_children(&mut self, schema: &Value, node: &mut Node, path: &str) {
        match &mut node.data {
            Data::Map(_) => self.visit_map(schema, node, path),
            Data::List(items) => {
                let Some(schema) = schema.get("items") else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    self.visit(schema, item, &format!("{path}[{index}]"));
                }
            }
            _ => {}
        }
    }

    fn visit_map(&mut self, schema: &Value, node: &mut Node, path: &str) {
        for key in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            let key = key.as_str().unwrap_or_default();
            if node.get(key).is_none() {
                self.problems.add(Some(node.at), format!("{} is missing", title(&join(path, key))));
            }
        }
        let Data::Map(pairs) = &mut node.data else { return };
        let properties = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties");
        for (key, value) in pairs {
            let known = properties.and_then(|properties| properties.get(&key.text));
            match known.or(others) {
                Some(Value::Bool(false)) => {
                    let known = properties.into_iter().flatten().map(|(key, _)| key.as_str());
                    let message = unknown_key(&key.text, &known.collect::<Vec<_>>());
                    self.problems.add(Some(key.at), message);
                }
                Some(schema) => self.visit(schema, value, &join(path, &key.text)),
                None => {}
            }
        }
    }
}

fn unknown_key(key: &str, known: &[&str]) -> String {
    if key == "inputs" {
        return "`inputs` asks a person for values, and here is none to ask; replace each \
                `${input:NAME}` by `${NAME}` and set the variable"
            .to_owned();
    }
    match nearest(key, known) {
        Some(nearest) => format!("unknown key `{key}`; did you mean `{nearest}`?"),
        None => format!("unknown key `{key}`; known keys are {}", known.join(", ")),
    }
}

/// A variable gives text; where a number or a boolean is wanted, the text may be one.
fn read_variable(leaves: &[Value], node: &mut Node) {
    let Data::Text(text) = &node.data else { return };
    if !node.from_env || leaves.iter().any(|leaf| accepts(leaf, node)) {
        return;
    }
    let data = match text.as_str() {
        "true" => Data::Bool(true),
        "false" => Data::Bool(false),
        text => scalar::number(text).map_or(Data::Null, Data::Number),
    };
    let read = Node { data, source: node.source.clone(), ..*node };
    if leaves.iter().any(|leaf| accepts(leaf, &read)) && !matches!(read.data, Data::Null) {
        *node = read;
    }
}

fn accepts(leaf: &Value, node: &Node) -> bool {
    match leaf.get("type") {
        None => true,
        Some(Value::Array(types)) => {
            types.iter().filter_map(Value::as_str).any(|word| is(word, &node.data))
        }
        Some(word) => word.as_str().is_some_and(|word| is(word, &node.data)),
    }
}

fn is(word: &str, data: &Data) -> bool {
    match data {
        Data::Null => word == "null",
        Data::Bool(_) => word == "boolean",
        Data::Number(number) => word == "number" || (word == "integer" && is_whole(number)),
        Data::Text(_) => word == "string",
        Data::List(_) => word == "array",
        Data::Map(_) => word == "object",
        Data::Broken => true,
    }
}

fn is_whole(number: &Number) -> bool {
    number.is_i64() || number.is_u64()
}

/// The words a leaf allows; none if it is not a matter of words.
fn words(leaf: &Value) -> Vec<String> {
    let one = leaf.get("const").into_iter();
    let many = leaf.get("enum").and_then(Value::as_array).into_iter().flatten();
    one.chain(many).filter_map(Value::as_str).map(str::to_owned).collect()
}

fn expected(leaves: &[Value]) -> String {
    let mut names = Vec::new();
    for leaf in leaves {
        let types = leaf.get("type");
        let list = types.and_then(Value::as_array).cloned();
        for word in list.unwrap_or_else(|| types.cloned().into_iter().collect()) {
            let name = match word.as_str() {
                Some("object") => "a mapping",
                Some("array") => "a list",
                Some("string") => "text",
                Some("integer") => "a whole number",
                Some("number") => "a number",
                Some("boolean") => "true or false",
                _ => continue,
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names.join(" or ")
}

fn kind(node: &Node) -> &'static str {
    match &node.data {
        Data::Null => "empty",
        Data::Bool(true) => "true",
        Data::Bool(false) => "false",
        Data::Number(number) if is_whole(number) => "a whole number",
        Data::Number(_) => "a fraction",
        Data::Text(_) if node.from_env => "what its variable holds",
        Data::Text(_) => "text",
        Data::List(_) => "a list",
        Data::Map(_) => "a mapping",
        Data::Broken => "broken",
    }
}

fn title(path: &str) -> String {
    if path.is_empty() { "the file".to_owned() } else { format!("`{path}`") }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn list(words: &[String]) -> String {
    let quoted = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}
