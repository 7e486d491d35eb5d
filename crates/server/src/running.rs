//! What of one client is under way: its requests, each with the means to cancel it, and its batches.
//! There may be so many at a time, those included whose answers wait to be sent.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use model::{Code, Fault};
use protocol::Id;
use tokio_util::sync::CancellationToken;

use crate::limits;

#[derive(Debug, Default)]
pub struct Running {
    requests: Mutex<HashMap<Id, CancellationToken>>,
    batches: AtomicUsize,
}

/// One request under way, or one whose answer waits to be sent; dropping it ends its being
/// cancellable.
#[derive(Debug)]
pub struct Underway {
    pub cancel: CancellationToken,
    id: Id,
    running: Arc<Running>,
}

/// A batch under way, or one whose answers wait to be sent.
#[derive(Debug)]
pub struct Batch(Arc<Running>);

impl Running {
    /// A batch counts for itself, beside the request of it that is being answered.
    pub fn enter_batch(self: &Arc<Self>) -> Result<Batch, Fault> {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        self.room(requests.len())?;
        self.batches.fetch_add(1, Ordering::Relaxed);
        drop(requests);
        Ok(Batch(Arc::clone(self)))
    }

    fn room(&self, requests: usize) -> Result<(), Fault> {
        if requests + self.batches.load(Ordering::Relaxed) < limits::REQUESTS_PER_SESSION_MAX {
            return Ok(());
        }
        let message = "too many requests of this session are running, or their answers unread";
        Err(Fault::new(Code::RateLimited, message))
    }

    pub fn enter(self: &Arc<Self>, id: &Id) -> Result<Underway, Fault> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        self.room(requests.len())?;
        let Entry::Vacant(place) = requests.entry(id.clone()) else {
            let message = format!(
                "request id `{}` is already in use",
                model::fault::one_line(&id.to_string(), 64)
            );
            return Err(Fault::new(Code::Protocol, message));
        };
        let cancel = place.insert(CancellationToken::new()).clone();
        Ok(Underway { cancel, id: id.clone(), running: Arc::clone(self) })
    }

    /// Cancels a request; one that has ended or never was is not missed.
    pub fn cancel(&self, id: &Id) {
        if let Some(cancel) = self.requests.lock().unwrap_or_else(PoisonError::into_inner).get(id) {
            cancel.cancel();
        }
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.running.requests.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.0.batches.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_id_is_used_once_at_a_time() {
        let running = Arc::new(Running::default());
        let id = Id::Number(1);
        let underway = running.enter(&id).unwrap();
        assert_eq!(running.enter(&id).unwrap_err().code, Code::Protocol);
        running.cancel(&id);
        running.cancel(&Id::Number(2));
        assert!(underway.cancel.is_cancelled());
        drop(underway);
        assert!(running.enter(&id).is_ok());
    }

    #[test]
    fn so_many_requests_and_batches_run_at_a_time() {
        let running = Arc::new(Running::default());
        let enter = |number: usize| running.enter(&Id::Text(number.to_string()));
        let half = limits::REQUESTS_PER_SESSION_MAX / 2;
        let requests: Vec<_> = (0..half).map(|number| enter(number).unwrap()).collect();
        let mut batches: Vec<_> = (0..half).map(|_| running.enter_batch().unwrap()).collect();
        assert_eq!(enter(half).unwrap_err().code, Code::RateLimited);
        assert_eq!(running.enter_batch().unwrap_err().code, Code::RateLimited);
        drop(batches.pop());
        assert!(enter(half).is_ok());
        drop(requests);
        assert!(running.enter_batch().is_ok());
    }
}
