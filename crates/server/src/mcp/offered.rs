//! Which methods there are, by revision and by mode.

use gateway::Gateway;
use model::Listed;
use protocol::{Ask, Revision};

/// Whether a client of this revision may ask this here.
pub(super) fn is_offered(ask: &Ask, revision: Revision, gateway: &Gateway) -> bool {
    is_of(ask, revision) && (!is_native(ask) || gateway.passes_all())
}

/// Whether the revision has the method at all.
fn is_of(ask: &Ask, revision: Revision) -> bool {
    use model::TaskVerb::{Result, Update};
    let modern = revision.is_modern();
    match ask {
        Ask::Removed => false,
        Ask::Initialize { .. }
        | Ask::Ping
        | Ask::SetLevel(_)
        | Ask::Subscribe { .. }
        | Ask::List { what: Listed::Tasks, .. }
        | Ask::Task { verb: Result, .. } => !modern,
        Ask::Discover | Ask::Listen(_) | Ask::Task { verb: Update, .. } => modern,
        Ask::Task { .. }
        | Ask::List { .. }
        | Ask::CallTool { .. }
        | Ask::ReadResource { .. }
        | Ask::GetPrompt { .. }
        | Ask::Complete(_)
        | Ask::Other => true,
    }
}

/// Whether it is about what only native mode passes on; in the others nothing but tools is offered.
fn is_native(ask: &Ask) -> bool {
    match ask {
        Ask::List { what, .. } => *what != Listed::Tools,
        ask => matches!(ask, Ask::Subscribe { .. } | Ask::SetLevel(_)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_revision_has_its_own_methods() {
        let check = |ask: Ask, old: bool, new: bool| {
            assert_eq!(is_of(&ask, Revision::V2025_11_25), old, "{ask:?}");
            assert_eq!(is_of(&ask, Revision::V2026_07_28), new, "{ask:?}");
        };
        check(Ask::Ping, true, false);
        check(Ask::SetLevel(model::LogLevel::Info), true, false);
        check(Ask::Subscribe { uri: "a:b".into(), wanted: true }, true, false);
        check(Ask::Discover, false, true);
        check(Ask::Listen(protocol::decode::Interest::default()), false, true);
        check(Ask::List { what: Listed::Tasks, cursor: None }, true, false);
        check(Ask::List { what: Listed::Tools, cursor: None }, true, true);
        check(Ask::Other, true, true);
    }
}
