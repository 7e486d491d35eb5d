//! Work that goes on beside all calls, and that the end of the gate waits for.

use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Holds the store open. It ends when no call runs any more: whoever has it finishes what it is at, and
/// lets go.
#[derive(Debug)]
pub struct Shift {
    stop: CancellationToken,
    _held: TaskTrackerToken,
}

impl Shift {
    pub(crate) fn new(stop: CancellationToken, held: TaskTrackerToken) -> Self {
        Self { stop, _held: held }
    }

    pub async fn ended(&self) {
        self.stop.cancelled().await;
    }

    /// None where the end comes first: what was begun is dropped then.
    pub async fn until_ended<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.stop.run_until_cancelled(work).await
    }
}
