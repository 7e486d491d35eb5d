//! The commands and their flags. Help, completions and the manual come from here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::approvals::ApprovalsCommand;
use super::call::CallArgs;
use super::cards::CardsCommand;
use super::claims::ClaimsCommand;
use super::completions::CompletionsArgs;
use super::config::ConfigCommand;
use super::cost::CostArgs;
use super::demo::DemoArgs;
use super::doctor::DoctorArgs;
use super::evidence::EvidenceCommand;
use super::exit;
use super::init::InitArgs;
use super::manifest::ManifestCommand;
use super::policy::PolicyCommand;
use super::records::RecordsCommand;
use super::replay::ReplayArgs;
use super::session::SessionCommand;
use super::tools::ToolsCommand;
use crate::config::{LogLevel, Mode, Overrides, Profile, Transport};

/// The gate between AI agents and their tools.
#[derive(Debug, Parser)]
#[command(name = "toolgate", version, after_help = exit::HELP, propagate_version = false)]
pub struct Cli {
    #[command(flatten)]
    pub globals: Globals,
    #[command(subcommand)]
    pub command: Command,
}

/// Flags every command takes.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct Globals {
    /// The configuration file; else `toolgate.yaml` in the current folder, else built-in defaults
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The folder for records, approvals and artifacts
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Answer in JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// How much to log; else `TOOLGATE_LOG`, else the file's `log`
    #[arg(long, global = true, value_name = "LEVEL")]
    pub log: Option<LogLevel>,
    /// No notes, and only errors in the log
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Agree to what would be asked, such as starting programs that this folder's file names
    #[arg(short, long, global = true)]
    pub yes: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start the gateway for clients that connect over HTTP
    Up(UpArgs),
    /// Start the gateway for one client, by default over stdio
    Serve(ServeArgs),
    /// The form `mcp serve`, the same as `serve`
    #[command(hide = true)]
    Mcp {
        #[command(subcommand)]
        command: McpCommand,
    },
    /// Look at the tools in the catalogue
    Tools {
        #[command(subcommand)]
        command: ToolsCommand,
    },
    /// Show cards as the cacheable tool array of a model provider
    Cards {
        #[command(subcommand)]
        command: CardsCommand,
    },
    /// Count what the tools cost a model, in each mode
    Cost(CostArgs),
    /// Call a tool, on the same road as an agent's call
    Call(CallArgs),
    /// Look at what was called
    Records {
        #[command(subcommand)]
        command: RecordsCommand,
    },
    /// Look at the facts that records hold for decisions to cite
    Evidence {
        #[command(subcommand)]
        command: EvidenceCommand,
    },
    /// Decide a recorded call or run again, touching nothing
    Replay(ReplayArgs),
    /// Settle idempotency keys in doubt
    Claims {
        #[command(subcommand)]
        command: ClaimsCommand,
    },
    /// Answer calls that wait for a human
    Approvals {
        #[command(subcommand)]
        command: ApprovalsCommand,
    },
    /// Look over the policy, try cases on it, and ask it why
    Policy {
        #[command(subcommand)]
        command: PolicyCommand,
    },
    /// Check the configuration, or show its schema
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Check adapter manifests, or draft one
    Manifest {
        #[command(subcommand)]
        command: ManifestCommand,
    },
    /// Try every upstream, and show what it says and what is wrong with it
    Doctor(DoctorArgs),
    /// Load a recorded session, or make a brief of it
    Session {
        #[command(subcommand)]
        command: SessionCommand,
    },
    /// See a whole call from question to record, with nothing to set up
    Demo(DemoArgs),
    /// Make a client use this gate
    Init(InitArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
}

#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// The same as `toolgate serve`
    Serve(ServeArgs),
}

#[derive(Clone, Debug, Default, Args)]
pub struct UpArgs {
    /// How clients connect [default: http]
    #[arg(long, value_name = "TRANSPORT")]
    pub transport: Option<WebTransport>,
    #[command(flatten)]
    pub server: ServerArgs,
    /// How strict the defaults are [default: dev on loopback, else production]
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<Profile>,
    /// Let everybody in who can reach the port
    #[arg(long)]
    pub insecure_no_auth: bool,
}

#[derive(Clone, Debug, Default, Args)]
pub struct ServeArgs {
    /// How the client connects [default: the file's `transport`, else stdio]
    #[arg(long, value_name = "TRANSPORT")]
    pub transport: Option<Transport>,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// What `up` and `serve` share.
#[derive(Clone, Debug, Default, Args)]
pub struct ServerArgs {
    /// The address to listen on [default: 127.0.0.1]
    #[arg(long)]
    pub host: Option<String>,
    /// The port to listen on, 0 for a free one [default: 8642 for http, 8000 for sse]
    #[arg(long)]
    pub port: Option<u16>,
    /// What `tools/list` shows [default: auto]
    #[arg(long)]
    pub mode: Option<Mode>,
    /// The name Toolgate gives itself towards clients [default: toolgate]
    #[arg(long)]
    pub name: Option<String>,
}

/// The transports that listen on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WebTransport {
    /// Streamable HTTP under `/mcp`
    Http,
    /// The older HTTP with server-sent events, under `/sse`
    Sse,
}

impl From<WebTransport> for Transport {
    fn from(transport: WebTransport) -> Self {
        match transport {
            WebTransport::Http => Self::Http,
            WebTransport::Sse => Self::Sse,
        }
    }
}

impl From<ServerArgs> for Overrides {
    fn from(args: ServerArgs) -> Self {
        let ServerArgs { host, port, mode, name } = args;
        Self { name, mode, host, port, ..Self::default() }
    }
}

impl From<UpArgs> for Overrides {
    fn from(args: UpArgs) -> Self {
        let transport = args.transport.map(Transport::from);
        Self { transport, profile: args.profile, ..args.server.into() }
    }
}

impl From<ServeArgs> for Overrides {
    fn from(args: ServeArgs) -> Self {
        Self { transport: args.transport, ..args.server.into() }
    }
}
