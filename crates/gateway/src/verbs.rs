//! What a `tools/call` means in the mode the gate runs in: a verb of ours, or a tool by name.

use catalog::menu::{self, Doors, Menu, Mode};
use catalog::{Deed, Query};
use model::{Code, Fault, ItemKind, Method, Selector};
use serde::Deserialize;
use serde_json::{Map, Value};

/// One thing a client can ask for.
#[derive(Debug)]
pub enum Verb {
    Browse {
        query: Query,
        top_k: Option<usize>,
    },
    Hydrate {
        tool_id: String,
    },
    Execute {
        tool_id: String,
        args: Value,
        dry_run: bool,
        /// The gravest deed its door lets through.
        up_to: Deed,
    },
    View {
        handle: String,
        selector: Selector,
    },
    /// Prompts, or resources and their templates.
    Look {
        kind: ItemKind,
        query: Option<String>,
        top_k: Option<usize>,
    },
    /// A resource by its address, a prompt by its name.
    Fetch {
        method: Method,
        name: String,
        args: Value,
    },
    /// A tool of an upstream under the name it was listed by.
    Call {
        name: String,
        args: Value,
    },
}

impl Verb {
    /// Reads the name against the menu. Errors are for the model: it can correct them.
    pub fn read(
        shown: impl Into<Menu>,
        name: impl Into<String>,
        args: Value,
    ) -> Result<Self, Fault> {
        let (shown, name) = (shown.into(), name.into());
        let Some(reading) = reading(shown, &name) else { return Ok(Self::Call { name, args }) };
        let read = menu::fit(&name, shown.max_cards, args).and_then(reading);
        read.map_err(|fault| fault.at(name))
    }
}

/// How the arguments of one of our own tools are read; they fit its schema by then.
type Reading = fn(Value) -> Result<Verb, Fault>;

fn reading(shown: Menu, name: &str) -> Option<Reading> {
    let Menu { mode, doors, also, .. } = shown;
    let reading: Reading = match (mode, name) {
        (Mode::Gateway, menu::RESOURCE_BROWSE) if also.resources => {
            |args| look(args, ItemKind::Resource)
        }
        (Mode::Gateway, menu::PROMPT_BROWSE) if also.prompts => |args| look(args, ItemKind::Prompt),
        (Mode::Gateway, menu::RESOURCE_READ) if also.resources => |args| {
            let read = |Read { uri }| (Method::ReadResource, uri, Value::Null);
            from_args(args).map(read).map(fetch)
        },
        (Mode::Gateway, menu::PROMPT_GET) if also.prompts => |args| {
            let get = |Get { name, args }| (Method::GetPrompt, name, Value::Object(args));
            from_args(args).map(get).map(fetch)
        },
        (Mode::Gateway, menu::TOOL_BROWSE) => browse,
        (Mode::Transparent, menu::TOOL_HYDRATE) => {
            |args| from_args(args).map(|Hydrate { tool_id }| Verb::Hydrate { tool_id })
        }
        (Mode::Native, _) => return None,
        // A client was told to ask its user by the door; this one would lead around all three.
        (_, menu::TOOL_EXECUTE) if doors == Doors::ByDeed => |_| Err(closed()),
        (_, menu::TOOL_EXECUTE | menu::TOOL_DESTROY) => |args| execute(args, Deed::Destroy),
        (_, menu::TOOL_WRITE) => |args| execute(args, Deed::Write),
        (_, menu::TOOL_READ) => |args| execute(args, Deed::Read),
        (_, menu::TOOL_VIEW) => view,
        _ => return None,
    };
    Some(reading)
}

