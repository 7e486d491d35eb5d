//! From single calls to figures. Plain arithmetic on what `load` brought home.

use std::time::Duration;

use crate::fleet::Kind;

/// One round of calls against one target.
#[derive(Clone, Debug, Default)]
pub(crate) struct Round {
    /// Ascending.
    pub(crate) latencies: Vec<Duration>,
    pub(crate) wall: Duration,
    /// What the target's process used.
    pub(crate) cpu: Duration,
}

/// All rounds of one target at one concurrency.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) kind: Kind,
    pub(crate) concurrency: usize,
    pub(crate) rounds: Vec<Round>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figures {
    pub(crate) calls: usize,
    pub(crate) cpu_us: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) calls_per_second: f64,
}

/// How many times a peer's figure this row's is; none where the peer has nothing to divide by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratios {
    pub(crate) cpu_to_proxy: Option<f64>,
    pub(crate) p50_to_proxy: Option<f64>,
    pub(crate) p50_to_echo: Option<f64>,
}

impl Row {
    /// Over the calls of all rounds together.
    pub(crate) fn figures(&self) -> Figures {
        let mut all = Round::default();
        for round in &self.rounds {
            all.latencies.extend(&round.latencies);
            all.wall += round.wall;
            all.cpu += round.cpu;
        }
        all.latencies.sort_unstable();
        all.figures()
    }

    /// Compares with the rows of the same concurrency.
    pub(crate) fn ratios(&self, rows: &[Self]) -> Ratios {
        let mine = self.figures();
        let peer = |kind: Kind| {
            let mut peers = rows.iter().filter(|row| row.concurrency == self.concurrency);
            peers.find(|row| row.kind == kind).map(Self::figures)
        };
        let (proxy, echo) = (peer(Kind::Proxy), peer(Kind::Echo));
        Ratios {
            cpu_to_proxy: proxy.and_then(|proxy| ratio(mine.cpu_us, proxy.cpu_us)),
            p50_to_proxy: proxy.and_then(|proxy| ratio(mine.p50_us, proxy.p50_us)),
            p50_to_echo: echo.and_then(|echo| ratio(mine.p50_us, echo.p50_us)),
        }
    }
}

impl Round {
    pub(crate) fn figures(&self) -> Figures {
        let calls = self.latencies.len();
        let count = f64::from(u32::try_from(calls).unwrap_or(u32::MAX)).max(1.0);
        Figures {
            calls,
            cpu_us: micros(self.cpu) / count,
            p50_us: micros(percentile(&self.latencies, 50)),
            p99_us: micros(percentile(&self.latencies, 99)),
            calls_per_second: ratio(count, self.wall.as_secs_f64()).unwrap_or_default(),
        }
    }
}

/// The smallest value that at least so many percent of all values do not exceed.
fn percentile(ascending: &[Duration], percent: usize) -> Duration {
    let rank = ascending.len().saturating_mul(percent).div_ceil(100).max(1);
    ascending.get(rank - 1).copied().unwrap_or_default()
}

fn ratio(mine: f64, theirs: f64) -> Option<f64> {
    (theirs > 0.0).then(|| mine / theirs)
}

fn micros(span: Duration) -> f64 {
    span.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spans(micros: impl IntoIterator<Item = u64>) -> Vec<Duration> {
        micros.into_iter().map(Duration::from_micros).collect()
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let check = |values: Vec<Duration>, percent: usize, expected: u64| {
            assert_eq!(percentile(&values, percent), Duration::from_micros(expected), "{values:?}");
        };
        check(spans(1..=100), 50, 50);
        check(spans(1..=100), 99, 99);
        check(spans(1..=1000), 99, 990);
        check(spans(1..=5), 50, 3);
        check(spans(1..=4), 50, 2);
        check(spans(1..=5), 99, 5);
        check(spans([7]), 50, 7);
        check(spans([7]), 99, 7);
        check(spans([7, 9]), 0, 7);
        check(spans([7, 9]), 100, 9);
        check(spans([]), 99, 0);
    }

    #[test]
    fn rounds_are_taken_together() {
        let round = |micros: [u64; 2], cpu: u64| Round {
            latencies: spans(micros),
            wall: Duration::from_millis(2),
            cpu: Duration::from_micros(cpu),
        };
        let rounds = vec![round([10, 40], 30), round([20, 30], 50)];
        let row = Row { kind: Kind::Echo, concurrency: 1, rounds };
        let figures = row.figures();
        assert_eq!(figures.calls, 4);
        assert!((figures.cpu_us - 20.0).abs() < 1e-9, "{figures:?}");
        assert!((figures.p50_us - 20.0).abs() < 1e-9, "{figures:?}");
        assert!((figures.p99_us - 40.0).abs() < 1e-9, "{figures:?}");
        assert!((figures.calls_per_second - 1000.0).abs() < 1e-9, "{figures:?}");
    }

    #[test]
    fn nothing_is_divided_by_a_peer_that_is_not_there() {
        let round =
            Round { latencies: spans([10]), wall: Duration::from_millis(1), cpu: Duration::ZERO };
        let row = |kind| Row { kind, concurrency: 1, rounds: vec![round.clone()] };
        let ratios = row(Kind::Echo).ratios(&[row(Kind::Echo)]);
        assert_eq!((ratios.cpu_to_proxy, ratios.p50_to_proxy), (None, None));
        assert_eq!(ratios.p50_to_echo, Some(1.0));
        let idle_proxy = row(Kind::Echo).ratios(&[row(Kind::Proxy)]);
        assert_eq!((idle_proxy.cpu_to_proxy, idle_proxy.p50_to_proxy), (None, Some(1.0)));
    }

    proptest! {
        #[test]
        fn percentiles_never_fall(mut values in prop::collection::vec(0u64..1000, 1..50)) {
            values.sort_unstable();
            let values = spans(values);
            let all = (0..=100).map(|percent| percentile(&values, percent)).collect::<Vec<_>>();
            prop_assert!(all.is_sorted());
            prop_assert_eq!(all.last(), values.last());
        }
    }
}
