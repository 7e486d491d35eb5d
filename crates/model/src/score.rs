//! What a call was worth, by rules that anybody can follow: no model is asked.

use serde::{Deserialize, Serialize};

/// How a score is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    Pass,
    Warn,
    Fail,
}

/// From 0 to 1, in hundredths.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    pub score: f64,
    pub status: Mark,
}

impl Score {
    /// Of a hundred. Below the floor it fails; below full marks where there is a doubt, it warns.
    pub fn of_hundred(points: u64, floor: u64) -> Self {
        let points = points.min(100);
        let status = match points {
            100 => Mark::Pass,
            points if points >= floor => Mark::Warn,
            _ => Mark::Fail,
        };
        let score = f64::from(u32::try_from(points).unwrap_or(100)) / 100.0;
        Self { score, status }
    }
}

/// The five scores of a call (C45: the fifth is economics, elsewhere called cost).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scorecard {
    pub policy: Score,
    pub utility: Score,
    pub latency: Score,
    pub safety: Score,
    #[serde(alias = "cost")]
    pub economics: Score,
}
