//! What the exit code of the process means.

use std::process::ExitCode;

/// The exit codes. A script may rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Ok = 0,
    /// The tool or the call failed.
    Failure = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// The configuration is wrong.
    Config = 3,
    /// Policy, a human or a schema said no.
    Refused = 4,
    /// Another process holds the data folder or the port.
    Busy = 5,
    /// What was asked for cannot be reached.
    Unavailable = 6,
}

/// The exit codes as `--help` shows them.
pub(super) const HELP: &str = "\
Exit codes:
  0  it worked
  1  the tool or the call failed
  2  the command line makes no sense
  3  the configuration is wrong
  4  refused by policy, approval or schema
  5  the data folder or the port is in use
  6  the upstream or the gateway cannot be reached";

impl Exit {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failure => "failure",
            Self::Usage => "usage",
            Self::Config => "config",
            Self::Refused => "refused",
            Self::Busy => "busy",
            Self::Unavailable => "unavailable",
        }
    }

    pub const fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
