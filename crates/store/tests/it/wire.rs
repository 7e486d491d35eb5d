//! What lies between a gate and its database server: it can go silent, or lose what was said last.

use std::sync::Arc;
use std::time::Duration;

use model::Secret;
use percent_encoding::percent_decode_str;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use toolgate_store::{Config, Store};
use url::Url;

use crate::home::Home;

/// Long enough for any answer that comes at all, also where many tests run at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weather {
    Fair,
    /// Nothing comes through, and nobody is told.
    Silent,
    /// The next commit reaches the server, its answer nobody, and from then on the wire is down.
    LosesACommit,
    /// Nobody is let through.
    Down,
    /// The next commit is under way while the gate hears that its connection is gone. It arrives when the
    /// gate comes back and asks for the lock.
    HoldsACommit,
    Held,
    Asked,
}

/// Stands in for the server, and passes on what the weather allows.
pub(crate) struct Wire {
    weather: Arc<watch::Sender<Weather>>,
    url: Secret,
}

impl Wire {
    /// A gate whose database lies behind this wire; none where there is no server to have one.
    pub(crate) async fn before(home: &Home) -> Option<(Self, Store)> {
        let wire = Self::to(&Url::parse(home.url()?.reveal()).unwrap()).await;
        let through = |config: &mut Config| {
            config.url = Some(wire.url.clone());
            config.patience = PATIENCE;
        };
        let store = home.open_with(through).await;
        Some((wire, store))
    }

    async fn to(server: &Url) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut url = server.clone();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        let weather = Arc::new(watch::Sender::new(Weather::Fair));
        tokio::spawn(carry(listener, server.clone(), Arc::clone(&weather)));
        Self { weather, url: Secret::new(url.to_string()) }
    }

    pub(crate) fn turns(&self, weather: Weather) {
        self.weather.send_replace(weather);
    }
}

async fn carry(listener: TcpListener, server: Url, weather: Arc<watch::Sender<Weather>>) {
    while let Ok((gate, _)) = listener.accept().await {
        if *weather.borrow() == Weather::Down {
            continue;
        }
        let host = percent_decode_str(server.host_str().unwrap()).decode_utf8().unwrap();
        let port = server.port().unwrap_or(5432);
        if host.starts_with('/') {
            let socket = UnixStream::connect(format!("{host}/.s.PGSQL.{port}")).await.unwrap();
            tokio::spawn(pass(gate, socket, Arc::clone(&weather)));
        } else {
            let socket = TcpStream::connect((&*host, port)).await.unwrap();
            tokio::spawn(pass(gate, socket, Arc::clone(&weather)));
        }
    }
}

/// Until either side closes, or the wire goes down.
async fn pass(
    gate: TcpStream,
    server: impl AsyncRead + AsyncWrite,
    weather: Arc<watch::Sender<Weather>>,
) {
    let (from_gate, to_gate) = gate.into_split();
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let mut now = weather.subscribe();
    let held = tokio::select! {
        held = forward(from_gate, &mut to_server, &weather) => held,
        held = forward(&mut from_server, to_gate, &weather) => held,
        _ = now.wait_for(|now| *now == Weather::Down) => None,
    };
    if let Some(word) = held {
        now.wait_for(|now| *now == Weather::Asked).await.unwrap();
        to_server.write_all(&word).await.unwrap();
        from_server.read_u8().await.unwrap();
    }
}

/// Says what was held back.
async fn forward(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    weather: &watch::Sender<Weather>,
) -> Option<Vec<u8>> {
    let (mut room, mut now) = (vec![0; 1 << 16], weather.subscribe());
    while let Ok(count @ 1..) = from.read(&mut room).await {
        let said = room.get(..count).unwrap_or_default();
        now.wait_for(|now| *now != Weather::Silent).await.ok()?;
        let has = |word: &[u8]| said.windows(word.len()).any(|part| part == word);
        let weather_now = *weather.borrow();
        if weather_now == Weather::HoldsACommit && has(b"COMMIT") {
            weather.send_replace(Weather::Held);
            return Some(said.to_vec());
        }
        to.write_all(said).await.ok()?;
        if weather_now == Weather::LosesACommit && has(b"COMMIT") {
            weather.send_replace(Weather::Down);
        }
        if weather_now == Weather::Held && has(b"pg_advisory_xact_lock") {
            weather.send_replace(Weather::Asked);
        }
    }
    None
}
