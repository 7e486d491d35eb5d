//! The token without which nothing reaches a client.

use model::Answer;

/// Something a client may read, because this crate has looked at it.
///
/// There is no public way to make one but the functions of this crate:
///
/// ```
/// use model::{Answer, result::Provenance};
/// use toolgate_context::{Profile, Redactor, Rules, Size, clear};
///
/// let source = Provenance::default();
/// let redactor = Redactor::default();
/// let (profile, size) = (Profile::Strict, Size::Whole);
/// let rules = Rules { source: &source, profile, size, redactor: &redactor };
/// let clearing = clear(Answer::text("hi\u{7}"), &rules);
/// assert_eq!(clearing.cleared.get().full_text(), "hi");
/// ```
///
/// A forged one does not compile:
///
/// ```compile_fail,E0451
/// use model::Answer;
/// use toolgate_context::Cleared;
///
/// let forged = Cleared { inner: Answer::text("hi\u{7}") };
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cleared<T = Answer> {
    inner: T,
}

impl<T> Cleared<T> {
    /// INVARIANT: `inner` has been through a `Cleaner`.
    pub(crate) const fn vouch(inner: T) -> Self {
        Self { inner }
    }

    pub const fn get(&self) -> &T {
        &self.inner
    }

    pub fn into_inner(self) -> T {
        self.inner
    }
}
