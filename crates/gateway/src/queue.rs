//! A bounded queue that takes next to no room until something is in it.
//!
//! Every call has two, for what is said before its answer, and almost none says anything. A channel
//! of tokio's lays out its blocks when it is made; a list behind a lock does not, and what is said
//! in one call is too little for the lock to matter.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// A queue for `most` things at a time. It has any number of senders and one receiver.
pub fn queue<T>(most: usize) -> (Sender<T>, Receiver<T>) {
    let state = State {
        queued: VecDeque::new(),
        most,
        senders: 1,
        deaf: false,
        receiver: None,
        waiting: Vec::new(),
    };
    let shared = Arc::new(Mutex::new(state));
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

#[derive(Debug)]
pub struct Sender<T>(Arc<Mutex<State<T>>>);

#[derive(Debug)]
pub struct Receiver<T>(Arc<Mutex<State<T>>>);

#[derive(Debug)]
struct State<T> {
    queued: VecDeque<T>,
    most: usize,
    senders: usize,
    /// The receiver is gone.
    deaf: bool,
    /// The receiver, while it waits for something.
    receiver: Option<Waker>,
    /// Senders that wait for room.
    waiting: Vec<Waker>,
}

impl<T> Sender<T> {
    /// Puts it in, or hands it back if there is no room or nobody will take it out.
    pub fn try_send(&self, item: T) -> Result<(), T> {
        put(lock(&self.0), item)
    }

    /// Waits for room; hands it back if nobody will take it out. Dropped before, it has put nothing
    /// in.
    pub async fn send(&self, item: T) -> Result<(), T> {
        self.send_last(|| Some(item)).await
    }

    /// The same with what `last` gives, if it gives anything: asked once there is room and before
    /// anybody can see what it gave. It must not use this queue.
    pub async fn send_last(&self, last: impl FnOnce() -> Option<T>) -> Result<(), T> {
        let mut last = Some(last);
        poll_fn(|context| {
            let mut state = lock(&self.0);
            if state.is_full() && !state.deaf {
                let waker = context.waker();
                if !state.waiting.iter().any(|known| known.will_wake(waker)) {
                    state.waiting.push(waker.clone());
                }
                return Poll::Pending;
            }
            let item = last.take().and_then(|last| last());
            Poll::Ready(item.map_or(Ok(()), |item| put(state, item)))
        })
        .await
    }
}

impl<T> Receiver<T> {
    /// Waits for the next; none once nothing is left and every sender gone. Dropped before, it has
    /// taken nothing out.
    pub async fn recv(&mut self) -> Option<T> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &Context<'_>) -> Poll<Option<T>> {
        let mut state = lock(&self.0);
        if state.queued.is_empty() && state.senders > 0 {
            let waker = context.waker();
            let known = state.receiver.as_ref().is_some_and(|known| known.will_wake(waker));
            let former = if known { None } else { state.receiver.replace(waker.clone()) };
            drop(state);
            drop(former);
            return Poll::Pending;
        }
        Poll::Ready(take(state))
    }

    /// The next, if it is there already.
    pub fn try_recv(&mut self) -> Option<T> {
        take(lock(&self.0))
    }
}

impl<T> State<T> {
    fn is_full(&self) -> bool {
        self.queued.len() >= self.most
    }
}

fn lock<T>(state: &Mutex<State<T>>) -> MutexGuard<'_, State<T>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

// Whoever is woken, or dropped, may come back here at once: neither happens under the lock.

fn put<T>(mut state: MutexGuard<'_, State<T>>, item: T) -> Result<(), T> {
    if state.is_full() || state.deaf {
        return Err(item);
    }
    state.queued.push_back(item);
    let receiver = state.receiver.take();
    drop(state);
    receiver.into_iter().for_each(Waker::wake);
    Ok(())
}

