//! Looking after upstreams while the gate runs: what they tell is taken in, what has changed is
//! asked for again, and who was lost is tried until it is back. Each for itself: one that hangs or
//! rings without end keeps nobody else waiting.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use model::limits::RINGS_KEPT;
use model::{Code, Fault, Listed, UpstreamName};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;
use upstream::Ring;
use upstream::breaker::pause;

use crate::changes::Change;
use crate::gateway::Gateway;
use crate::refresh::State;

/// Between two questions for the same lists, however often they are said to have changed, and
/// between two times that an upstream's other news are told.
const AGAIN_MIN: Duration = Duration::from_millis(250);
/// The least an upstream may have its lists asked for again.
const TTL_MIN: Duration = Duration::from_secs(5);
/// Who lived this long and is lost then is not one that always dies.
const LIVED: Duration = Duration::from_secs(30);
/// After so many tries in vain, this long between two.
const TRIES_SOON: u32 = 100;
const TRIES_LATE: Duration = Duration::from_secs(30);

impl Gateway {
    /// Takes in what upstreams tell, for as long as the gate runs. To be run once, beside serving.
    pub async fn watch(&self) {
        let mut tending = Vec::new();
        let health = self.health().await;
        for (name, rings) in self.changes.take_rings() {
            let mut care = Care::default();
            match health.iter().find(|one| one.name == name && one.state == State::Fresh) {
                Some(fresh) => care.answered(fresh.ttl),
                None => care.due = Some(Instant::now()),
            }
            tending.push(self.tend(name, rings, care));
        }
        join_all(tending).await;
    }

    async fn tend(&self, name: UpstreamName, mut rings: mpsc::Receiver<Ring>, mut care: Care) {
        let stopping = self.stopping();
        loop {
            // Nothing is lost with the arms that lose: `recv` is cancel safe.
            tokio::select! {
                biased;
                () = stopping.cancelled() => return,
                ring = rings.recv() => match ring {
                    Some(ring) => self.take_in(&name, ring, &mut care),
                    None => return,
                },
                () = care.wait() => {}
            }
            for ring in std::iter::from_fn(|| rings.try_recv().ok()).take(RINGS_KEPT) {
                self.take_in(&name, ring, &mut care);
            }
            care.news.told_when_due().into_iter().for_each(|change| self.tell(change));
            if care.is_due() {
                let look = pin!(self.look_again(&name, &mut care));
                if stopping.run_until_cancelled(look).await.is_none() {
                    return;
                }
            }
        }
    }

    fn take_in(&self, name: &UpstreamName, ring: Ring, care: &mut Care) {
        match ring {
            // Nobody hears of what nobody follows, and of nothing more often than is of use.
            Ring::Updated { uri } => {
                if self.is_followed(name, &uri) {
                    care.news.note(About::Resource(uri.clone()), Change::Resource { uri });
                }
            }
            Ring::Visited { owner, elicitation_id } => {
                for account in self.visits.end(name, owner.as_deref(), &elicitation_id) {
                    let elicitation_id = elicitation_id.clone();
                    self.tell(Change::Visited { account, elicitation_id });
                }
            }
            Ring::Task { owner, mut params } => {
                let id = params.get("taskId").and_then(Value::as_str).map(str::to_owned);
                let known = |id: &String| self.tasks.are_of(name, owner.as_deref(), id);
                let Some(id) = id.filter(known) else { return };
                // What a task asks is judged where its client looks at it, and not on this way.
                params.shift_remove("inputRequests");
                let params = Arc::new(context::pass(params, &self.settings.redactor));
                let about = About::Task { owner: owner.clone(), id };
                care.news.note(about, Change::Task { upstream: name.clone(), owner, params });
            }
            Ring::Changed(what) => care.changed(what),
            Ring::Reopened => care.soon(),
            Ring::Lost => care.lost(),
            Ring::Asleep => care.due = None,
        }
    }

    async fn look_again(&self, name: &UpstreamName, care: &mut Care) {
        care.due = None;
        match self.refresh_one(name).await {
            Ok((differ, ttl)) => {
                let said = std::mem::take(&mut care.said);
                for what in said.into_iter().chain(differ).collect::<BTreeSet<_>>() {
                    self.tell(Change::List(what));
                }
                care.answered(ttl);
            }
            Err(fault) => {
                let detail = fault.log.as_deref().unwrap_or_default();
                if care.tried == 0 {
                    tracing::warn!(upstream.name = name.as_str(), %fault, detail, "an upstream is lost");
                }
                care.failed(&fault);
            }
        }
    }
}

/// When an upstream is to be asked again, and why.
#[derive(Debug, Default)]
struct Care {
    due: Option<Instant>,
    /// Lists that were said to have changed.
    said: BTreeSet<Listed>,
    tried: u32,
    asked: Option<Instant>,
    news: Fresh,
}

