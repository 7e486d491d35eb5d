//! MCP servers that are child processes: started on first use, shared by all calls, stopped when
//! nobody uses them for long. A child that dies is started again by the next call.

mod absent;
mod child;
mod family;
mod greet;
mod noise;
mod said;
mod usage;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use model::{Code, Fault, Secret};
use protocol::Revision;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use self::child::Child;
pub use self::family::Guard;
use self::said::Said;
use self::usage::InUse;
use crate::connector::{Bell, Ring};
use crate::limits;
use crate::mcp::{Age, Asking, Followed, Greeting, Mcp, Reply, Wire, subscriptions, wish};
use crate::patience::Patience;

/// How to start the child.
#[derive(Clone, Debug)]
pub struct Config {
    pub command: String,
    pub args: Vec<String>,
    /// Added to a short list of harmless variables; nothing else of our environment is passed on.
    pub env: BTreeMap<String, Secret>,
    pub cwd: Option<PathBuf>,
    pub age: Age,
    /// Stopped after this long without use; never when absent.
    pub idle: Option<Duration>,
    /// Ends the child if we cannot any more.
    pub guard: Arc<Guard>,
}

impl Config {
    /// A program without arguments, started once and left running.
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            age: Age::Auto,
            idle: None,
            guard: Arc::default(),
        }
    }
}

/// A server that is a child of ours.
pub type Stdio = Mcp<Pipe>;

#[derive(Debug)]
pub struct Pipe {
    home: Arc<Home>,
}

/// What outlives any one child.
#[derive(Debug)]
struct Home {
    config: Config,
    open: RwLock<Option<Arc<Conversation>>>,
    /// One start at a time.
    starting: Mutex<()>,
    started_before: AtomicBool,
    /// What the server turned out to be; asked about once.
    known: StdMutex<Option<Revision>>,
    patience: StdMutex<Patience>,
    /// What it was before we were started; good for one try.
    recalled: StdMutex<Option<Revision>>,
    closed: CancellationToken,
    bell: StdMutex<Option<Bell>>,
    /// What somebody wants news of.
    followed: StdMutex<BTreeSet<Followed>>,
    /// Held by whoever changes what is followed.
    following: Mutex<()>,
    /// Asks for news, one wish at a time.
    listening: StdMutex<Option<AbortOnDropHandle<()>>>,
    said: Arc<Said>,
}

#[derive(Debug)]
struct Conversation {
    child: Child,
    greeting: Arc<Greeting>,
    /// A child that somebody wants news of is in use.
    held: StdMutex<Option<InUse>>,
}

impl Stdio {
    pub fn new(config: Config) -> Self {
        Self::over(Pipe {
            home: Arc::new(Home {
                config,
                open: RwLock::default(),
                starting: Mutex::default(),
                started_before: AtomicBool::new(false),
                known: StdMutex::default(),
                patience: StdMutex::default(),
                recalled: StdMutex::default(),
                closed: CancellationToken::new(),
                bell: StdMutex::default(),
                followed: StdMutex::default(),
                following: Mutex::default(),
                listening: StdMutex::default(),
                said: Arc::default(),
            }),
        })
    }
}

impl Pipe {
    /// The running child, started and introduced if need be.
    ///
    /// A start goes on when whoever asked for it gives up: a slow one would never come to its end.
    async fn conversation(&self) -> Result<Arc<Conversation>, Fault> {
        if let Some(open) = self.home.running() {
            return Ok(open);
        }
        let home = Arc::clone(&self.home);
        let starting = tokio::spawn(async move { home.start().await });
        starting.await.unwrap_or_else(|error| Err(Fault::internal(error)))
    }
}

