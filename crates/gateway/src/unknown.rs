//! What is said of a tool that cannot be had by the name given: unknown, or held back. Candidates
//! are named, never taken for what was meant, and only those that the caller may see.

use catalog::menu::{self, Menu, Mode};
use catalog::{Catalogue, Entry as Tool};
use model::fault::one_line;
use model::{Caller, Code, Fault};

use crate::gateway::Gateway;

impl Gateway {
    /// No tool that this caller may see goes by the name.
    pub(crate) fn unknown_tool(&self, caller: &Caller, name: &str, code: Code) -> Fault {
        let mode = self.mode();
        let shown = one_line(name, 100);
        let fault = |message: String| Fault::new(code, message).at(&shown);
        if code == Code::HydrateFailed && menu::RESERVED.contains(&name) && mode != Mode::Native {
            return fault(format!("`{shown}` is the gate's own; it is called directly"));
        }
        let catalogue = self.catalogue();
        let seen = self.seen(&catalogue, caller);
        let near = catalogue.near(name, seen.as_deref().unwrap_or(catalogue.usable()));
        if near.is_empty() {
            return fault(format!("unknown tool `{shown}`; {}", where_to_look(self.shown())));
        }
        let several = is_shared(&catalogue, name, &near);
        let names: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
        let (words, names) = (if several { "several go by it" } else { "near" }, names.join(", "));
        fault(format!("unknown tool `{shown}`; {words}: {names}")).with("near", near)
    }
}

/// Why a tool is neither listed nor callable, if so.
pub(crate) fn held_back(tool: &Tool) -> Option<Fault> {
    let finding = tool.quarantined()?;
    let drifted = catalog::departure::is_drift(finding);
    let code = if drifted { Code::CatalogueDrift } else { Code::SchemaInvalid };
    let message = format!("this {} is held back: {}", tool.item.kind.as_str(), finding.message);
    Some(Fault::new(code, message).at(&tool.shown_name))
}

fn where_to_look(shown: Menu) -> &'static str {
    match shown.mode {
        Mode::Gateway => "find one with tool_browse",
        Mode::Transparent | Mode::Native => "list the tools to see what there is",
    }
}

/// Whether each of these is what its upstream calls by this very name.
fn is_shared(catalogue: &Catalogue, name: &str, near: &[String]) -> bool {
    let own = |shown: &String| catalogue.resolve(shown).is_some_and(|tool| tool.item.name == name);
    near.len() > 1 && near.iter().all(own)
}
