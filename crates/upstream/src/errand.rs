//! What travels beside a permit: the wish to stop, the time that is left, and news on the way.

use std::time::Duration;

use model::Fault;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// News of a call under way.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub progress: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// The circumstances of one call. Cloning shares the same cancellation and the same listener.
#[derive(Clone, Debug)]
pub struct Errand {
    pub cancel: CancellationToken,
    /// How long the upstream may take.
    pub timeout: Duration,
    /// W3C trace id, passed on to upstreams that take one.
    pub trace_id: String,
    /// Nobody listens when absent, and then upstreams are not asked to report.
    pub news: Option<mpsc::Sender<Progress>>,
}

impl Errand {
    /// An errand nobody watches, cancels or hurries.
    pub fn quiet() -> Self {
        Self {
            cancel: CancellationToken::new(),
            timeout: model::limits::CALL_TIMEOUT_DEFAULT,
            trace_id: String::new(),
            news: None,
        }
    }

    /// Tells the listener, if there is one. A slow listener misses news; the call never waits.
    pub fn report(&self, progress: Progress) {
        if let Some(news) = &self.news
            && news.try_send(progress).is_err()
        {
            tracing::trace!("progress dropped: the listener is slow or gone");
        }
    }

    /// Runs `work` until it ends, the caller cancels, or the time is up.
    ///
    /// If another arm wins, `work` is dropped: a connector must be able to lose it at any await.
    pub async fn bound<T>(&self, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {
                Err(Fault::new(model::Code::Cancelled, "the caller cancelled this call"))
            }
            () = tokio::time::sleep(self.timeout) => Err(Fault::new(
                model::Code::UpstreamTimeout,
                format!("the upstream gave no answer within {} ms", self.timeout.as_millis()),
            )),
            done = work => done,
        }
    }
}
