//! What a client may ask of an upstream through the gate, apart from listing.

use crate::item::ItemKind;

/// One way to use an upstream. All of them travel the same road.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Method {
    #[default]
    CallTool,
    ReadResource,
    GetPrompt,
    /// Suggestions for one argument of a prompt or of a resource template.
    Complete(ItemKind),
    Task(TaskVerb),
    /// A method of an extension, passed on under its own name.
    Other(String),
}

/// What can be asked about a call that goes on after its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskVerb {
    Get,
    /// 2025-11-25 only: waits for the outcome.
    Result,
    /// 2026-07-28 only: brings the input the task waits for.
    Update,
    Cancel,
}

impl Method {
    pub fn as_str(&self) -> &str {
        match self {
            Self::CallTool => "tools/call",
            Self::ReadResource => "resources/read",
            Self::GetPrompt => "prompts/get",
            Self::Complete(_) => "completion/complete",
            Self::Task(TaskVerb::Get) => "tasks/get",
            Self::Task(TaskVerb::Result) => "tasks/result",
            Self::Task(TaskVerb::Update) => "tasks/update",
            Self::Task(TaskVerb::Cancel) => "tasks/cancel",
            Self::Other(method) => method,
        }
    }

    /// The method of this name, done to an item of this kind.
    pub fn named(name: &str, kind: ItemKind) -> Self {
        match name {
            "tools/call" => Self::CallTool,
            "resources/read" => Self::ReadResource,
            "prompts/get" => Self::GetPrompt,
            "completion/complete" => Self::Complete(kind),
            "tasks/get" => Self::Task(TaskVerb::Get),
            "tasks/result" => Self::Task(TaskVerb::Result),
            "tasks/update" => Self::Task(TaskVerb::Update),
            "tasks/cancel" => Self::Task(TaskVerb::Cancel),
            other => Self::Other(other.to_owned()),
        }
    }

    /// The kind of item this is done to.
    pub const fn kind(&self) -> ItemKind {
        match self {
            Self::CallTool | Self::Task(_) => ItemKind::Tool,
            Self::ReadResource => ItemKind::Resource,
            Self::GetPrompt => ItemKind::Prompt,
            Self::Complete(kind) => *kind,
            Self::Other(_) => ItemKind::Internal,
        }
    }

    /// The word for it in a policy.
    pub const fn action(&self) -> &'static str {
        match self.kind() {
            ItemKind::Resource => "read",
            ItemKind::Prompt => "get_prompt",
            ItemKind::Tool | ItemKind::Skill | ItemKind::Internal => "call",
        }
    }

    pub const fn is_tool_call(&self) -> bool {
        matches!(self, Self::CallTool)
    }

    /// Whether it changes nothing but what is known, whatever the item does when it is called.
    pub const fn only_looks(&self) -> bool {
        match self {
            Self::ReadResource | Self::GetPrompt | Self::Complete(_) => true,
            Self::Task(verb) => matches!(verb, TaskVerb::Get | TaskVerb::Result),
            Self::CallTool | Self::Other(_) => false,
        }
    }
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Listed {
    Tools,
    Prompts,
    Resources,
    Templates,
    Tasks,
}

impl Listed {
    /// The key of the list in its result.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Tasks => "tasks",
        }
    }

    pub const fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
            Self::Tasks => "tasks/list",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CO-91: tools, resources and prompts are judged as what they are.
    #[test]
    fn each_method_has_its_word_in_policy() {
        let check = |method: Method, action: &str, only_looks: bool| {
            assert_eq!((method.action(), method.only_looks()), (action, only_looks), "{method:?}");
            assert_eq!(Method::named(method.as_str(), method.kind()), method);
        };
        check(Method::CallTool, "call", false);
        check(Method::ReadResource, "read", true);
        check(Method::GetPrompt, "get_prompt", true);
        check(Method::Complete(ItemKind::Prompt), "get_prompt", true);
        check(Method::Complete(ItemKind::Resource), "read", true);
        check(Method::Task(TaskVerb::Get), "call", true);
        check(Method::Task(TaskVerb::Cancel), "call", false);
        check(Method::Other("vendor/x".to_owned()), "call", false);
    }
}
