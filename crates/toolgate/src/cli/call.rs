//! `toolgate call`: one call of one tool, on the same road as an agent's.

use std::io::Read;
use std::time::Duration;

use clap::Args;
use gateway::{CallRequest, Done, Watch};
use model::limits::FRAME_BYTES_MAX;
use model::{Answer, Code, ErrorKind};
use serde_json::{Value, json};

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::stop;
use crate::assemble;
use crate::config::{Config, LogLevel, Mode, Overrides, Transport};

#[derive(Debug, Args)]
pub struct CallArgs {
    /// The tool, by any name it goes by
    pub name: String,
    /// Its arguments as a JSON object; `-` reads standard input, `@FILE` a file
    #[arg(value_name = "JSON", default_value = "{}", allow_hyphen_values = true)]
    pub arguments: String,
    /// The run this call belongs to
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,
}

pub(super) fn run(context: &Context, args: &CallArgs) -> Result<(), CliError> {
    let arguments = args.arguments(&mut std::io::stdin())?;
    // A person at a terminal wants the whole answer; nobody could look into a handle afterwards.
    let flags = Overrides { mode: Some(Mode::Native), ..Overrides::default() };
    let loaded = context.start_upstreams(LogLevel::Warn, flags)?;
    let done = context.block_on(call(&loaded.config, args, arguments))?;
    let answer = done.cleared.get();
    if context.out.is_json() {
        context
            .out
            .json(&json!({"record_id": done.record_id, "answer": answer, "result": done.result}))?;
    } else if done.fault.is_none() {
        show(context, answer)?;
    }
    verdict(&done)
}

async fn call(config: &Config, args: &CallArgs, arguments: Value) -> Result<Done, CliError> {
    let data = Context::data_folder(config)?;
    let gate = assemble::gate(config, Transport::Stdio, &data, "call").await?;
    let request = CallRequest {
        run_id: args.run.clone(),
        ..CallRequest::new(gate.doorkeeper.local(), &args.name, arguments)
    };
    let stop = stop::on_signal()?;
    let watch = Watch { cancel: stop, ..Watch::default() };
    let done = Box::pin(gate.gateway.call(request, watch)).await;
    gate.gateway.close(Duration::from_millis(config.limits.shutdown_ms)).await;
    Ok(done)
}

/// Text as text; anything else as the JSON it came as.
fn show(context: &Context, answer: &Answer) -> Result<(), CliError> {
    for block in &answer.content {
        match block.get("text").and_then(Value::as_str) {
            Some(text) => text.lines().try_for_each(|line| context.out.line(line))?,
            None => context.out.json(block)?,
        }
    }
    Ok(())
}

/// The exit code: whose no it was, if it was one.
fn verdict(done: &Done) -> Result<(), CliError> {
    let Some(fault) = &done.fault else {
        let failed = done.cleared.get().is_error;
        return if failed {
            Err(CliError::new(Exit::Failure, "the tool says it failed"))
        } else {
            Ok(())
        };
    };
    let exit = match fault.code.kind() {
        ErrorKind::Upstream | ErrorKind::Timeout => Exit::Unavailable,
        ErrorKind::Protocol | ErrorKind::Internal => Exit::Failure,
        _ => Exit::Refused,
    };
    let error = CliError::new(exit, done.cleared.get().full_text());
    let me = stop::own_command();
    Err(match fault.code {
        Code::ApprovalPending => {
            let id = fault.details.get("approval_id").and_then(Value::as_str).unwrap_or("ID");
            error.hint(format!("run `{me} approvals approve {id}`, then make the same call again"))
        }
        Code::ToolNotFound => error.hint(format!("`{me} tools list` shows what there is")),
        Code::ArgsInvalid => {
            error.hint(format!("`{me} tools show {}` shows its schema", fault.path))
        }
        _ => error,
    })
}

impl CallArgs {
    /// The arguments as JSON, from where the command line says they are.
    pub(super) fn arguments(&self, stdin: &mut dyn Read) -> Result<Value, CliError> {
        let text = match (self.arguments.as_str(), self.arguments.strip_prefix('@')) {
            ("-", _) => read_bounded(stdin, "standard input")?,
            (_, Some(path)) => {
                let file = std::fs::File::open(path);
                let mut file = file.map_err(|error| unreadable(path, &error.to_string()))?;
                read_bounded(&mut file, path)?
            }
            (text, None) => text.to_owned(),
        };
        let value = serde_json::from_str::<Value>(&text).map_err(|error| {
            CliError::usage(format!("the arguments are not JSON: {error}"))
                .hint(r#"quote them for the shell: '{"key": "value"}'"#)
        })?;
        if !value.is_object() {
            return Err(CliError::usage("the arguments must be a JSON object"));
        }
        if let Some(number) = model::numbers::inexact(&text) {
            let message = format!("the number `{number}` cannot be held exactly");
            return Err(CliError::usage(message)
                .hint("write it with fewer digits, or as text where the tool takes text"));
        }
        Ok(value)
    }
}

fn read_bounded(reader: &mut dyn Read, name: &str) -> Result<String, CliError> {
    let mut text = String::new();
    let bound = u64::try_from(FRAME_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let read = reader.take(bound).read_to_string(&mut text);
    let bytes = read.map_err(|error| unreadable(name, &error.to_string()))?;
    if bytes > FRAME_BYTES_MAX {
        return Err(unreadable(name, &format!("longer than {FRAME_BYTES_MAX} bytes")));
    }
    Ok(text)
}

fn unreadable(name: &str, why: &str) -> CliError {
    CliError::usage(format!("`{name}` cannot be read: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(arguments: &str, stdin: &str) -> Result<Value, CliError> {
        let arguments = arguments.to_owned();
        let args = CallArgs { name: "echo".to_owned(), arguments, run: None };
        args.arguments(&mut stdin.as_bytes())
    }

    #[test]
    fn arguments_come_from_the_line_a_pipe_or_a_file() {
        assert_eq!(read(r#"{"a": 1}"#, "").unwrap(), json!({"a": 1}));
        assert_eq!(read("-", r#"{"b": 2}"#).unwrap(), json!({"b": 2}));
        assert!(read(r#"{"a": 18446744073709551617}"#, "").is_err());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("args.json");
        std::fs::write(&file, r#"{"c": 3}"#).unwrap();
        assert_eq!(read(&format!("@{}", file.display()), "").unwrap(), json!({"c": 3}));
    }

    #[test]
    fn other_arguments_are_refused() {
        let check = |arguments: &str, stdin: &str, part: &str| {
            let error = read(arguments, stdin).unwrap_err();
            assert_eq!(error.exit, Exit::Usage);
            assert!(error.message.contains(part), "{}", error.message);
        };
        check("{", "", "not JSON");
        check("[1]", "", "must be a JSON object");
        check("-", "", "not JSON");
        check("@/nowhere/args.json", "", "`/nowhere/args.json` cannot be read");
        let long = format!("\"{}\"", "x".repeat(FRAME_BYTES_MAX));
        check("-", &long, "longer than");
    }
}
