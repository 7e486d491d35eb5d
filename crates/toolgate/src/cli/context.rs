//! What every command has at hand: the global flags, the output, the configuration on request.

use std::path::PathBuf;
use std::time::Duration;

use etcetera::BaseStrategy as _;
use store::Store;

use super::args::Globals;
use super::consent;
use super::error::CliError;
use super::exit::Exit;
use super::log;
use super::print::Out;
use crate::assemble;
use crate::config::{Config, ConfigPath, Loaded, LogLevel, Overrides};

/// How long threads that cannot be called off may hold up the end.
const STRAGGLERS: Duration = Duration::from_millis(200);

/// The frame around one command.
#[derive(Debug)]
pub struct Context {
    pub out: Out,
    globals: Globals,
}

impl Context {
    pub fn new(globals: Globals) -> Self {
        Self { out: Out::new(globals.json, globals.quiet), globals }
    }

    /// Reads the configuration, lays the flags over it and starts logging. What serves (and so logs
    /// more) also says on standard error what is worth knowing about the file.
    pub fn start(&self, level: LogLevel, flags: Overrides) -> Result<Loaded, CliError> {
        let loaded = self.load(flags)?;
        if level == LogLevel::Info {
            loaded.notes.iter().for_each(|note| self.out.note(note));
        }
        let level = if self.globals.quiet { LogLevel::Error } else { level };
        log::start(self.globals.log, loaded.config.log, level, assemble::redactor(&loaded.config))?;
        Ok(loaded)
    }

    /// The same for what starts upstreams: nothing is started that nobody agreed to.
    pub fn start_upstreams(&self, level: LogLevel, flags: Overrides) -> Result<Loaded, CliError> {
        let loaded = self.start(level, flags)?;
        consent::agree(self, &loaded)?;
        Ok(loaded)
    }

    /// The file that was named, from the root, so that others find it too.
    pub fn config_file(&self) -> Option<PathBuf> {
        let path = self.globals.config.as_ref()?;
        Some(std::path::absolute(path).unwrap_or_else(|_| path.clone()))
    }

    /// Where records, approvals and artifacts are kept.
    pub fn data_folder(config: &Config) -> Result<PathBuf, CliError> {
        if let Some(data) = &config.data {
            return Ok(data.as_path().to_owned());
        }
        let strategy = etcetera::choose_base_strategy().map_err(|error| {
            CliError::new(Exit::Config, format!("no home for a data folder: {error}"))
                .hint("pass --data DIR")
        })?;
        Ok(strategy.data_dir().join("toolgate"))
    }

    /// Runs what waits, on a runtime of its own, to its end.
    pub fn block_on<T>(
        &self,
        future: impl Future<Output = Result<T, CliError>>,
    ) -> Result<T, CliError> {
        let runtime = tokio::runtime::Runtime::new()?;
        let done = runtime.block_on(future);
        // A read of standard input cannot be called off; the process must not wait for it.
        runtime.shutdown_timeout(STRAGGLERS);
        done
    }

    /// The store of a data folder that is already there. A gate may be running on it.
    pub(super) async fn existing_store(&self, config: &Config) -> Result<Store, CliError> {
        let folder = Self::data_folder(config)?;
        if config.store.is_none() && !folder.join("toolgate.db").exists() {
            let message = format!("nothing is recorded in `{}` yet", folder.display());
            return Err(CliError::new(Exit::Unavailable, message)
                .hint("start a gate with `toolgate up`, or name its folder with --data"));
        }
        assemble::open_store(config, &folder).await
    }

    /// The configuration alone, for commands that only look at it.
    pub(super) fn load(&self, flags: Overrides) -> Result<Loaded, CliError> {
        let env = |name: &str| std::env::var(name).ok();
        let mut loaded = Config::load(self.globals.config.as_deref(), &env)?;
        loaded.config = loaded.config.with(flags);
        if let Some(data) = &self.globals.data {
            loaded.config.data = Some(ConfigPath::new(data.clone()));
        }
        Ok(loaded)
    }

    pub(super) fn globals(&self) -> &Globals {
        &self.globals
    }
}
