//! Meanings from elsewhere: an operator's static model or an embedding endpoint in place of the
//! built-in table. Whatever fails, the built-in table answers, and the reader is told.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use catalog::{Catalogue, Meant, Table};
use model::{Clock, Timestamp};
use tokio::sync::Mutex;
use upstream::Embedding;

use crate::call::host_matches;
use crate::settings::Settings;

/// How long an endpoint that failed is left alone.
const REST: Duration = Duration::from_secs(30);
/// Characters of a query that are sent to an endpoint.
const QUERY_CHARS_MAX: usize = 2_000;

/// Where meanings come from.
#[derive(Clone, Debug, Default)]
pub enum Meanings {
    #[default]
    BuiltIn,
    /// A static model in the model2vec format.
    Table(Arc<Table>),
    Endpoint(Arc<Embedding>),
    /// What was asked for cannot be had, and why.
    Missing(String),
}

/// What is known of the meanings of one catalogue after another.
#[derive(Debug)]
pub struct Meaning {
    from: Meanings,
    clock: Clock,
    state: RwLock<State>,
    /// One catalogue at a time.
    learning: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    meant: Option<Arc<Meant>>,
    /// Vectors of the texts of the latest catalogue, so that only new texts are embedded.
    known: HashMap<String, Arc<[f32]>>,
    trouble: Option<(String, Timestamp)>,
}

/// A query's own part, and what the reader should know.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    pub meaning: Option<(Arc<Meant>, Vec<f32>)>,
    pub note: Option<String>,
}

impl Meaning {
    /// An endpoint is only asked if `egress.allow` lets its host be reached.
    pub fn new(settings: &Settings, clock: Clock) -> Self {
        let from = match (&settings.search.meanings, &settings.egress_allow) {
            (Meanings::Endpoint(endpoint), Some(allowed)) => {
                let host = endpoint.host();
                let may = allowed.iter().any(|pattern| host_matches(pattern, host));
                let refused = || format!("`egress.allow` does not let `{host}` be reached");
                let endpoint = || Meanings::Endpoint(Arc::clone(endpoint));
                if may { endpoint() } else { Meanings::Missing(refused()) }
            }
            (meanings, _) => meanings.clone(),
        };
        Self { from, clock, state: RwLock::default(), learning: Mutex::default() }
    }

    /// Whether learning means waiting for somebody else.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self.from, Meanings::Endpoint(_))
    }

    /// Whether an endpoint that failed has rested long enough to be asked again.
    pub(crate) fn is_rested(&self) -> bool {
        self.is_remote() && self.state().trouble.as_ref().is_some_and(|it| self.is_over(it))
    }

    /// Gets a vector for every tool that has none yet.
    pub async fn learn(&self, catalogue: &Catalogue) {
        if matches!(self.from, Meanings::BuiltIn | Meanings::Missing(_)) {
            return;
        }
        let _one_at_a_time = self.learning.lock().await;
        let texts = catalogue.texts();
        let known = match &self.from {
            Meanings::BuiltIn | Meanings::Missing(_) => return,
            Meanings::Table(table) => Ok(self.known(&texts, |text| table.embed(text))),
            Meanings::Endpoint(endpoint) => self.ask_for(endpoint, &texts).await,
        };
        let learned = known.and_then(|known| {
            let vectors: Vec<&[f32]> =
                texts.iter().map(|text| known.get(text).map_or(&[][..], AsRef::as_ref)).collect();
            let meant = catalogue.meant(&vectors).map_err(|error| error.to_string())?;
            Ok((Arc::new(meant), known))
        });
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        match learned {
            Ok((meant, known)) => {
                *state = State { meant: Some(meant), known, trouble: None };
            }
            Err(why) => {
                state.meant = None;
                self.complain(&mut state, why);
            }
        }
    }

    /// The vector of a query, if there are meanings to hold it against.
    pub async fn hear(&self, words: &str) -> Heard {
        let meant = match (&self.from, self.state().meant.clone()) {
            (Meanings::BuiltIn, _) => return Heard::default(),
            (Meanings::Missing(why), _) => return fallback(why),
            (_, Some(meant)) => meant,
            (_, None) => return fallback(&self.trouble("the tools are being embedded")),
        };
        let vector = match &self.from {
            Meanings::Endpoint(endpoint) => self.ask_once(endpoint, words).await,
            Meanings::Table(table) => Ok(table.embed(words)),
            Meanings::BuiltIn | Meanings::Missing(_) => return Heard::default(),
        };
        match vector {
            Ok(vector) => Heard { meaning: Some((meant, vector)), note: None },
            Err(why) => fallback(&why),
        }
    }

    async fn ask_once(&self, endpoint: &Embedding, words: &str) -> Result<Vec<f32>, String> {
        if self.state().trouble.as_ref().is_some_and(|trouble| !self.is_over(trouble)) {
            return Err(self.trouble(""));
        }
        let words: String = words.chars().take(QUERY_CHARS_MAX).collect();
        let answer = endpoint.embed(&[words]).await;
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        match answer.map(|vectors| vectors.into_iter().next()) {
            Ok(Some(vector)) => {
                state.trouble = None;
                Ok(vector)
            }
            Ok(None) => Err("the endpoint gave no vector".to_owned()),
            Err(fault) => {
                self.complain(&mut state, fault.message.clone());
                Err(fault.message)
            }
        }
    }

    async fn ask_for(
        &self,
        endpoint: &Embedding,
        texts: &[String],
    ) -> Result<HashMap<String, Arc<[f32]>>, String> {
        let is_new = |text: &&String| !self.state().known.contains_key(*text);
        let mut wanted: Vec<String> = texts.iter().filter(is_new).cloned().collect();
        wanted.sort_unstable();
        wanted.dedup();
        let vectors = endpoint.embed(&wanted).await.map_err(|fault| fault.message)?;
        let new: HashMap<String, Vec<f32>> = wanted.into_iter().zip(vectors).collect();
        Ok(self.known(texts, |text| new.get(text).cloned().unwrap_or_default()))
    }

    /// What is known of these texts, with what `embed` makes of the others.
    fn known(
        &self,
        texts: &[String],
        embed: impl Fn(&str) -> Vec<f32>,
    ) -> HashMap<String, Arc<[f32]>> {
        let state = self.state();
        let vector = |text: &String| {
            let old = state.known.get(text).map(Arc::clone);
            (text.clone(), old.unwrap_or_else(|| embed(text).into()))
        };
        texts.iter().map(vector).collect()
    }

    fn complain(&self, state: &mut State, why: String) {
        tracing::warn!(reason = why, "ranking with the built-in table");
        state.trouble = Some((why, self.clock.now().after(REST)));
    }

    fn trouble(&self, otherwise: &str) -> String {
        let trouble = self.state().trouble.as_ref().map(|(why, _)| why.clone());
        trouble.unwrap_or_else(|| otherwise.to_owned())
    }

    fn is_over(&self, trouble: &(String, Timestamp)) -> bool {
        self.clock.now() >= trouble.1
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }
}

fn fallback(why: &str) -> Heard {
    Heard { meaning: None, note: Some(format!("ranked with the built-in table: {why}")) }
}
