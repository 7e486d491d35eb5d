//! Servers of any revision over any transport, and a gate in front of each.

use std::process::Stdio as Pipes;

use auth::Credentials;
use gateway::Mode;
use server::{Guard, Transport};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio_util::sync::{CancellationToken, DropGuard};
use toolgate_testkit::{TestGateway, World};
use upstream::Connector;
use upstream::http::{Http, Road};
use upstream::mcp::{Age, Revision};
use upstream::stdio::{Config, Stdio};

use crate::{mcp, open_door};

#[derive(Clone, Copy, Debug)]
pub(super) enum Over {
    Pipe,
    Http,
    /// The transport of 2024-11-05. No independent server has it any more, so a gate serves it.
    Sse,
}

/// The gate, and what it needs to go on.
pub(super) struct Front {
    pub(super) world: World,
    _child: Option<Child>,
    _behind: Option<(World, DropGuard)>,
}

const EVERYTHING: &str = env!("CARGO_BIN_EXE_everything_mcp");

pub(super) async fn front(over: Over, revision: &str) -> Front {
    let age = Age::Pinned(revision.parse::<Revision>().unwrap());
    match over {
        Over::Pipe => {
            let world = gate(Stdio::new(pipe(age))).await;
            Front { world, _child: None, _behind: None }
        }
        Over::Http => {
            let mut child =
                Command::new(EVERYTHING).stdout(Pipes::piped()).kill_on_drop(true).spawn().unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let url = lines.next_line().await.unwrap().unwrap();
            let world = gate(Http::new(&url, &Credentials::default(), age).unwrap()).await;
            Front { world, _child: Some(child), _behind: None }
        }
        Over::Sse => {
            let behind = gate(Stdio::new(pipe(Age::Auto))).await;
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let bound = listener.local_addr().unwrap();
            let stop = CancellationToken::new();
            let serving = server::serve(
                mcp(&behind, open_door()),
                Transport::LegacySse,
                listener,
                Guard::new(bound, &[], &[]),
                stop.clone(),
            );
            tokio::spawn(serving);
            let url = format!("http://{bound}/sse");
            let http = Http::by(Road::Old, &url, &Credentials::default(), age).unwrap();
            let world = gate(http).await;
            Front { world, _child: None, _behind: Some((behind, stop.drop_guard())) }
        }
    }
}

fn pipe(age: Age) -> Config {
    Config { args: vec!["--stdio".to_owned()], age, ..Config::new(EVERYTHING) }
}

pub(super) async fn gate(upstream: impl Connector + 'static) -> World {
    let gate = TestGateway::new().upstream("everything", upstream);
    let world = gate.settings(|settings| settings.mode = Mode::Native).start().await;
    assert!(world.refreshed.failures.is_empty(), "{:?}", world.refreshed.failures);
    let watching = std::sync::Arc::clone(&world.gateway);
    tokio::spawn(async move { watching.watch().await });
    world
}
