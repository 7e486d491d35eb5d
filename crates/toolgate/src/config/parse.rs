//! Text to tree, for YAML and JSON alike: JSON is read as the YAML it is.
//!
//! Bounded in size, depth and alias growth. A key written twice, a tag and a second document are
//! refused, since each would make the file say two things.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, Tag};

use super::node::{Data, Key, Node};
use super::problem::Place;
use super::scalar;

/// One configuration file.
pub(super) const FILE_BYTES_MAX: usize = 1024 * 1024;
/// Values of one file, aliases counted as often as they are used.
const NODES_MAX: usize = 50_000;

type Trouble = (Place, String);

/// The one document of the text; `None` if it holds nothing but comments.
pub(super) fn parse(text: &str) -> Result<Option<Node>, Trouble> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut tree = Tree::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            (place(error.marker()), format!("not valid YAML or JSON: {}", error.info()))
        })?;
        tree.take(event, span)?;
    }
    Ok(tree.root)
}

fn place(marker: &Marker) -> Place {
    Place { line: marker.line().max(1), column: marker.col() + 1 }
}

#[derive(Default)]
struct Tree {
    root: Option<Node>,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Node>,
    nodes: usize,
}

/// A list or mapping whose end has not come yet.
struct Open {
    at: Place,
    anchor: usize,
    inside: Inside,
}

enum Inside {
    List(Vec<Node>),
    Map { pairs: Vec<(Key, Node)>, key: Option<Key>, lines: BTreeMap<String, usize> },
}

