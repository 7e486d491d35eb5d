//! The tools that become a task for a client that can follow one, and otherwise answer at once or
//! not at all.

use std::time::Duration;

use futures_util::future::try_join_all;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
    CreateTaskResult, InputResponses, JsonObject,
};
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskOptions};
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use super::rounds::{Given, Played, Script};
use super::tools::said;
use super::{Everything, is_modern, questions};

/// The jobs that no client can have without a task.
const ALWAYS_TASKS: [&str; 2] = ["failing_job", "test_tool_with_task"];
const SOMETIMES_TASKS: [&str; 4] =
    ["slow_compute", "protocol_error_job", "confirm_delete", "multi_input"];

const POLL_INTERVAL_MS: u64 = 200;

pub(super) fn is_job(name: &str) -> bool {
    ALWAYS_TASKS.contains(&name) || SOMETIMES_TASKS.contains(&name)
}

/// What is done, once nothing more has to be asked before it starts.
enum Job {
    Compute(Duration),
    Fail,
    Break,
    Ask(Script),
    Say(String),
}

impl Everything {
    pub(super) async fn start_job(
        &self,
        request: CallToolRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let able = cx.client_capabilities().unwrap_or_default();
        let follows = is_modern(cx) && able.supports_tasks();
        if !follows && ALWAYS_TASKS.contains(&&*request.name) {
            let needed = ClientCapabilities::builder().enable_tasks().build();
            return Err(ErrorData::missing_required_client_capability(needed));
        }
        let args = request.arguments.unwrap_or_default();
        let given = Given { responses: request.input_responses, state: request.request_state };
        let job = match questions::script(&request.name, &args, &able) {
            Some(script) if follows && request.name != "test_tool_with_task" => Job::Ask(script),
            Some(script) => match self.play(&script, given, cx).await? {
                Played::Asking(questions) => return Ok(questions.into()),
                Played::Answered(answers) => Job::Say((script.conclude)(&answers)),
            },
            None => silent_job(&request.name, &args),
        };
        if follows {
            let options = TaskOptions::new().with_poll_interval_ms(POLL_INTERVAL_MS);
            let task = self.shared.tasks.spawn(options, |task| Box::pin(follow(job, task)));
            return Ok(CreateTaskResult::new(task).into());
        }
        match run(job, None).await {
            Ok(result) => Ok(result.into()),
            Err(TaskExit::Error(error)) => Err(error),
            Err(TaskExit::Cancelled) => Err(ErrorData::internal_error("nobody cancelled it", None)),
        }
    }
}

fn silent_job(name: &str, args: &JsonObject) -> Job {
    match name {
        "failing_job" => Job::Fail,
        "protocol_error_job" => Job::Break,
        _ => {
            let seconds = args.get("seconds").and_then(Value::as_f64).unwrap_or(1.0);
            Job::Compute(Duration::try_from_secs_f64(seconds).unwrap_or_default())
        }
    }
}

/// Runs the job until it ends or the client has enough of it.
async fn follow(job: Job, task: TaskContext) -> Result<CallToolResult, TaskExit> {
    let cancelled = task.clone();
    tokio::select! {
        () = cancelled.cancelled() => Err(TaskExit::Cancelled),
        ended = run(job, Some(&task)) => ended,
    }
}

async fn run(job: Job, task: Option<&TaskContext>) -> Result<CallToolResult, TaskExit> {
    match (job, task) {
        (Job::Compute(time), _) => {
            tokio::time::sleep(time).await;
            Ok(said(format!("computed for {} seconds", time.as_secs_f64())))
        }
        (Job::Fail, _) => {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(CallToolResult::error(vec![ContentBlock::text("this job always fails")]))
        }
        (Job::Break, _) => {
            Err(TaskExit::Error(ErrorData::internal_error("this job always breaks", None)))
        }
        (Job::Say(text), _) => Ok(said(text)),
        (Job::Ask(script), Some(task)) => ask(&script, task).await.map(said),
        (Job::Ask(_), None) => {
            Err(TaskExit::Error(ErrorData::internal_error("there is no task to ask in", None)))
        }
    }
}

/// Asks all questions at once, each under its own key.
async fn ask(script: &Script, task: &TaskContext) -> Result<String, TaskExit> {
    let asked = script.rounds.iter().flatten().map(async |(key, question)| {
        let answer = task.request_input(key.clone(), question.clone()).await?;
        Ok::<_, TaskExit>((key.clone(), answer))
    });
    let answers: InputResponses = try_join_all(asked).await?.into_iter().collect();
    Ok((script.conclude)(&answers))
}
