//! Places for streams of changes: so many for each principal, so many in all, whatever the transport.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::{Caller, Code, Fault};

use crate::limits;

/// The streams that are open, by whose they are.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    open: Arc<Mutex<HashMap<String, usize>>>,
}

/// One open stream; dropping it makes room for another.
#[derive(Debug)]
pub struct StreamPlace {
    who: String,
    streams: Streams,
}

impl Streams {
    /// A place among the open streams, given back when dropped.
    pub fn take(&self, caller: &Caller) -> Result<StreamPlace, Fault> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let who = caller.principal.account();
        let all: usize = open.values().sum();
        let mine = open.get(&who).copied().unwrap_or_default();
        if mine >= limits::STREAMS_PER_PRINCIPAL_MAX || all >= limits::STREAMS_MAX {
            return Err(Fault::new(Code::RateLimited, "too many streams are open; close some"));
        }
        open.insert(who.clone(), mine + 1);
        drop(open);
        Ok(StreamPlace { who, streams: self.clone() })
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let mut open = self.streams.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mine) = open.get_mut(&self.who) {
            *mine -= 1;
            if *mine == 0 {
                open.remove(&self.who);
            }
        }
    }
}