impl Tree {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Trouble> {
        let at = place(&span.start);
        match event {
            Event::DocumentStart(_) if self.root.is_some() => {
                Err((at, "a second document begins here; keep one to a file".to_owned()))
            }
            Event::Scalar(text, style, anchor, tag) => {
                let data = data_of(&text, style, tag.as_deref()).map_err(|why| (at, why))?;
                let node = Node { at, data, source: text.into_owned(), from_env: false };
                self.finish(node, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                self.begin(at, anchor, tag.is_some(), Inside::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                let (pairs, lines) = (Vec::new(), BTreeMap::new());
                self.begin(at, anchor, tag.is_some(), Inside::Map { pairs, key: None, lines })
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => self.alias(at, anchor),
            _ => Ok(()),
        }
    }

    fn begin(
        &mut self,
        at: Place,
        anchor: usize,
        tagged: bool,
        inside: Inside,
    ) -> Result<(), Trouble> {
        if tagged {
            return Err((at, TAG_REFUSED.to_owned()));
        }
        self.open.push(Open { at, anchor, inside });
        self.bound_depth(at, 0)
    }

    fn end(&mut self) -> Result<(), Trouble> {
        let Some(Open { at, anchor, inside }) = self.open.pop() else { return Ok(()) };
        let data = match inside {
            Inside::List(items) => Data::List(items),
            Inside::Map { pairs, .. } => Data::Map(pairs),
        };
        self.finish(Node::container(at, data), anchor)
    }

    fn alias(&mut self, at: Place, anchor: usize) -> Result<(), Trouble> {
        let Some(node) = self.anchors.get(&anchor) else {
            return Err((at, "an alias inside its own anchor".to_owned()));
        };
        let (depth, size) = (node.depth(), node.size());
        self.bound_depth(at, depth)?;
        self.bound_nodes(at, size)?;
        let Some(node) = self.anchors.get(&anchor).cloned() else { return Ok(()) };
        self.attach(Node { at, ..node })
    }

    fn finish(&mut self, node: Node, anchor: usize) -> Result<(), Trouble> {
        self.bound_nodes(node.at, 1)?;
        if anchor > 0 {
            self.bound_nodes(node.at, node.size())?;
            self.anchors.insert(anchor, node.clone());
        }
        self.attach(node)
    }

    fn attach(&mut self, node: Node) -> Result<(), Trouble> {
        match self.open.last_mut().map(|open| &mut open.inside) {
            None => self.root = Some(node),
            Some(Inside::List(items)) => items.push(node),
            Some(Inside::Map { pairs, key, lines }) => match key.take() {
                Some(key) => pairs.push((key, node)),
                None => *key = Some(key_of(node, lines)?),
            },
        }
        Ok(())
    }

    fn bound_depth(&self, at: Place, more: usize) -> Result<(), Trouble> {
        let max = model::limits::JSON_DEPTH_MAX;
        if self.open.len() + more > max {
            return Err((at, format!("nested deeper than {max} levels")));
        }
        Ok(())
    }

    fn bound_nodes(&mut self, at: Place, more: usize) -> Result<(), Trouble> {
        self.nodes += more;
        if self.nodes > NODES_MAX {
            return Err((at, format!("more than {NODES_MAX} values, aliases included")));
        }
        Ok(())
    }
}

const TAG_REFUSED: &str = "tags are not used here; remove the `!`";

fn data_of(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Data, String> {
    match tag {
        None if style == ScalarStyle::Plain => Ok(scalar::resolve(text)),
        None => Ok(Data::Text(text.to_owned())),
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix == "str" => {
            Ok(Data::Text(text.to_owned()))
        }
        Some(_) => Err(TAG_REFUSED.to_owned()),
    }
}

fn key_of(node: Node, lines: &mut BTreeMap<String, usize>) -> Result<Key, Trouble> {
    if matches!(node.data, Data::List(_) | Data::Map(_)) {
        return Err((node.at, "a key must be plain text".to_owned()));
    }
    let text = node.source;
    if let Some(first) = lines.insert(text.clone(), node.at.line) {
        return Err((node.at, format!("key `{text}` is written twice, first on line {first}")));
    }
    Ok(Key { text, at: node.at })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize as _;

    use super::*;

    fn value(text: &str) -> serde_json::Value {
        let root = parse(text).map_err(|(_, message)| message).unwrap().unwrap();
        serde_json::Value::deserialize(&root).unwrap()
    }

    #[test]
    fn json_is_read_as_yaml() {
        let check = |text: &str| {
            let expected: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!(value(text), expected, "{text}");
        };
        check(r#"{"a": [1, -2.5, true, null, "x"], "b": {"c": "d"}}"#);
        check("{\n\t\"tabs\": {\n\t\t\"are\": \"fine\"\n\t}\n}");
        check(r#"{"a":"b","c":["d","e"],"f":{}}"#);
        check(r#"{"slash": "\/", "quote": "\"", "nl": "\n\u00e9"}"#);
        check(r#"{"url": "http://x/y?z#w", "empty": ""}"#);
    }

    #[test]
    fn broken_text_is_refused_with_its_line() {
        let check = |text: &str, line: usize, part: &str| {
            let Err((place, message)) = parse(text) else { panic!("accepted: {text}") };
            assert!(message.contains(part), "{message}");
            assert_eq!(place.line, line, "{message}");
        };
        check("a: 1\nb: 2\na: 3\n", 3, "key `a` is written twice, first on line 1");
        check("{\"a\": 1,\n \"a\": 2}", 2, "written twice");
        check("a: [1\nb: 2\n", 2, "not valid YAML or JSON");
        check("a: !include b\n", 1, "tags are not used here");
        check("a: 1\n---\nb: 2\n", 2, "a second document");
        check("? [a]\n: b\n", 1, "a key must be plain text");
        check("a: &x [*x]\n", 1, "own anchor");
        check(&"[".repeat(80), 1, "nested deeper than 64");
    }

    #[test]
    fn aliases_repeat_values_and_are_bounded() {
        assert_eq!(value("a: &x [1]\nb: *x\n"), serde_json::json!({"a": [1], "b": [1]}));
        let level = |level: usize| {
            let uses = vec![format!("*a{}", level - 1); 10].join(", ");
            format!("a{level}: &a{level} [{uses}]\n")
        };
        let bomb = (1..9).map(level).collect::<Vec<_>>().concat();
        let bomb = format!("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n{bomb}");
        let Err((_, message)) = parse(&bomb) else { panic!("accepted") };
        assert!(message.contains("aliases included"), "{message}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,200}") {
            prop_assert!(parse(&text).is_ok() || parse(&text).is_err());
        }

        #[test]
        fn no_yaml_like_text_panics(text in "[\\[\\]{}:,&*!|>'\"%@#\\-? \n\ta-c0-9$]{0,80}") {
            prop_assert!(parse(&text).is_ok() || parse(&text).is_err());
        }
    }
}
