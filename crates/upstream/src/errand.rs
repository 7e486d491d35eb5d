//! What travels beside a permit: the wish to stop, the time that is left, and news on the way.

mod course;
mod time;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use model::fault::WireError;
use model::{Client, Fault, LogLevel};
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

pub use self::course::Course;
pub use self::time::{Paused, Time};

/// News of a call under way.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub progress: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
    /// Whatever else the upstream says with it.
    pub rest: Map<String, Value>,
}

/// What an upstream says before its answer. Not yet cleaned.
#[derive(Debug)]
pub enum News {
    Progress(Progress),
    Log { level: LogLevel, params: Map<String, Value> },
    Question(Question),
}

/// What an upstream wants to know from the client before it can go on.
#[derive(Debug)]
pub struct Question {
    pub method: String,
    pub params: Map<String, Value>,
    /// Dropped unanswered, the upstream hears that nobody answers.
    pub reply: oneshot::Sender<Result<Value, WireError>>,
}

/// Takes news from any thread and never waits; says whether somebody will hear it.
#[derive(Clone)]
pub struct Listener(Arc<dyn Fn(News) -> bool + Send + Sync>);

impl Listener {
    pub fn new(hear: impl Fn(News) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(hear))
    }

    pub fn tell(&self, news: News) -> bool {
        (self.0)(news)
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listener")
    }
}

/// The circumstances of one call. Cloning shares the same cancellation and the same listener.
#[derive(Clone, Debug)]
pub struct Errand {
    pub cancel: CancellationToken,
    /// How long the upstream may take.
    pub timeout: Duration,
    /// W3C trace context, where somebody follows the trace.
    pub traceparent: Option<String>,
    /// The caller's key, passed on to upstreams that take one.
    pub idempotency_key: Option<String>,
    /// Nobody listens when absent, and then upstreams are not asked to report.
    pub news: Option<Listener>,
    /// Who answers for the call. What is said without naming a call reaches nobody else's client.
    pub owner: String,
    /// For whom the call is made, as that client describes itself.
    pub client: Arc<Client>,
    /// The client wants to hear of progress.
    pub report: bool,
    /// Stands still while the client is asked.
    pub time: Arc<Time>,
    /// What is noted on the way.
    pub course: Arc<Course>,
    /// `_meta` of the client's request, without what the wire itself puts there.
    pub meta: Map<String, Value>,
}

impl Errand {
    /// An errand nobody watches, cancels or hurries.
    pub fn quiet() -> Self {
        Self {
            cancel: CancellationToken::new(),
            timeout: model::limits::CALL_TIMEOUT_DEFAULT,
            traceparent: None,
            idempotency_key: None,
            news: None,
            owner: String::new(),
            client: Arc::default(),
            report: false,
            time: Arc::default(),
            course: Arc::default(),
            meta: Map::new(),
        }
    }

    /// Notes how the upstream's HTTP server answered.
    pub(crate) fn note_status(&self, status: u16) {
        self.course.status.store(status, Ordering::Relaxed);
    }

    /// How the upstream's HTTP server answered last, if it has one and did.
    pub fn http_status(&self) -> Option<u16> {
        Some(self.course.status.load(Ordering::Relaxed)).filter(|status| *status > 0)
    }

    /// Tells the listener, if there is one. A slow listener misses news; the call never waits.
    pub fn report(&self, progress: Progress) {
        if let Some(news) = &self.news
            && !news.tell(News::Progress(progress))
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
            () = self.time.up(self.timeout) => Err(Fault::new(
                model::Code::UpstreamTimeout,
                format!("the upstream gave no answer within {} ms", self.timeout.as_millis()),
            )),
            done = work => done,
        }
    }
}
