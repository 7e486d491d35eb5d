//! `toolgate demo gateway` and `toolgate demo proxy`: what a model does in the modes `gateway` and
//! `transparent`, step by step, with a stub behind the gate.

use std::collections::BTreeMap;
use std::time::Duration;

use catalog::Query;
use gateway::{CallRequest, Via, Watch};
use model::{Answer, UpstreamName};
use serde_json::{Value, json};

use crate::assemble::{self, Gate};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::config::{Config, LogLevel, Mode, Overrides, StubTools, Target, Transport, Upstream};

pub(super) fn run(context: &Context, mode: Mode) -> Result<(), CliError> {
    context.start(LogLevel::Error, Overrides::default())?;
    context.block_on(async {
        let folder = tempfile::tempdir()?;
        let data = folder.path().join("data");
        let gate = assemble::gate(&config(mode), Transport::Stdio, &data, "demo").await?;
        let steps = Box::pin(walk(&gate, mode)).await;
        gate.gateway.close(Duration::from_secs(1)).await;
        if context.out.is_json() {
            return context.out.json(&steps);
        }
        for step in &steps {
            context.out.line(step["does"].as_str().unwrap_or_default())?;
            let text = step["reads"].as_str().unwrap_or_default();
            text.lines().try_for_each(|line| context.out.line(&format!("    {line}")))?;
            context.out.line("")?;
        }
        Ok(())
    })
}

fn config(mode: Mode) -> Config {
    let stub = Upstream::new(Target::Stub { tools: StubTools::Inline(tools()) });
    let mut config = Config::demo().with(Overrides { mode: Some(mode), ..Overrides::default() });
    config.upstreams = BTreeMap::from([(UpstreamName::from_string("stub"), stub)]);
    config
}

/// Each step: what the model does, and what it reads.
async fn walk(gate: &Gate, mode: Mode) -> Vec<Value> {
    let (gateway, caller) = (&gate.gateway, gate.doorkeeper.local());
    let step = |does: &str, reads: &str| json!({"does": does, "reads": reads});
    let menu = gateway.menu(&caller).into_inner();
    let names = menu.iter().filter_map(|tool| tool["name"].as_str()).collect::<Vec<_>>();
    let mut steps = vec![step("tools/list shows", &names.join("\n"))];
    if mode == Mode::Transparent {
        let shown = gateway.hydrate(&caller, "issues.create");
        steps.push(step("tool_hydrate tool_id=issues.create", &shown.get().full_text()));
    } else {
        let query = Query::Words("open an issue".to_owned());
        let found = gateway.browse(&caller, &query, Some(1)).await;
        steps.push(step("tool_browse query=\"open an issue\"", &found.get().full_text()));
    }
    for args in [json!({}), json!({"title": "It rains in"})] {
        let does = format!("tool_execute tool_id=issues.create args={args}");
        let request = CallRequest::new(caller.clone(), "issues.create", args);
        let request = CallRequest { via: Via::Argument, ..request };
        let done = Box::pin(gateway.call(request, Watch::default())).await;
        let answer: &Answer = done.cleared.get();
        steps.push(step(&does, &answer.full_text()));
    }
    steps
}

fn tools() -> Vec<Value> {
    let tool = |name: &str, description: &str, field: &str| {
        json!({
            "name": name,
            "description": description,
            "inputSchema": {
                "type": "object",
                "properties": {field: {"type": "string"}},
                "required": [field],
                "additionalProperties": false
            }
        })
    };
    vec![
        tool("issues.create", "Open a new issue.", "title"),
        tool("issues.close", "Close an issue.", "id"),
        tool("files.read", "Read a file.", "path"),
    ]
}
