//! What each tool does, apart from the questions it asks and the tasks it becomes.

#![expect(deprecated, reason = "older clients still log and sample")]

use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServiceError};
use serde_json::{Value, json};

use super::changes::Change;
use super::rounds::{Given, Played};
use super::{Everything, fixed, is_modern, questions, tasks};

/// Between two things that a client should see one after the other.
const A_MOMENT: Duration = Duration::from_millis(50);

impl Everything {
    pub(super) fn tools(&self) -> Vec<Tool> {
        let changed = self.shared.changes.tools.load(Ordering::Relaxed);
        let mut tools = fixed::TOOLS.clone();
        for tool in &mut tools {
            if tool.name == "test_trigger_tool_change" {
                tool.description = Some(format!("Change the list; change {changed}.").into());
            }
        }
        tools
    }

    pub(super) async fn answer(
        &self,
        request: CallToolRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if tasks::is_job(&request.name) {
            return self.start_job(request, cx).await;
        }
        let args = request.arguments.unwrap_or_default();
        let able = cx.client_capabilities().unwrap_or_default();
        if let Some(script) = questions::script(&request.name, &args, &able) {
            let given = Given { responses: request.input_responses, state: request.request_state };
            return Ok(match self.play(&script, given, cx).await? {
                Played::Asking(questions) => questions.into(),
                Played::Answered(answers) => said((script.conclude)(&answers)).into(),
            });
        }
        self.work(&request.name, args.get("name"), cx).await.map(Into::into)
    }

    async fn work(
        &self,
        name: &str,
        greeted: Option<&Value>,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let told = match name {
            "greet" => {
                let name = greeted.and_then(Value::as_str).unwrap_or("stranger");
                return Ok(said(format!("Hello, {name}!")));
            }
            "test_missing_capability" => return can_sample(cx).and_then(|()| fixed_answer(name)),
            "test_tool_with_logging" | "test_logging_tool" => self.log(cx).await,
            "test_tool_with_progress" => progress(cx).await,
            "test_wait" => self.wait(cx).await,
            "test_waits_cancelled" => {
                let times = self.shared.cancelled.load(Ordering::SeqCst);
                return Ok(said(format!("{times} cancelled")));
            }
            "test_reconnection" => {
                tokio::time::sleep(A_MOMENT).await;
                Ok(())
            }
            _ if self.change(name) => Ok(()),
            _ => return fixed_answer(name),
        };
        told.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(said(format!("`{name}` is done")))
    }

    /// Says that it has begun, and waits to be cancelled.
    async fn wait(&self, cx: &RequestContext<RoleServer>) -> Result<(), ServiceError> {
        if let Some(token) = cx.meta.get_progress_token() {
            cx.peer.notify_progress(ProgressNotificationParam::new(token, 1.0)).await?;
        }
        cx.ct.cancelled().await;
        self.shared.cancelled.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Makes the change that the tool with this name is for; false if it is for none.
    fn change(&self, name: &str) -> bool {
        let changes: &[Change] = match name {
            "test_trigger_tool_change" => &[Change::Tools],
            "test_trigger_prompt_change" => &[Change::Prompts],
            "test_trigger_resource_change" => &[Change::Resources, Change::WatchedResource],
            _ => return false,
        };
        for change in changes {
            self.shared.changes.make(*change);
        }
        true
    }

    async fn log(&self, cx: &RequestContext<RoleServer>) -> Result<(), ServiceError> {
        let wanted = if is_modern(cx) {
            cx.meta.log_level()
        } else {
            Some(*self.log_level.lock().expect("no panic while logging"))
        };
        let level = LoggingLevel::Info;
        if wanted.is_none_or(|wanted| (wanted as u8) > (level as u8)) {
            return Ok(());
        }
        for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
            let line = LoggingMessageNotificationParam::new(level, json!(line));
            cx.peer.notify_logging_message(line.with_logger("everything")).await?;
            tokio::time::sleep(A_MOMENT).await;
        }
        Ok(())
    }
}

pub(super) fn said(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

async fn progress(cx: &RequestContext<RoleServer>) -> Result<(), ServiceError> {
    let Some(token) = cx.meta.get_progress_token() else { return Ok(()) };
    for done in [0.0, 50.0, 100.0] {
        let step = ProgressNotificationParam::new(token.clone(), done).with_total(100.0);
        cx.peer.notify_progress(step.with_message(format!("{done} of 100"))).await?;
        tokio::time::sleep(A_MOMENT).await;
    }
    Ok(())
}

fn can_sample(cx: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    if cx.client_capabilities().is_some_and(|able| able.sampling.is_some()) {
        return Ok(());
    }
    let needed = ClientCapabilities::builder().enable_sampling().build();
    Err(ErrorData::missing_required_client_capability(needed))
}

fn fixed_answer(name: &str) -> Result<CallToolResult, ErrorData> {
    let answer = fixed::ANSWERS.get(name).cloned();
    answer.ok_or_else(|| ErrorData::invalid_params(format!("no tool is called `{name}`"), None))
}
