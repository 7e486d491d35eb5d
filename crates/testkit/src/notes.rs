//! What a fake was told, in order, with a way to wait for the next thing.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// A list that grows and can be waited on. Clones share it.
#[derive(Debug)]
pub struct Notes<T> {
    list: Arc<watch::Sender<Vec<T>>>,
}

/// Far longer than anything takes; a test that waits this long has hung.
const HUNG: Duration = Duration::from_secs(30);

impl<T: Clone> Notes<T> {
    pub fn new() -> Self {
        Self { list: Arc::new(watch::Sender::new(Vec::new())) }
    }

    pub fn push(&self, note: T) {
        self.list.send_modify(|list| list.push(note));
    }

    pub fn all(&self) -> Vec<T> {
        self.list.borrow().clone()
    }

    pub fn count(&self) -> usize {
        self.list.borrow().len()
    }

    /// Waits for the first note that fits, which may be there already.
    pub async fn wait_for(&self, fits: impl Fn(&T) -> bool) -> T {
        let mut list = self.list.subscribe();
        let waiting = list.wait_for(|list| list.iter().any(&fits));
        let list = tokio::time::timeout(HUNG, waiting).await.expect("waited in vain");
        list.expect("the sender is here").iter().find(|note| fits(note)).cloned().expect("it fits")
    }
}

impl<T: Clone> Default for Notes<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for Notes<T> {
    fn clone(&self) -> Self {
        Self { list: Arc::clone(&self.list) }
    }
}
