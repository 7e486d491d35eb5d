//! A static embedding table: one small vector a token, the built-in one or one in the model2vec
//! format. Bytes come from the caller; an endpoint that embeds would be another crate's work and
//! would hand its vectors over instead of a table.

use std::sync::{Arc, LazyLock};

use serde_json::Value;
use thiserror::Error;

use crate::limits;
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
    /// Per row: what a cell is worth, times the weight of the token.
    worth: Vec<f32>,
}

impl Table {
    /// The table compiled into the binary.
    pub fn builtin() -> Arc<Self> {
        static BUILTIN: LazyLock<Arc<Table>> = LazyLock::new(|| {
            let vocabulary = include_str!("../model/vocab.txt").lines().zip(0_u32..);
            let tensors = include_bytes!("../model/model.safetensors");
            // A test proves these bytes good; an empty table would leave ranking to words alone.
            Arc::new(Table::new(tensors, Vocabulary::new(vocabulary)).unwrap_or_default())
        });
        Arc::clone(&BUILTIN)
    }

    /// Reads what a model2vec folder holds.
    pub fn from_model2vec(safetensors: &[u8], tokenizer_json: &[u8]) -> Result<Self, TableError> {
        let tokenizer: Value = serde_json::from_slice(tokenizer_json)
            .map_err(|error| TableError(format!("`tokenizer.json` is no JSON: {error}")))?;
        let pieces = tokenizer
            .pointer("/model/vocab")
            .and_then(Value::as_object)
            .ok_or_else(|| TableError("`tokenizer.json` has no WordPiece vocabulary".to_owned()))?;
        let rows = pieces
            .iter()
            .filter_map(|(piece, row)| Some((piece.as_str(), u32::try_from(row.as_u64()?).ok()?)));
        Self::new(safetensors, Vocabulary::new(rows))
    }

    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Whether a lower-case word stands in the table as one piece.
    pub(crate) fn knows(&self, word: &str) -> bool {
        self.vocabulary.knows(word)
    }

    /// Adds a text's tokens to a sum, each `weight` times.
    pub(crate) fn add(&self, text: &str, weight: f32, sum: &mut [f32]) {
        for row in self.vocabulary.rows(text) {
            let Some((cells, worth)) = self.row(row) else { continue };
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
        let weights = tensors.floats("weights")?.unwrap_or_else(|| vec![1.0; rows]);
        let fits = cells.len() == rows.saturating_mul(dims) && scales.len() == rows;
        if !(1..=limits::DIMS_MAX).contains(&dims) || !fits || weights.len() != rows {
            return Err(TableError("the tensors' shapes do not fit each other".to_owned()));
        }
        let worth = scales.iter().zip(&weights).map(|(scale, weight)| scale * weight).collect();
        Ok(Self { vocabulary, dims, cells, worth })
    }

    fn row(&self, row: u32) -> Option<(&[i8], f32)> {
        let row = usize::try_from(row).ok()?;
        let start = row.checked_mul(self.dims)?;
        Some((self.cells.get(start..start.checked_add(self.dims)?)?, *self.worth.get(row)?))
    }
}

#[cfg(test)]
mod tests;
