//! An answer that nobody cleaned, declared clean.

use toolgate::context::Cleared;
use toolgate::model::Answer;

pub fn forge(raw: Answer) -> Cleared {
    Cleared { inner: raw }
}
