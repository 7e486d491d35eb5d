//! The error a library user sees when a result is turned into a Rust `Result`.

use crate::answer::Answer;
use crate::fault::Fault;

/// Why a tool gave no usable answer. An MCP tool's own error is one kind of it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ToolError {
    #[error(transparent)]
    Mcp(#[from] McpToolError),
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// The tool answered, and its answer says that it failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("MCP tool '{tool}' returned error: {text}")]
pub struct McpToolError {
    pub tool: String,
    pub text: String,
}

impl Answer {
    /// Turns a tool's error answer into an error value; any other answer is passed on.
    pub fn into_result(self, tool: &str) -> Result<Self, ToolError> {
        if self.is_error {
            let text = self.full_text();
            return Err(McpToolError { tool: tool.to_owned(), text }.into());
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Code;

    /// OR-2: the MCP tool error is a kind of the general tool error.
    #[test]
    fn an_mcp_error_is_a_tool_error() {
        let error = Answer::error("no such ticket").into_result("tickets_get").unwrap_err();
        assert!(matches!(&error, ToolError::Mcp(mcp) if mcp.text == "no such ticket"));
        assert_eq!(error.to_string(), "MCP tool 'tickets_get' returned error: no such ticket");
    }

    #[test]
    fn a_fault_is_a_tool_error_too() {
        let error = ToolError::from(Fault::new(Code::PolicyDenied, "not today"));
        assert!(matches!(error, ToolError::Fault(_)));
        assert!(Answer::text("fine").into_result("t").is_ok());
    }
}
