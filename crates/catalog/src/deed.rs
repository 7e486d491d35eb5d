//! What a call does, as far as a client's permission prompt must know: read, write, destroy.

use std::fmt;

use model::ApprovalMode;

use crate::entry::Entry;

/// Ordered: whoever may do the later may do the earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Deed {
    Read,
    Write,
    Destroy,
}

impl Deed {
    pub const ALL: &[Self] = &[Self::Read, Self::Write, Self::Destroy];

    /// From what is declared, else the worst (C7); what a server claims plays no part.
    pub fn of(entry: &Entry) -> Self {
        let mode = entry.capability.as_ref().map(|capability| capability.approval_mode);
        if matches!(mode, None | Some(ApprovalMode::Destructive)) {
            Self::Destroy
        } else if entry.item.effect.effective().is_write() {
            Self::Write
        } else {
            Self::Read
        }
    }
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destroy => "destroy",
        })
    }
}
