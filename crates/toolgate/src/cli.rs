//! The command line: from arguments to an exit code. One file for each group of commands; what they
//! share (flags, output, errors, logging) has a file each, too.

pub mod args;
pub mod context;
pub mod error;
pub mod exit;
mod log;
mod panic;
pub mod print;

mod approvals;
mod call;
mod cards;
mod claims;
mod completions;
mod config;
mod consent;
mod cost;
mod demo;
mod doctor;
mod drift;
mod evidence;
mod init;
mod manifest;
mod policy;
mod records;
mod replay;
mod serve;
mod session;
mod stop;
mod tools;
mod up;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};

use args::{Cli, Command, McpCommand};
use context::Context;
use error::CliError;
use exit::Exit;

/// Runs the process's own arguments to their end.
pub fn main() -> ExitCode {
    panic::install();
    let arguments = std::env::args_os().collect::<Vec<_>>();
    match run(&arguments) {
        Ok(()) => Exit::Ok.into(),
        Err((error, json)) => {
            error.report(json);
            error.exit.into()
        }
    }
}

/// The whole command line, for help, completions and manuals.
pub fn command() -> clap::Command {
    Cli::command()
}

fn run(arguments: &[OsString]) -> Result<(), (CliError, bool)> {
    match Cli::try_parse_from(arguments) {
        Ok(Cli { globals, command }) => {
            let context = Context::new(globals);
            dispatch(&context, command).map_err(|error| (error, context.out.is_json()))
        }
        Err(error) if error.use_stderr() => {
            let json = arguments.iter().any(|argument| argument == "--json");
            Err((usage(&error, json), json))
        }
        // Help and version are answers, not errors.
        Err(help) => print::stdout(&help.render().to_string()).map_err(|error| (error, false)),
    }
}

fn dispatch(context: &Context, command: Command) -> Result<(), CliError> {
    match command {
        Command::Up(args) => up::run(context, args),
        Command::Serve(args) | Command::Mcp { command: McpCommand::Serve(args) } => {
            serve::run(context, args)
        }
        Command::Tools { command } => tools::run(context, command),
        Command::Cards { command } => cards::run(context, &command),
        Command::Cost(args) => cost::run(context, &args),
        Command::Call(args) => call::run(context, &args),
        Command::Records { command } => records::run(context, command),
        Command::Evidence { command } => evidence::run(context, command),
        Command::Claims { command } => claims::run(context, command),
        Command::Replay(args) => replay::run(context, &args),
        Command::Approvals { command } => approvals::run(context, command),
        Command::Policy { command } => policy::run(context, &command),
        Command::Config { command } => config::run(context, command),
        Command::Manifest { command } => manifest::run(context, &command),
        Command::Doctor(args) => doctor::run(context, args),
        Command::Session { command } => session::run(context, &command),
        Command::Demo(args) => demo::run(context, &args),
        Command::Init(args) => init::run(context, &args),
        Command::Completions(args) => completions::run(&args),
    }
}

/// A line without a command gets the help, as people expect; any other mistake gets its message.
fn usage(error: &clap::Error, json: bool) -> CliError {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if json => {
            CliError::usage("a command is missing").hint("see `toolgate --help`")
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            print::stderr(&text);
            CliError::silent(Exit::Usage)
        }
        _ => CliError::usage(text.trim_start_matches("error: ").trim_end()),
    }
}
