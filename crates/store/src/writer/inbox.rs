//! Where writes wait for the writer, which sleeps until as many are there as it wants: woken by each
//! of them, it would be woken thirty times for one commit.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use super::item::Item;
use crate::limits;

#[derive(Debug)]
pub(super) struct Inbox {
    state: Mutex<State>,
    room: Semaphore,
}

#[derive(Default)]
struct State {
    items: Vec<Box<dyn Item>>,
    /// The writer while it sleeps, and how many it sleeps for.
    writer: Option<Waker>,
    wanted: usize,
    /// Those who wait for room; their items are taken even after the closing.
    coming: usize,
    closed: bool,
    /// There is no writer any more.
    abandoned: bool,
}

/// Held by the writer: however it ends, nobody waits for it in vain.
pub(super) struct Attended(pub(super) Arc<Inbox>);

impl Drop for Attended {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl Default for Inbox {
    fn default() -> Self {
        Self { state: Mutex::default(), room: Semaphore::new(limits::QUEUE_MAX) }
    }
}

impl Inbox {
    /// Puts it in once there is room, or hands it back if nothing is taken any more.
    pub(super) async fn put(&self, item: Box<dyn Item>) -> Result<(), Box<dyn Item>> {
        if let Ok(room) = self.room.try_acquire() {
            let state = self.lock();
            if state.closed {
                return Err(item);
            }
            push(state, item, room);
            return Ok(());
        }
        let Some(coming) = Coming::enter(self) else { return Err(item) };
        let Ok(room) = self.room.acquire().await else { return Err(item) };
        coming.put(item, room)
    }

    fn abandon(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.abandoned = true;
        let left = std::mem::take(&mut state.items);
        drop(state);
        self.room.close();
        for item in left {
            item.fail("the writer of the store broke off");
        }
    }

    /// Takes nothing from anybody who is not waiting already.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.wake_if_over();
    }

    /// Waits until there is a batch to be written; false when there will never be another. Whoever
    /// was answered with the last one often comes back soon, and the first of them must not take a
    /// commit for itself: as many as are `expected` are waited for a moment, and as long as they keep
    /// coming a few moments. A lone caller never waits. There may be none when the time is `due`.
    pub(super) async fn gather(&self, expected: usize, due: Option<Instant>) -> bool {
        let wanted = expected.min(limits::GATHER_MAX);
        let mut here = if wanted > 1 { self.soon(wanted).await } else { 0 };
        if here == 0 {
            here = match due {
                None => self.reached(1).await,
                Some(due) => tokio::time::timeout_at(due, self.reached(1)).await.unwrap_or(0),
            };
            if here == 0 {
                return !self.is_over();
            }
        }
        for _ in 0..limits::GATHER_WAITS_MAX {
            let before = here;
            if before >= wanted {
                break;
            }
            here = self.soon(wanted).await;
            if here == before {
                break;
            }
        }
        true
    }

    /// Moves what is here into the batch.
    pub(super) fn take(&self, batch: &mut Vec<Box<dyn Item>>) {
        let mut state = self.lock();
        let count = state.items.len().min(limits::BATCH_MAX);
        batch.extend(state.items.drain(..count));
        drop(state);
        self.room.add_permits(count);
    }

    pub(super) fn len(&self) -> usize {
        self.lock().items.len()
    }

    fn is_over(&self) -> bool {
        self.lock().is_over()
    }

    /// How many are here once as many as that are, or a moment has passed.
    async fn soon(&self, wanted: usize) -> usize {
        let waiting = tokio::time::timeout(limits::GATHER_WAIT, self.reached(wanted));
        match waiting.await {
            Ok(here) => here,
            Err(_elapsed) => self.len(),
        }
    }

