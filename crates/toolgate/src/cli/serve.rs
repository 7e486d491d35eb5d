//! `toolgate serve`: the gateway for one client, over its pipes unless told otherwise.

use server::stdio;

use super::args::ServeArgs;
use super::context::Context;
use super::error::CliError;
use super::{stop, up};
use crate::assemble;
use crate::config::{Config, LogLevel, Transport};

pub(super) fn run(context: &Context, args: ServeArgs) -> Result<(), CliError> {
    let loaded = context.start_upstreams(LogLevel::Info, args.into())?;
    let config = &loaded.config;
    match config.transport.unwrap_or(Transport::Stdio) {
        Transport::Stdio => context.block_on(pipe(config)),
        web @ (Transport::Http | Transport::Sse) => {
            context.block_on(up::listen(context, config, web, false))
        }
    }
}

/// Speaks MCP on standard input and output until the client goes. Nothing else is written there.
async fn pipe(config: &Config) -> Result<(), CliError> {
    let data = Context::data_folder(config)?;
    let gate = assemble::gate(config, Transport::Stdio, &data, "stdio").await?;
    let stop = stop::on_signal()?;
    let choice = gate.gateway.choice();
    tracing::info!(
        tools = gate.refreshed.tools,
        mode = %choice.mode,
        why = choice.why,
        data = %data.display(),
        "serving on stdio"
    );
    let served =
        stdio::serve(up::mcp(config, &gate), tokio::io::stdin(), tokio::io::stdout(), stop.clone());
    let served = Box::pin(async {
        served.await;
        Ok(())
    });
    up::finish(config, &gate, served, stop).await
}
