//! `toolgate up`: the gateway as a server that clients connect to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use model::UpstreamName;
use serde_json::json;
use server::{Guard, Mcp, ServerInfo};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::args::UpArgs;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::stop;
use crate::assemble::{self, Gate};
use crate::config::{Config, LogLevel, Transport, UnknownTool};

pub(super) fn run(context: &Context, args: UpArgs) -> Result<(), CliError> {
    let insecure = args.insecure_no_auth;
    let loaded = context.start_upstreams(LogLevel::Info, args.into())?;
    let transport = loaded.config.transport.filter(|known| *known != Transport::Stdio);
    let transport = transport.unwrap_or(Transport::Http);
    context.block_on(listen(context, &loaded.config, transport, insecure))
}

/// Listens until told to stop, then lets running calls finish.
pub(super) async fn listen(
    context: &Context,
    config: &Config,
    transport: Transport,
    insecure: bool,
) -> Result<(), CliError> {
    let door = check_door(config, insecure)?;
    let listener = bind(config, transport).await?;
    let bound = listener.local_addr()?;
    let url = url(bound, transport);
    let data = Context::data_folder(config)?;
    let page = page(config, bound);
    let gate = assemble::gate_at(config, transport, &data, &url, page).await?;
    if door == Door::Open {
        let particulars = json!({"insecure_no_auth": true, "host": config.host.as_str()});
        gate.gateway.note("gate/start", particulars).await?;
    }
    let stop = stop::on_signal()?;
    announce(context, config, &gate, &url, &data.display().to_string())?;
    let served = server::serve(
        mcp(config, &gate),
        match transport {
            Transport::Sse => server::Transport::LegacySse,
            Transport::Stdio | Transport::Http => server::Transport::Streamable,
        },
        listener,
        guard(config, bound),
        stop.clone(),
    );
    Box::pin(finish(config, &gate, served, stop)).await
}

pub(super) fn mcp(config: &Config, gate: &Gate) -> Mcp {
    Mcp {
        gateway: Arc::clone(&gate.gateway),
        doorkeeper: Arc::new(gate.doorkeeper.clone()),
        parked: Arc::default(),
        streams: server::streams::Streams::default(),
        unknown_tool: match config.compat.unknown_tool {
            UnknownTool::Error => server::reply::UnknownTool::Error,
            UnknownTool::IsError => server::reply::UnknownTool::IsError,
        },
        server: Arc::new(ServerInfo {
            name: config.name.as_str().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: None,
        }),
    }
}

/// Runs the server to its stop; then refuses new calls, finishes running ones, and closes.
pub(super) async fn finish<F>(
    config: &Config,
    gate: &Gate,
    served: F,
    stop: CancellationToken,
) -> Result<(), CliError>
where
    F: Future<Output = std::io::Result<()>>,
{
    let deadline = Duration::from_millis(config.limits.shutdown_ms);
    let closing = async {
        stop.cancelled().await;
        tracing::info!("stopping: no new calls, running ones may finish");
        gate.gateway.close(deadline).await;
    };
    let serving = async {
        let served = served.await;
        // A server that ended by itself, as stdio does with its client, stops the gate too.
        stop.cancel();
        served
    };
    let ((served, ()), ()) =
        tokio::join!(async { tokio::join!(serving, closing) }, gate.gateway.watch());
    Ok(served?)
}

/// Whether other machines can come in without showing who they are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Door {
    Guarded,
    Open,
}

/// Whoever can reach a port that is not local must show who they are, unless the operator says
/// otherwise, which is put on record (C14, CW-115).
fn check_door(config: &Config, insecure: bool) -> Result<Door, CliError> {
    if config.is_loopback() || !config.auth.tokens.is_empty() {
        return Ok(Door::Guarded);
    }
    if insecure {
        tracing::warn!(
            host = config.host.as_str(),
            "listening without authentication: anybody who can reach this address may call tools"
        );
        return Ok(Door::Open);
    }
    let message = format!(
        "`{}` can be reached from other machines, and no one would have to authenticate",
        config.host
    );
    Err(CliError::new(Exit::Config, message).hint(
        "set `auth.tokens`, keep 127.0.0.1, or pass --insecure-no-auth behind a firewall or reverse proxy",
    ))
}

async fn bind(config: &Config, transport: Transport) -> Result<TcpListener, CliError> {
    let host = config.host.as_str().trim_start_matches('[').trim_end_matches(']');
    let port = config.port(transport);
    TcpListener::bind((host, port)).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            CliError::new(Exit::Busy, format!("port {port} on {host} is in use"))
                .hint("stop what listens there, or choose another with --port (0 takes a free one)")
        }
        _ => CliError::new(Exit::Unavailable, format!("cannot listen on {host}:{port}: {error}")),
    })
}

fn guard(config: &Config, bound: SocketAddr) -> Guard {
    let own = |texts: &[crate::config::Text]| -> Vec<String> {
        texts.iter().map(|text| text.as_str().to_owned()).collect()
    };
    let http = &config.http;
    Guard::new(bound, &own(&http.allow_hosts), &own(&http.allow_origins))
        .readable_by(&own(&http.cors.allow_origins))
}

fn url(bound: SocketAddr, transport: Transport) -> String {
    let path = if transport == Transport::Sse { "sse" } else { "mcp" };
    format!("http://{bound}/{path}")
}

/// Where people answer questions, if anybody here may.
fn page(config: &Config, bound: SocketAddr) -> Option<String> {
    let own =
        config.http.public_url.as_ref().map(|url| url.as_str().trim_end_matches('/').to_owned());
    let base = own.unwrap_or_else(|| format!("http://{bound}"));
    let approvers = config.auth.tokens.iter().any(|token| token.approver);
    approvers.then(|| format!("{base}/approvals"))
}

fn announce(
    context: &Context,
    config: &Config,
    gate: &Gate,
    url: &str,
    data: &str,
) -> Result<(), CliError> {
    let tools = gate.refreshed.tools;
    let choice = gate.gateway.choice();
    let mode = choice.mode;
    if context.out.is_json() {
        return context.out.json(
            &json!({"url": url, "mode": mode, "why": choice.why, "tools": tools, "data": data}),
        );
    }
    let failed = |name: &UpstreamName| gate.refreshed.failures.iter().any(|(down, _)| down == name);
    let serving =
        config.upstreams.iter().filter(|(name, upstream)| upstream.enabled && !failed(name));
    let names = serving.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    let me = stop::own_command();
    let lines = format!(
        "\
toolgate {version} is up

  listening  {url}
  tools      {tools} from {names}, shown in mode {mode} ({why})
  data       {data}

Paste into a client:

  Claude Code   claude mcp add --transport {kind} toolgate {url}
  others        {{\"mcpServers\": {{\"toolgate\": {{\"url\": \"{url}\"}}}}}}

Try next, in another terminal:

  {me} records list      what was called, and what came of it
  {me} approvals list    calls that wait for your yes
  {me} demo              a guided tour in one terminal

Ctrl-C stops it.",
        version = env!("CARGO_PKG_VERSION"),
        why = choice.why,
        kind = if url.ends_with("/sse") { "sse" } else { "http" },
    );
    lines.lines().try_for_each(|line| context.out.line(line))
}