/// What one upstream told of single resources and tasks and nobody has heard yet, the last of each.
#[derive(Debug, Default)]
struct Fresh {
    untold: BTreeMap<About, Change>,
    told: Option<Instant>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum About {
    Resource(String),
    Task { owner: Option<String>, id: String },
}

impl Fresh {
    fn note(&mut self, about: About, change: Change) {
        self.untold.insert(about, change);
    }

    fn due(&self, now: Instant) -> Option<Instant> {
        let due = || self.told.map_or(now, |told| now.max(told + AGAIN_MIN));
        (!self.untold.is_empty()).then(due)
    }

    /// All of it, if that is not too soon after the last time.
    fn told_when_due(&mut self) -> Vec<Change> {
        let now = Instant::now();
        if self.due(now).is_none_or(|due| due > now) {
            return Vec::new();
        }
        self.told = Some(now);
        std::mem::take(&mut self.untold).into_values().collect()
    }
}

impl Care {
    async fn wait(&self) {
        match self.due.into_iter().chain(self.news.due(Instant::now())).min() {
            Some(due) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    fn is_due(&self) -> bool {
        self.due.is_some_and(|due| due <= Instant::now())
    }

    fn changed(&mut self, what: Listed) {
        self.said.insert(what);
        self.soon();
    }

    fn soon(&mut self) {
        let now = Instant::now();
        let next = self.asked.map_or(now, |asked| now.max(asked + AGAIN_MIN));
        self.due = Some(self.due.map_or(next, |due| due.min(next)));
    }

    fn lost(&mut self) {
        if self.asked.is_some_and(|asked| asked.elapsed() >= LIVED) {
            self.tried = 0;
        }
        self.later();
    }

    fn answered(&mut self, ttl: Option<Duration>) {
        let now = Instant::now();
        if self.asked.is_some_and(|asked| now.duration_since(asked) >= LIVED) {
            self.tried = 0;
        }
        self.asked = Some(now);
        self.due = ttl.map(|ttl| now + ttl.max(TTL_MIN));
    }

    /// What was refused for want of rights is not tried again: it would be refused again.
    fn failed(&mut self, fault: &Fault) {
        match fault.code {
            Code::AuthFailed | Code::AuthRequired | Code::ShuttingDown => self.due = None,
            _ => self.later(),
        }
    }

    fn later(&mut self) {
        let pause = if self.tried > TRIES_SOON { TRIES_LATE } else { pause(self.tried) };
        self.tried = self.tried.saturating_add(1);
        self.due = Some(Instant::now() + pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_storm_of_changes_is_asked_about_four_times_a_second() {
        let mut care = Care::default();
        let mut asked = 0;
        for _ in 0..10_000 {
            care.changed(Listed::Tools);
            if care.is_due() {
                asked += 1;
                care.answered(None);
            }
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert_eq!(asked, 40);
    }

    #[tokio::test(start_paused = true)]
    async fn a_storm_of_updates_is_told_four_times_a_second_and_its_last_word_is_heard() {
        let mut news = Fresh::default();
        let mut told = Vec::new();
        for number in 0..1_000 {
            for name in ["a", "b"] {
                let uri = format!("{name}#{number}");
                news.note(About::Resource(name.to_owned()), Change::Resource { uri });
            }
            told.extend(news.told_when_due());
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert_eq!(told.len(), 8, "two resources, four times");
        tokio::time::advance(AGAIN_MIN).await;
        let last = news.told_when_due();
        assert!(matches!(&last[..], [Change::Resource { uri }, _] if uri == "a#999"), "{last:?}");
        assert!(news.due(Instant::now()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn who_dies_as_soon_as_it_lives_is_started_ever_less() {
        let mut care = Care::default();
        let mut starts = 0;
        for _ in 0..60_000 {
            if care.due.is_none() {
                care.lost();
            }
            if care.is_due() {
                starts += 1;
                care.answered(None);
            }
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert!((15..=30).contains(&starts), "{starts} starts within a minute");
    }

    #[tokio::test]
    async fn who_refuses_our_credentials_is_not_asked_again() {
        let check = |code: Code, again: bool| {
            let mut care = Care::default();
            care.failed(&Fault::new(code, "no"));
            assert_eq!(care.due.is_some(), again, "{code}");
        };
        check(Code::AuthFailed, false);
        check(Code::UpstreamUnavailable, true);
        check(Code::UpstreamTimeout, true);
        check(Code::UpstreamError, true);
    }

    #[tokio::test(start_paused = true)]
    async fn lists_are_asked_for_again_when_their_time_is_up() {
        let mut care = Care::default();
        care.answered(Some(Duration::from_mins(1)));
        tokio::time::advance(Duration::from_secs(59)).await;
        assert!(!care.is_due());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(care.is_due());
        care.answered(Some(Duration::from_millis(1)));
        tokio::time::advance(Duration::from_secs(4)).await;
        assert!(!care.is_due());
    }
}
