//! An answer that nobody cleaned, vouched for by a stranger.

use toolgate::context::Cleared;
use toolgate::model::Answer;

pub fn forge(raw: Answer) -> Cleared {
    Cleared::vouch(raw)
}
