//! What the command line says, laid over what the file says.

use std::path::PathBuf;

use super::choices::{Mode, Profile, Transport};
use super::text::{ConfigPath, Text};
use super::tree::Config;

/// Settings given as flags; an absent one leaves the file's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    pub name: Option<String>,
    pub profile: Option<Profile>,
    pub mode: Option<Mode>,
    pub transport: Option<Transport>,
    pub host: Option<String>,
    pub port: Option<u16>,
    /// Relative to the current folder, unlike a path in the file.
    pub data: Option<PathBuf>,
}

impl Config {
    /// The configuration with the flags on top.
    #[must_use]
    pub fn with(self, flags: Overrides) -> Self {
        Self {
            name: flags.name.map_or(self.name, Text::new),
            profile: flags.profile.or(self.profile),
            mode: flags.mode.unwrap_or(self.mode),
            transport: flags.transport.or(self.transport),
            host: flags.host.map_or(self.host, Text::new),
            port: flags.port.or(self.port),
            data: flags.data.map(ConfigPath::new).or(self.data),
            ..self
        }
    }
}
