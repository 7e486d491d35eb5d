//! What others do, written here so that the figures can be compared: plain BM25, TF-IDF, and
//! SQLite's full-text search.

use std::collections::{BTreeMap, HashMap};

use sqlx::{Connection as _, Row as _, SqliteConnection};
use tokio::runtime::Runtime;

use super::figures::real;
use super::sets::Tool;
use crate::Outcome;

/// An inverted index over lower-case words, nothing split, folded or weighed by field.
pub(super) struct Plain {
    postings: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    norms: Vec<f64>,
}

impl Plain {
    pub(super) fn new(tools: &[&Tool]) -> Self {
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::new();
        for (doc, tool) in tools.iter().enumerate() {
            let mut counts: BTreeMap<String, f64> = BTreeMap::new();
            for word in words(&tool.text()) {
                *counts.entry(word).or_default() += 1.0;
            }
            lengths.push(counts.values().sum());
            for (word, count) in counts {
                postings.entry(word).or_default().push((doc, count));
            }
        }
        let mut squares = vec![0.0; tools.len()];
        for found in sorted(&postings) {
            let rarity = tf_idf_rarity(tools.len(), found.len());
            for (doc, count) in found {
                if let Some(square) = squares.get_mut(*doc) {
                    *square += (count * rarity).powi(2);
                }
            }
        }
        Self { postings, lengths, norms: squares.into_iter().map(f64::sqrt).collect() }
    }

    pub(super) fn bm25(&self, query: &str) -> Vec<usize> {
        let mean = self.lengths.iter().sum::<f64>() / real(self.lengths.len().max(1));
        self.rank(query, &|doc, count, holders| {
            let rarity = (1.0 + (real(self.lengths.len()) - holders + 0.5) / (holders + 0.5)).ln();
            let length = self.lengths.get(doc).copied().unwrap_or_default() / mean.max(1.0);
            rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length))
        })
    }

    pub(super) fn tf_idf(&self, query: &str) -> Vec<usize> {
        self.rank(query, &|doc, count, holders| {
            let rarity = (real(self.lengths.len() + 1) / (holders + 1.0)).ln() + 1.0;
            rarity * rarity * count / self.norms.get(doc).copied().unwrap_or(1.0).max(1e-9)
        })
    }

    fn rank(&self, query: &str, worth: &dyn Fn(usize, f64, f64) -> f64) -> Vec<usize> {
        let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
        for word in words(query) {
            let found = self.postings.get(&word).map(Vec::as_slice).unwrap_or_default();
            for (doc, count) in found {
                *scores.entry(*doc).or_default() += worth(*doc, *count, real(found.len()));
            }
        }
        let mut order: Vec<(usize, f64)> = scores.into_iter().collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        order.into_iter().take(10).map(|(doc, _)| doc).collect()
    }
}

/// SQLite's FTS5 with its own tokenizer and ranking, words joined by OR.
pub(super) struct Fts5 {
    runtime: Runtime,
    connection: SqliteConnection,
}

impl Fts5 {
    pub(super) fn new(tools: &[&Tool]) -> Outcome<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let connection = runtime.block_on(async {
            let mut connection = SqliteConnection::connect("sqlite::memory:").await?;
            sqlx::query("CREATE VIRTUAL TABLE tools USING fts5(name, description, rest)")
                .execute(&mut connection)
                .await?;
            let mut writing = connection.begin().await?;
            for (doc, tool) in tools.iter().enumerate() {
                sqlx::query(
                    "INSERT INTO tools(rowid, name, description, rest) VALUES (?, ?, ?, ?)",
                )
                .bind(i64::try_from(doc).unwrap_or(i64::MAX))
                .bind(&tool.name)
                .bind(&tool.description)
                .bind(tool.text())
                .execute(&mut *writing)
                .await?;
            }
            writing.commit().await?;
            Ok::<_, sqlx::Error>(connection)
        })?;
        Ok(Self { runtime, connection })
    }

    pub(super) fn rank(&mut self, query: &str) -> Vec<usize> {
        let quoted =
            words(query).map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ");
        if quoted.is_empty() {
            return Vec::new();
        }
        let asked = sqlx::query(
            "SELECT rowid FROM tools WHERE tools MATCH ? ORDER BY rank, rowid LIMIT 10",
        );
        let rows = self.runtime.block_on(asked.bind(quoted).fetch_all(&mut self.connection));
        let numbers = rows.into_iter().flatten().filter_map(|row| row.try_get::<i64, _>(0).ok());
        numbers.filter_map(|number| usize::try_from(number).ok()).collect()
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let runs = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    runs.filter(|run| !run.is_empty()).map(str::to_lowercase)
}

fn tf_idf_rarity(count: usize, holders: usize) -> f64 {
    (real(count + 1) / (real(holders) + 1.0)).ln() + 1.0
}

/// In order of the words, so that sums come out the same every time.
fn sorted(postings: &HashMap<String, Vec<(usize, f64)>>) -> Vec<&Vec<(usize, f64)>> {
    let mut keys: Vec<&String> = postings.keys().collect();
    keys.sort_unstable();
    keys.into_iter().filter_map(|key| postings.get(key)).collect()
}