    /// How many are here once as many as that are, or no more can come.
    async fn reached(&self, wanted: usize) -> usize {
        poll_fn(|context| {
            let mut state = self.lock();
            if state.items.len() >= wanted || state.closed && state.coming == 0 {
                state.writer = None;
                return Poll::Ready(state.items.len());
            }
            state.wanted = wanted;
            if !state.writer.as_ref().is_some_and(|known| known.will_wake(context.waker())) {
                state.writer = Some(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_over(&self) -> bool {
        self.closed && self.coming == 0 && self.items.is_empty()
    }

    fn wake_if_over(&mut self) {
        if self.closed && self.coming == 0 {
            self.writer.take().into_iter().for_each(Waker::wake);
        }
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("items", &self.items.len()).finish_non_exhaustive()
    }
}

/// Given back by who takes the item.
type Room<'a> = SemaphorePermit<'a>;

fn push(mut state: MutexGuard<'_, State>, item: Box<dyn Item>, room: Room<'_>) {
    room.forget();
    state.items.push(item);
    let enough = state.items.len() >= state.wanted || state.closed && state.coming == 0;
    let writer = if enough { state.writer.take() } else { None };
    drop(state);
    writer.into_iter().for_each(Waker::wake);
}

/// Somebody who waits for room, and may lose patience.
struct Coming<'a>(Option<&'a Inbox>);

impl<'a> Coming<'a> {
    fn enter(inbox: &'a Inbox) -> Option<Self> {
        let mut state = inbox.lock();
        if state.closed {
            return None;
        }
        state.coming += 1;
        Some(Self(Some(inbox)))
    }

    fn put(mut self, item: Box<dyn Item>, room: Room<'_>) -> Result<(), Box<dyn Item>> {
        let Some(inbox) = self.0.take() else { return Err(item) };
        let mut state = inbox.lock();
        state.coming -= 1;
        if state.abandoned {
            return Err(item);
        }
        push(state, item, room);
        Ok(())
    }
}

impl Drop for Coming<'_> {
    fn drop(&mut self) {
        if let Some(inbox) = self.0.take() {
            let mut state = inbox.lock();
            state.coming -= 1;
            state.wake_if_over();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Wake};

    use futures_util::FutureExt as _;

    use super::super::tests::Raw;
    use super::super::{Waiting, oneshot};
    use super::*;

    fn item() -> Box<dyn Item> {
        Box::new(Waiting::new(Raw(""), oneshot::channel().0))
    }

    fn fill(inbox: &Inbox, count: usize) {
        for _ in 0..count {
            assert!(inbox.put(item()).now_or_never().unwrap().is_ok());
        }
    }

    /// Counts how often the writer is woken.
    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn the_writer_sleeps_until_all_it_wants_are_there() {
        let (inbox, woken) = (Inbox::default(), Arc::<Woken>::default());
        let waker = Arc::clone(&woken).into();
        let mut gathering = pin!(inbox.gather(8, None));
        assert!(gathering.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        fill(&inbox, 7);
        assert_eq!(woken.0.load(Ordering::SeqCst), 0);
        fill(&inbox, 1);
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        assert!(gathering.await);
        let mut batch = Vec::new();
        inbox.take(&mut batch);
        assert_eq!((batch.len(), inbox.len()), (8, 0));
    }

    #[tokio::test]
    async fn whoever_finds_no_room_waits_for_it_and_is_taken_after_the_closing() {
        let inbox = Inbox::default();
        fill(&inbox, limits::QUEUE_MAX);
        let mut waiting = Box::pin(inbox.put(item()));
        let mut impatient = Box::pin(inbox.put(item()));
        assert!((&mut waiting).now_or_never().is_none());
        assert!((&mut impatient).now_or_never().is_none());
        inbox.close();
        assert!(inbox.put(item()).await.is_err());
        drop(impatient);
        let mut batch = Vec::new();
        assert!(inbox.gather(0, None).await);
        inbox.take(&mut batch);
        assert_eq!(batch.len(), limits::BATCH_MAX);
        assert!(waiting.await.is_ok());
        while inbox.gather(0, None).await {
            inbox.take(&mut batch);
        }
        assert_eq!(batch.len(), limits::QUEUE_MAX + 1);
    }

    #[tokio::test]
    async fn the_writer_hears_that_nobody_is_left() {
        let inbox = Inbox::default();
        let closing = async {
            tokio::task::yield_now().await;
            inbox.close();
        };
        assert!(!tokio::join!(inbox.gather(4, None), closing).0);
    }
}
