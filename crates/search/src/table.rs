//! A static embedding table: one small vector a token, the built-in one or one in the model2vec
//! format. Bytes come from the caller; an endpoint that embeds is another crate's work.

use std::sync::{Arc, LazyLock};

use serde_json::Value;
use thiserror::Error;

use crate::embed::embed;
use crate::limits;
use crate::spelling::Spellings;
use crate::wordpiece::Vocabulary;

mod tensors;

use tensors::Tensors;

#[derive(Debug, Error, PartialEq, Eq)]
#[error("{0}; expected a model2vec folder: `model.safetensors` and a WordPiece `tokenizer.json`")]
pub struct TableError(pub(crate) String);

#[derive(Debug, Default)]
pub struct Table {
    pub(crate) vocabulary: Vocabulary,
    pub(crate) dims: usize,
    cells: Vec<i8>,
    /// The row of each token.
    places: Vec<usize>,
    /// Per token: what a cell is worth, times its weight.
    worth: Vec<f32>,
    spellings: Spellings,
}

impl Table {
    /// The table compiled into the binary.
    pub fn builtin() -> Arc<Self> {
        static BUILTIN: LazyLock<Arc<Table>> = LazyLock::new(|| {
            let vocabulary = include_str!("../model/vocab.txt").lines().zip(0_u32..);
            let tensors = include_bytes!("../model/model.safetensors");
            // A test proves these bytes good; an empty table would leave ranking to words alone.
            let table = Table::new(tensors, Vocabulary::new(vocabulary)).unwrap_or_default();
            let spellings = Spellings::new(table.vocabulary.words());
            Arc::new(Table { spellings, ..table })
        });
        Arc::clone(&BUILTIN)
    }

    /// Reads what a model2vec folder holds.
    pub fn from_model2vec(safetensors: &[u8], tokenizer_json: &[u8]) -> Result<Self, TableError> {
        let tokenizer: Value = serde_json::from_slice(tokenizer_json)
            .map_err(|error| TableError(format!("`tokenizer.json` is no JSON: {error}")))?;
        let pieces = pieces(&tokenizer)?;
        let rows = pieces
            .iter()
            .filter_map(|(piece, row)| Some((piece.as_str(), u32::try_from(row.as_u64()?).ok()?)));
        // In this format a word without pieces counts as not there.
        Self::new(safetensors, Vocabulary::new(rows).without_unknown())
    }

    /// The vector of a text, of length one; of zeros where no word is known.
    pub fn embed(&self, text: &str) -> Vec<f32> {
        embed(self, std::iter::once((text, 1.0)))
    }

    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Whether a lower-case word stands in the table as one piece.
    pub(crate) fn knows(&self, word: &str) -> bool {
        self.vocabulary.knows(word)
    }

    /// Words of the built-in table one slip away from this one, the most common first.
    pub(crate) fn near(&self, word: &str) -> Vec<&str> {
        let mut near = self.spellings.near(word);
        near.sort_by_key(|other| self.vocabulary.row(other));
        near
    }

    /// Adds a text's tokens to a sum, each `weight` times.
    pub(crate) fn add(&self, text: &str, weight: f32, sum: &mut [f32]) {
        self.add_rows(&self.vocabulary.rows(text), weight, sum);
    }

    pub(crate) fn add_rows(&self, rows: &[u32], weight: f32, sum: &mut [f32]) {
        for row in rows {
            let Some((cells, worth)) = self.row(*row) else { continue };
            let worth = worth * weight;
            for (total, cell) in sum.iter_mut().zip(cells) {
                *total += worth * f32::from(*cell);
            }
        }
    }

    fn new(safetensors: &[u8], vocabulary: Vocabulary) -> Result<Self, TableError> {
        let tensors = Tensors::read(safetensors)?;
        let (rows, dims) = tensors.shape("embeddings")?;
        let (cells, scales) = tensors.cells("embeddings", dims)?;
        let scales = tensors.floats("scales")?.unwrap_or(scales);
        let places = tensors.places("mapping")?.unwrap_or_else(|| (0..rows).collect());
        let weights = tensors.floats("weights")?.unwrap_or_else(|| vec![1.0; places.len()]);
        let fits = cells.len() == rows.saturating_mul(dims)
            && scales.len() == rows
            && weights.len() == places.len()
            && places.iter().all(|place| *place < rows);
        if !(1..=limits::DIMS_MAX).contains(&dims) || !fits {
            return Err(TableError("the tensors' shapes do not fit each other".to_owned()));
        }
        let scale = |place: &usize| scales.get(*place).copied().unwrap_or_default();
        let worth = places.iter().zip(&weights).map(|(at, weight)| scale(at) * weight).collect();
        let spellings = Spellings::default();
        Ok(Self { vocabulary, dims, cells, places, worth, spellings })
    }

    fn row(&self, token: u32) -> Option<(&[i8], f32)> {
        let token = usize::try_from(token).ok()?;
        let start = self.places.get(token)?.checked_mul(self.dims)?;
        Some((self.cells.get(start..start.checked_add(self.dims)?)?, *self.worth.get(token)?))
    }
}

/// The vocabulary, if texts are cut up as we do it.
fn pieces(tokenizer: &Value) -> Result<&serde_json::Map<String, Value>, TableError> {
    let word = |pointer: &str| tokenizer.pointer(pointer).and_then(Value::as_str);
    let kind = word("/model/type").unwrap_or("WordPiece");
    let pieces = tokenizer.pointer("/model/vocab").and_then(Value::as_object);
    let Some(pieces) = pieces.filter(|_| kind == "WordPiece") else {
        return Err(TableError("`tokenizer.json` has no WordPiece vocabulary".to_owned()));
    };
    if tokenizer.pointer("/normalizer/lowercase") == Some(&Value::Bool(false)) {
        return Err(TableError("`tokenizer.json` tells upper from lower case".to_owned()));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests;
