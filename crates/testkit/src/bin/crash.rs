//! `crash ROUNDS --toolgate FILE [--seed N] [--postgres URL [--restart COMMAND]]`: kills the binary
//! so many times and says what it found.

use std::io::{self, Write as _};
use std::process::ExitCode;

use toolgate_testkit::crash::{self, Plan};

#[tokio::main]
async fn main() -> ExitCode {
    let done = match plan() {
        Ok(plan) => {
            let rounds = plan.rounds;
            crash::run(&plan, |round, score| {
                if (round + 1) % 20 == 0 || round + 1 == rounds {
                    tell(&format!("round {} of {rounds}: {score:?}", round + 1));
                }
            })
            .await
        }
        Err(error) => Err(error),
    };
    match done {
        Ok(score) => {
            tell(&format!(
                "{} deaths, {} acknowledged calls, {} effects, nothing lost, nothing twice",
                score.deaths, score.acknowledged, score.effects
            ));
            ExitCode::SUCCESS
        }
        Err(error) => {
            tell(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn plan() -> Result<Plan, String> {
    let mut plan = Plan {
        toolgate: "toolgate".into(),
        rounds: 20,
        seed: u64::from(std::process::id()),
        postgres: None,
        restart: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("`{word}` needs a value"));
        let number = |text: &str| {
            text.parse().map_err(|error: std::num::ParseIntError| format!("`{text}`: {error}"))
        };
        match word.as_str() {
            "--toolgate" => plan.toolgate = value()?.into(),
            "--seed" => plan.seed = number(&value()?)?,
            "--postgres" => plan.postgres = Some(value()?),
            "--restart" => plan.restart = Some(value()?),
            rounds => plan.rounds = number(rounds)?,
        }
    }
    Ok(plan)
}

/// Nobody is left to hear of a line that cannot be written.
fn tell(line: &str) {
    drop(writeln!(io::stdout(), "{line}"));
}
