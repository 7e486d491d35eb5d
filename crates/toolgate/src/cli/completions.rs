//! `toolgate completions`: a script that teaches a shell our commands.

use clap::Args;
use clap_complete::{Shell, generate};

use super::error::CliError;
use super::print;

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs) -> Result<(), CliError> {
    let mut script = Vec::new();
    generate(args.shell, &mut super::command(), "toolgate", &mut script);
    print::stdout(&String::from_utf8_lossy(&script))
}
