//! The streams on which one client hears of changes: which of them tells, and when they end.

use std::sync::{Arc, PoisonError};

use tokio_util::sync::CancellationToken;

use super::Memory;

/// Those that are open, oldest first, each by its number.
#[derive(Debug, Default)]
pub(super) struct Streams {
    open: Vec<u64>,
    last: u64,
}

/// A stream that tells of changes. The newest of a client tells, older ones do not, so that nothing is
/// said twice; dropped, it leaves that to the one before it.
#[derive(Debug)]
pub struct Stream {
    number: u64,
    memory: Arc<Memory>,
    gone: CancellationToken,
}

impl Memory {
    pub fn open_stream(self: &Arc<Self>) -> Stream {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.last += 1;
        let number = streams.last;
        streams.open.push(number);
        drop(streams);
        let gone = self.gone.get_or_init(CancellationToken::new).clone();
        Stream { number, memory: Arc::clone(self), gone }
    }
}

impl Stream {
    pub fn is_newest(&self) -> bool {
        let streams = self.memory.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.open.last() == Some(&self.number)
    }

    /// Waits until the client has gone.
    pub async fn ended(&self) {
        self.gone.cancelled().await;
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut streams = self.memory.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.open.retain(|number| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_of_the_open_streams_tells() {
        let memory = Arc::new(Memory::default());
        let [first, second, third] = [(); 3].map(|()| memory.open_stream());
        assert!(!first.is_newest() && !second.is_newest() && third.is_newest());
        drop(second);
        assert!(!first.is_newest() && third.is_newest());
        drop(third);
        assert!(first.is_newest());
    }

    #[test]
    fn streams_end_with_their_client() {
        let memory = Arc::new(Memory::default());
        let before = memory.open_stream();
        assert!(!before.gone.is_cancelled());
        memory.leave();
        assert!(before.gone.is_cancelled() && memory.open_stream().gone.is_cancelled());
    }
}