impl Home {
    fn running(&self) -> Option<Arc<Conversation>> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.as_ref().filter(|open| open.child.is_alive()).map(Arc::clone)
    }

    async fn start(self: Arc<Self>) -> Result<Arc<Conversation>, Fault> {
        let _starting = self.starting.lock().await;
        if let Some(open) = self.running() {
            return Ok(open);
        }
        let bell = self.bell.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let opening = tokio::time::timeout(limits::START_TIMEOUT, self.open(bell.clone()));
        let opened = match self.closed.run_until_cancelled(opening).await {
            None => return Err(Fault::new(Code::ShuttingDown, "the gate is closing")),
            Some(Err(_elapsed)) => return Err(too_slow(limits::START_TIMEOUT)),
            Some(Ok(opened)) => Arc::new(opened?),
        };
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&opened));
        self.hold(&opened);
        self.listen(&opened);
        if self.started_before.swap(true, Ordering::AcqRel)
            && let Some(bell) = bell
        {
            bell.ring(Ring::Reopened);
        }
        Ok(opened)
    }

    /// A child that ends when it is asked in the newest way first is started once more, and asked in
    /// the older one; which it was is remembered.
    async fn open(&self, bell: Option<Bell>) -> Result<Conversation, Fault> {
        let known = *self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let age = known.map_or(self.config.age, Age::Pinned);
        let recalled = self.recalled.lock().unwrap_or_else(PoisonError::into_inner).take();
        let recalled = recalled.filter(|_| age == Age::Auto && self.config.age == Age::Auto);
        let patience = self.patience().now();
        let began = Instant::now();
        let first = tokio::time::timeout(patience, async {
            if let Some(revision) = recalled
                && let Ok(open) = self.open_as(Age::Pinned(revision), bell.clone()).await
            {
                return Ok(open);
            }
            self.said.forget();
            self.open_as(age, bell.clone()).await
        });
        let first = first.await;
        // Silence says nothing about its age; any other failure may be that of another server.
        let Ok(first) = first else {
            self.patience().in_vain();
            return Err(self.told(too_slow(patience)));
        };
        let opened = match first {
            Err(fault) if age == Age::Auto && fault.code == Code::UpstreamUnavailable => {
                self.said.forget();
                let legacy = Age::Pinned(Revision::NEWEST_LEGACY);
                self.open_as(legacy, bell).await.map_err(|_same| fault)
            }
            opened => opened,
        };
        match &opened {
            Ok(_) => self.patience().greeted(began.elapsed()),
            Err(_) => self.patience().forget(),
        }
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) =
            opened.as_ref().ok().map(|open| open.greeting.revision);
        opened.map_err(|fault| self.told(fault))
    }

    fn patience(&self) -> MutexGuard<'_, Patience> {
        self.patience.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// With what it wrote on standard error.
    fn told(&self, fault: Fault) -> Fault {
        fault.logging(self.said.lines().join("\n"))
    }

    async fn open_as(&self, age: Age, bell: Option<Bell>) -> Result<Conversation, Fault> {
        let child = Child::start(&self.config, bell, &self.said)?;
        let greeting = Arc::new(greet::introduce(&child, age).await?);
        Ok(Conversation { child, greeting, held: StdMutex::default() })
    }

    /// Asks for all the news that are wanted, in place of any asking before. Since 2026-07-28 that is
    /// one request, answered for as long as the child lives; before, a new child knows of nothing that
    /// the former was asked for.
    fn listen(&self, open: &Arc<Conversation>) {
        let followed = self.followed();
        let open = Arc::clone(open);
        let handle = AbortOnDropHandle::new(tokio::spawn(async move {
            let revision = open.greeting.revision;
            let wishes = if revision.is_modern() {
                vec![wish(&open.greeting, &followed)]
            } else {
                subscriptions(&followed, true)
            };
            for asking in wishes {
                if let Err(fault) = open.child.ask(None, |id| asking.frame(id, revision)).await {
                    tracing::debug!(%fault, "an upstream tells of no changes");
                }
            }
        }));
        *self.listening.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
    }

    fn followed(&self) -> BTreeSet<Followed> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn hold(&self, open: &Conversation) {
        let wanted = !self.followed().is_empty();
        let mut held = open.held.lock().unwrap_or_else(PoisonError::into_inner);
        *held = wanted.then(|| open.child.hold());
    }
}

#[async_trait]
impl Wire for Pipe {
    async fn greet(&self) -> Result<Arc<Greeting>, Fault> {
        Ok(Arc::clone(&self.conversation().await?.greeting))
    }

    async fn ask(&self, asking: &Asking<'_>) -> Result<Reply, Fault> {
        let open = self.conversation().await?;
        let revision = open.greeting.revision;
        open.child.ask(asking.errand, |id| asking.frame(id, revision)).await
    }

    async fn follow(&self, what: Followed, wanted: bool) -> Result<(), Fault> {
        let open = self.conversation().await?;
        // One wish after the other: what was followed before must not be forgotten meanwhile.
        let _turn = self.home.following.lock().await;
        let mut followed = self.home.followed();
        let changed = if wanted { followed.insert(what.clone()) } else { followed.remove(&what) };
        if !changed {
            return Ok(());
        }
        if !open.greeting.revision.is_modern() {
            for asking in subscriptions([&what], wanted) {
                self.ask(&asking).await?;
            }
        }
        *self.home.followed.lock().unwrap_or_else(PoisonError::into_inner) = followed;
        self.home.hold(&open);
        if open.greeting.revision.is_modern() {
            self.home.listen(&open);
        }
        Ok(())
    }

    fn attach(&self, bell: Bell) {
        *self.home.bell.lock().unwrap_or_else(PoisonError::into_inner) = Some(bell);
    }

    fn said(&self) -> Vec<String> {
        self.home.said.lines()
    }

    fn recall(&self, revision: Revision) {
        let mut recalled = self.home.recalled.lock().unwrap_or_else(PoisonError::into_inner);
        *recalled = Some(revision);
    }

    fn revision(&self) -> Option<Revision> {
        let known = || *self.home.known.lock().unwrap_or_else(PoisonError::into_inner);
        let running = self.home.running().map(|open| open.greeting.revision);
        running.or_else(known)
    }

    async fn close(&self) {
        self.home.closed.cancel();
        self.home.listening.lock().unwrap_or_else(PoisonError::into_inner).take();
        let open = self.home.open.write().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(open) = open {
            open.child.stop().await;
        }
    }
}

fn too_slow(patience: Duration) -> Fault {
    let seconds = patience.as_secs();
    Fault::new(Code::UpstreamUnavailable, format!("the upstream did not start within {seconds} s"))
}
