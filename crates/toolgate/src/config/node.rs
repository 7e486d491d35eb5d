//! The tree of a file as written: every value and key knows its line. No meaning yet; and no
//! `Debug`, since a value may have come from the environment.

use serde_json::Number;

use super::problem::Place;

#[derive(Clone)]
pub(super) struct Node {
    pub(super) at: Place,
    pub(super) data: Data,
    /// A scalar as the file spells it, before variables were put in. Safe to show.
    pub(super) source: String,
    /// Part of the value came from the environment.
    pub(super) from_env: bool,
}

#[derive(Clone)]
pub(super) enum Data {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
    /// A text whose variables could not be put in; that was said already.
    Broken,
}

#[derive(Clone)]
pub(super) struct Key {
    pub(super) text: String,
    pub(super) at: Place,
}

impl Node {
    pub(super) fn container(at: Place, data: Data) -> Self {
        Self { at, data, source: String::new(), from_env: false }
    }

    pub(super) fn pairs(&self) -> &[(Key, Self)] {
        if let Data::Map(pairs) = &self.data { pairs } else { &[] }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.pairs().iter().find(|(known, _)| known.text == key).map(|(_, node)| node)
    }

    /// The place of the deepest key on this path that exists.
    pub(super) fn place(&self, path: &[&str]) -> Place {
        let mut place = self.at;
        let mut node = self;
        for name in path {
            match &node.data {
                Data::Map(pairs) => {
                    let Some((key, next)) = pairs.iter().find(|(key, _)| key.text == *name) else {
                        break;
                    };
                    (place, node) = (key.at, next);
                }
                Data::List(items) => {
                    let index = name.parse::<usize>().ok();
                    let Some(next) = index.and_then(|index| items.get(index)) else { break };
                    (place, node) = (next.at, next);
                }
                _ => break,
            }
        }
        place
    }

    /// The place of the first of these keys that is there, or of the whole.
    pub(super) fn place_of(&self, keys: &[&str]) -> Place {
        let mut known = self.pairs().iter().map(|(key, _)| key);
        known.find(|key| keys.contains(&key.text.as_str())).map_or(self.at, |key| key.at)
    }

    /// An entry of a list.
    pub(super) fn item(&self, index: usize) -> Option<&Self> {
        if let Data::List(items) = &self.data { items.get(index) } else { None }
    }

    /// Nodes in this subtree, itself included.
    pub(super) fn size(&self) -> usize {
        1 + self.children().map(Self::size).sum::<usize>()
    }

    /// Levels of lists and mappings in this subtree.
    pub(super) fn depth(&self) -> usize {
        match self.data {
            Data::List(_) | Data::Map(_) => {
                1 + self.children().map(Self::depth).max().unwrap_or_default()
            }
            _ => 0,
        }
    }

    fn children(&self) -> impl Iterator<Item = &Self> {
        let items = if let Data::List(items) = &self.data { items.as_slice() } else { &[] };
        items.iter().chain(self.pairs().iter().map(|(_, node)| node))
    }
}
