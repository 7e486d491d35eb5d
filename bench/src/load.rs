//! The load: so many calls at a time against one target, with the clock and the processor time of
//! that target read right before and right after.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::Outcome;
use crate::client::Client;
use crate::cpu;
use crate::fleet::Target;
use crate::stats::Round;

/// Longer than any honest round; a target that hangs must not hang the benchmark.
const ROUND_PATIENCE: Duration = Duration::from_mins(10);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) concurrency: usize,
    pub(crate) warmup_calls: u32,
    pub(crate) calls: u32,
}

/// Connects, warms up, then measures. The first wrong answer ends it.
pub(crate) async fn run(target: &Target, load: Load) -> Outcome<Round> {
    let name = target.kind.name();
    let round = tokio::time::timeout(ROUND_PATIENCE, measure(target, load)).await;
    let round = round.map_err(|_elapsed| format!("`{name}` did not finish its calls in time"))?;
    round.map_err(|error| format!("`{name}` failed: {error}").into())
}

async fn measure(target: &Target, load: Load) -> Outcome<Round> {
    let mut clients = Vec::with_capacity(load.concurrency);
    for worker in 0..load.concurrency {
        clients.push(Client::connect(target.address, worker).await?);
    }
    let (clients, _) = drive(clients, load.warmup_calls).await?;
    let (cpu_before, start) = (cpu::spent(target.pid)?, Instant::now());
    let (_clients, mut latencies) = drive(clients, load.calls).await?;
    let (wall, cpu_after) = (start.elapsed(), cpu::spent(target.pid)?);
    latencies.sort_unstable();
    Ok(Round { latencies, wall, cpu: cpu_after.saturating_sub(cpu_before) })
}

/// Shares the calls out among the clients, each taking its next as soon as it has an answer.
async fn drive(clients: Vec<Client>, calls: u32) -> Outcome<(Vec<Client>, Vec<Duration>)> {
    let taken = Arc::new(AtomicU32::new(0));
    let mut workers = JoinSet::new();
    for client in clients {
        workers.spawn(work(client, Arc::clone(&taken), calls));
    }
    let (mut clients, mut latencies) = (Vec::new(), Vec::new());
    while let Some(worked) = workers.join_next().await {
        let (client, mine) = worked??;
        clients.push(client);
        latencies.extend(mine);
    }
    Ok((clients, latencies))
}

async fn work(
    mut client: Client,
    taken: Arc<AtomicU32>,
    calls: u32,
) -> Outcome<(Client, Vec<Duration>)> {
    let mut latencies = Vec::new();
    while taken.fetch_add(1, Ordering::Relaxed) < calls {
        latencies.push(client.call().await?);
    }
    Ok((client, latencies))
}