fn closed() -> Fault {
    let doors = Doors::ByDeed.named();
    invalid(&format!("`{}` is not offered here; call the tool with {doors}", menu::TOOL_EXECUTE))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BrowseArgs {
    query: Option<String>,
    path: Option<String>,
    top_k: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LookArgs {
    query: Option<String>,
    top_k: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    uri: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Get {
    name: String,
    #[serde(default)]
    args: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hydrate {
    tool_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Execute {
    tool_id: String,
    #[serde(default)]
    args: Map<String, Value>,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ViewArgs {
    handle: String,
    selector: Value,
}

fn browse(args: Value) -> Result<Verb, Fault> {
    let BrowseArgs { query, path, top_k } = from_args(args)?;
    Ok(Verb::Browse { query: Query::from_args(query, path)?, top_k })
}

fn look(args: Value, kind: ItemKind) -> Result<Verb, Fault> {
    let LookArgs { query, top_k } = from_args(args)?;
    Ok(Verb::Look { kind, query, top_k })
}

fn fetch((method, name, args): (Method, String, Value)) -> Verb {
    Verb::Fetch { method, name, args }
}

fn execute(args: Value, up_to: Deed) -> Result<Verb, Fault> {
    let Execute { tool_id, args, dry_run } = from_args(args)?;
    Ok(Verb::Execute { tool_id, args: Value::Object(args), dry_run, up_to })
}

fn view(args: Value) -> Result<Verb, Fault> {
    let ViewArgs { handle, selector } = from_args(args)?;
    Ok(Verb::View { handle, selector: context::parse_selector(&selector)? })
}

fn from_args<T: for<'de> Deserialize<'de>>(args: Value) -> Result<T, Fault> {
    serde_json::from_value(args).map_err(|error| invalid(&error.to_string()))
}

fn invalid(message: &str) -> Fault {
    Fault::new(Code::ArgsInvalid, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::menu::Also;
    use serde_json::json;

    #[test]
    fn a_name_means_what_the_mode_lists() {
        let read = |mode, name: &str, args| format!("{:?}", Verb::read(mode, name, args).unwrap());
        let check = |mode, name, args, wanted: &str| {
            let got = read(mode, name, args);
            assert!(got.starts_with(wanted), "{got}");
        };
        check(Mode::Gateway, "tool_browse", json!({"query": "refund"}), "Browse");
        check(Mode::Gateway, "tool_browse", json!({"path": "/"}), "Browse { query: Path(\"/\")");
        check(Mode::Gateway, "tool_execute", json!({"tool_id": "x", "args": {}}), "Execute");
        check(Mode::Gateway, "tool_view", json!({"handle": "h"}), "View");
        check(Mode::Gateway, "tool_hydrate", json!({"tool_id": "x"}), "Call");
        check(Mode::Transparent, "tool_hydrate", json!({"tool_id": "x"}), "Hydrate");
        check(Mode::Transparent, "tool_browse", json!({}), "Call");
        check(Mode::Native, "tool_execute", json!({"tool_id": "x"}), "Call");
        check(Mode::Gateway, "tickets_list", json!({}), "Call");
        check(Mode::Native, "tool_read", json!({}), "Call");
        check(Mode::Gateway, "resource_browse", json!({}), "Call");
        let also = Also { resources: true, prompts: true };
        let all = Menu { mode: Mode::Gateway, also, ..Menu::default() };
        let asked = |name, args, wanted: &str| {
            let got = format!("{:?}", Verb::read(all, name, args).unwrap());
            assert!(got.starts_with(wanted), "{got}");
        };
        asked("resource_browse", json!({"query": "x"}), "Look { kind: Resource");
        asked("prompt_browse", json!({}), "Look { kind: Prompt");
        asked("resource_read", json!({"uri": "a:b"}), "Fetch { method: ReadResource");
        asked("prompt_get", json!({"name": "p", "args": {"a": "b"}}), "Fetch { method: GetPrompt");
        assert!(Verb::read(all, "resource_read", json!({})).is_err());
        assert!(Verb::read(all, "prompt_browse", json!({"top_k": 51})).is_err());
        let deed = |name, wanted| {
            let got = read(Mode::Gateway, name, json!({"tool_id": "x", "dry_run": true}));
            assert!(got.contains("dry_run: true") && got.contains(wanted), "{got}");
        };
        deed("tool_read", "up_to: Read");
        deed("tool_write", "up_to: Write");
        deed("tool_destroy", "up_to: Destroy");
        deed("tool_execute", "up_to: Destroy");
    }

    /// Clients that let their user decide by the door must not be walked around.
    #[test]
    fn with_a_door_for_each_deed_there_is_none_for_all() {
        for mode in [Mode::Gateway, Mode::Transparent] {
            let shown = Menu { mode, doors: Doors::ByDeed, ..Menu::default() };
            let args = || json!({"tool_id": "x", "args": {}});
            let fault = Verb::read(shown, "tool_execute", args()).unwrap_err();
            assert_eq!(fault.code, Code::ArgsInvalid);
            assert!(fault.message.contains("tool_read, tool_write or tool_destroy"), "{fault}");
            assert!(Verb::read(shown, "tool_read", args()).is_ok());
        }
    }

    #[test]
    fn wrong_arguments_of_a_verb_can_be_corrected() {
        let check = |name: &str, args: Value, wanted: &str| {
            let fault = Verb::read(Mode::Gateway, name, args).unwrap_err();
            assert_eq!((fault.code, fault.path.as_str()), (Code::ArgsInvalid, name));
            assert!(fault.message.contains(wanted), "{fault}");
        };
        check("tool_browse", json!({"query": "a", "path": "/"}), "not both");
        check("tool_browse", json!({"query": "a", "top_k": 0}), "top_k");
        check("tool_browse", json!({"qery": "a"}), "qery");
        check("tool_execute", json!({}), "tool_id");
        check("tool_execute", json!({"tool_id": "a", "args": 7}), "/args");
        check("tool_browse", json!(7), "object");
    }
}
