//! How much a server that remembers is asked to log: as much as the most curious of its clients
//! wants. What the others do not want is left out on its way to them, not here.

use std::sync::{Arc, Mutex, PoisonError};

use model::LogLevel;
use serde_json::Map;

use super::wire::{Asking, Greeting, Wire};

/// Less than this is never asked for: who has not said what it wants gets what is usual.
const USUAL: LogLevel = LogLevel::Info;

/// What a server was told, and in which conversation: the next one knows nothing of it.
#[derive(Debug, Default)]
pub(super) struct Logging(Mutex<Option<(Arc<Greeting>, LogLevel)>>);

impl Logging {
    /// Wants messages down to this level. Only servers that remember are told; others hear it with
    /// each request.
    pub(super) async fn wish(&self, wire: &impl Wire, level: LogLevel) {
        let Ok(greeting) = wire.greet().await else { return };
        if greeting.revision.is_modern() || !greeting.capabilities.contains_key("logging") {
            return;
        }
        let level = level.min(USUAL);
        if !self.is_news(&greeting, level) {
            return;
        }
        let params = Map::from_iter([("level".to_owned(), level.as_str().into())]);
        if let Err(fault) = wire.ask(&Asking::own("logging/setLevel", params)).await {
            tracing::debug!(%fault, "an upstream did not take a log level");
        }
    }

    /// Whether it has not been told yet to log so much; from now on it has.
    fn is_news(&self, greeting: &Arc<Greeting>, level: LogLevel) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = told.as_ref().filter(|(to, _)| Arc::ptr_eq(to, greeting));
        if known.is_some_and(|(_, least)| *least <= level) {
            return false;
        }
        *told = Some((Arc::clone(greeting), level));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::Revision;
    use serde_json::json;

    #[test]
    fn nobody_is_silenced_and_a_new_conversation_is_told_again() {
        let greeting = || Arc::new(Greeting::read(Revision::V2025_11_25, &json!({})));
        let (first, second) = (greeting(), greeting());
        let logging = Logging::default();
        let check = |to: &Arc<Greeting>, level: LogLevel, wanted: bool| {
            assert_eq!(logging.is_news(to, level), wanted, "{level:?}");
        };
        check(&first, LogLevel::Info, true);
        check(&first, LogLevel::Info, false);
        check(&first, LogLevel::Error, false);
        check(&first, LogLevel::Debug, true);
        check(&first, LogLevel::Info, false);
        check(&second, LogLevel::Info, true);
    }
}