fn take<T>(mut state: MutexGuard<'_, State<T>>) -> Option<T> {
    let item = state.queued.pop_front();
    let waiting = std::mem::take(&mut state.waiting);
    drop(state);
    waiting.into_iter().for_each(Waker::wake);
    item
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        lock(&self.0).senders += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.0);
        state.senders -= 1;
        let receiver = if state.senders == 0 { state.receiver.take() } else { None };
        drop(state);
        receiver.into_iter().for_each(Waker::wake);
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.0);
        state.deaf = true;
        let (queued, waiting) =
            (std::mem::take(&mut state.queued), std::mem::take(&mut state.waiting));
        drop(state);
        drop(queued);
        waiting.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use std::cell::Cell;
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Polls once, as a task that counts how often it is woken.
    fn poll<F: Future + Unpin>(future: &mut F, woken: &Arc<Count>) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(woken));
        future.poll_unpin(&mut Context::from_waker(&waker))
    }

    #[test]
    fn what_finds_no_room_is_handed_back() {
        let (sender, mut receiver) = queue(2);
        assert_eq!([1, 2, 3].map(|item| sender.try_send(item)), [Ok(()), Ok(()), Err(3)]);
        assert_eq!(receiver.try_recv(), Some(1));
        assert_eq!(sender.try_send(4), Ok(()));
        assert_eq!([(); 3].map(|()| receiver.try_recv()), [Some(2), Some(4), None]);
        drop(receiver);
        assert_eq!(sender.try_send(5), Err(5));
    }

    #[test]
    fn who_waits_for_something_hears_of_it_and_of_the_end() {
        let (sender, mut receiver) = queue(1);
        let woken = Arc::new(Count::default());
        let mut receive = || poll(&mut pin!(receiver.recv()), &woken);
        assert!(receive().is_pending());
        assert!(receive().is_pending());
        let other = sender.clone();
        other.try_send(1).unwrap();
        drop(other);
        assert_eq!(woken.0.load(Ordering::Relaxed), 1, "another sender is left");
        assert_eq!(receive(), Poll::Ready(Some(1)));
        assert!(receive().is_pending());
        drop(sender);
        assert_eq!(woken.0.load(Ordering::Relaxed), 2);
        assert_eq!(receive(), Poll::Ready(None));
    }

    #[test]
    fn what_was_put_in_outlives_its_senders() {
        let (sender, mut receiver) = queue(1);
        sender.try_send(1).unwrap();
        drop(sender);
        assert_eq!(receiver.recv().now_or_never(), Some(Some(1)));
        assert_eq!(receiver.recv().now_or_never(), Some(None));
    }

    #[test]
    fn who_waits_for_room_hears_of_it_and_of_the_end() {
        let (sender, mut receiver) = queue(1);
        sender.try_send(1).unwrap();
        let woken = [(); 2].map(|()| Arc::new(Count::default()));
        let [one, other] = &woken;
        let (mut second, mut third) = (pin!(sender.send(2)), pin!(sender.send(3)));
        assert!(poll(&mut second, one).is_pending());
        assert!(poll(&mut third, other).is_pending());
        assert!(poll(&mut third, other).is_pending());
        assert_eq!(receiver.try_recv(), Some(1));
        let times = || woken.each_ref().map(|count| count.0.load(Ordering::Relaxed));
        assert_eq!(times(), [1, 1]);
        assert_eq!(poll(&mut second, one), Poll::Ready(Ok(())));
        assert!(poll(&mut third, other).is_pending());
        drop(receiver);
        assert_eq!(times(), [1, 2]);
        assert_eq!(poll(&mut third, other), Poll::Ready(Err(3)));
    }

    #[test]
    fn what_is_given_last_is_given_once_there_is_room() {
        let (sender, mut receiver) = queue(1);
        sender.try_send(1).unwrap();
        let (woken, asked) = (Arc::new(Count::default()), Cell::new(false));
        let last = || {
            asked.set(true);
            None
        };
        let mut sending = pin!(sender.send_last(last));
        assert!(poll(&mut sending, &woken).is_pending() && !asked.get());
        assert_eq!(receiver.try_recv(), Some(1));
        assert_eq!(poll(&mut sending, &woken), Poll::Ready(Ok(())));
        assert_eq!((asked.get(), receiver.try_recv()), (true, None));
        assert_eq!(sender.send_last(|| Some(2)).now_or_never(), Some(Ok(())));
        assert_eq!(receiver.try_recv(), Some(2));
        drop(receiver);
        assert_eq!(sender.send_last(|| Some(3)).now_or_never(), Some(Err(3)));
    }

    #[test]
    fn nothing_is_lost_with_who_stops_waiting() {
        let (sender, mut receiver) = queue(1);
        assert_eq!(receiver.recv().now_or_never(), None);
        sender.try_send(1).unwrap();
        assert_eq!(sender.send(2).now_or_never(), None);
        assert_eq!(receiver.try_recv(), Some(1));
        assert_eq!(receiver.try_recv(), None);
    }

    #[test]
    fn what_nobody_takes_out_any_more_is_dropped() {
        let (sender, receiver) = queue(1);
        let item = Arc::new(());
        sender.try_send(Arc::clone(&item)).unwrap();
        drop(receiver);
        assert_eq!(Arc::strong_count(&item), 1);
    }
}
