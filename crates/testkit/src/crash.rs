//! Killing the real binary at any moment, and looking at what is left.
//!
//! On PostgreSQL two gates work at once and one of them dies; the other must go on.
//!
//! A ledger outside the gate notes every effect. After each death: every acknowledged call has its
//! record, every effect has an opening entry, no key and no yes has two effects, no entry stands there
//! twice, no key is held for a call that has ended, and the chain verifies. The next gate is asked
//! again for what nobody has heard the end of, or heard that it could not be recorded.

mod callers;
mod client;
mod dice;
mod ending;
mod full;
mod gate;
mod ledger;
mod remains;
mod round;
mod score;
mod setup;
mod twin;

use std::path::PathBuf;

pub use dice::Dice;
pub use ending::{Database, Ending};
pub use ledger::Ledger;
pub use round::Desk;
pub use score::Score;

/// What a run of rounds needs to know.
#[derive(Clone, Debug)]
pub struct Plan {
    pub toolgate: PathBuf,
    pub rounds: u64,
    pub seed: u64,
    /// A PostgreSQL server to use in place of files.
    pub postgres: Option<String>,
    /// What restarts that server, run by a shell.
    pub restart: Option<String>,
}

/// Rounds that share a data folder.
const ROUNDS_PER_FOLDER: u64 = 5;

/// Plays all rounds; the first that finds something wrong ends the run.
pub async fn run(plan: &Plan, mut told: impl FnMut(u64, &Score)) -> Result<Score, String> {
    let ledger = Ledger::start().await;
    let mut total = Score::default();
    let database = if plan.postgres.is_some() { Database::Server } else { Database::Folder };
    let mut desk = Desk::new(plan, &ledger, 0).await?;
    for round in 0..plan.rounds {
        let ending = Ending::of(round, &mut Dice::new(plan.seed.wrapping_add(round)), database);
        if round > 0 && (round % ROUNDS_PER_FOLDER == 0 || ending.wants_new_folder()) {
            desk = Desk::new(plan, &ledger, round).await?;
        }
        let score = desk.play(round, &ending).await.map_err(|error| {
            let (seed, folder) = (plan.seed, desk.keep_folder());
            format!("round {round} of seed {seed}, {ending:?}: {error}; data in {folder}")
        })?;
        total.add(&score);
        told(round, &total);
    }
    desk.full_disk().await.map_err(|error| format!("full disk: {error}"))?;
    Ok(total)
}
