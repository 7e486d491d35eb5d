//! Meaning as a small vector: texts into int8, and the dot products of a query with all of them.
//!
//! The dot product is over integers, so its result does not hang on the order of summation; the
//! loops are plain so that the compiler turns them into vector instructions of any machine.

use crate::table::Table;

/// Vectors of the documents, one after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vectors {
    dims: usize,
    cells: Vec<i8>,
    scales: Vec<f32>,
}

/// A query's vector, finer than a document's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needle {
    cells: Vec<i16>,
    scale: f32,
}

impl Vectors {
    pub(crate) fn new(dims: usize, count: usize) -> Self {
        let cells = Vec::with_capacity(dims * count);
        Self { dims, cells, scales: Vec::with_capacity(count) }
    }

    pub(crate) fn push(&mut self, vector: &[f32]) {
        let (cells, scale) = quantise(vector);
        self.cells.extend(cells);
        self.scales.push(scale);
    }

    pub(crate) fn dims(&self) -> usize {
        self.dims
    }

    /// Each document's cells with what one is worth, in order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&[i8], f32)> {
        self.cells.chunks_exact(self.dims.max(1)).zip(self.scales.iter().copied())
    }

    /// The cosine of one document with the query.
    pub(crate) fn cosine(&self, doc: usize, needle: &Needle) -> f32 {
        self.get(doc).map_or(0.0, |row| needle.cosine(row))
    }

    /// The cosine of one of these with one of others.
    pub(crate) fn between(&self, one: usize, others: &Self, other: usize) -> f32 {
        let Some(((a, a_scale), (b, b_scale))) = self.get(one).zip(others.get(other)) else {
            return 0.0;
        };
        let wide: Vec<i16> = b.iter().map(|cell| i16::from(*cell)).collect();
        dot(a, &wide) * a_scale * b_scale
    }

    fn get(&self, doc: usize) -> Option<(&[i8], f32)> {
        let start = doc.checked_mul(self.dims)?;
        let cells = self.cells.get(start..start.checked_add(self.dims)?)?;
        Some((cells, *self.scales.get(doc)?))
    }
}

impl Needle {
    pub(crate) fn new(vector: &[f32]) -> Self {
        let largest = largest(vector);
        if largest <= 0.0 {
            return Self { cells: vec![0; vector.len()], scale: 0.0 };
        }
        let steps = steps(vector.len());
        #[expect(clippy::cast_possible_truncation, reason = "scaled to fit")]
        let cells = vector.iter().map(|x| (x / largest * steps).round() as i16).collect();
        Self { cells, scale: largest / steps }
    }

    pub(crate) fn cosine(&self, (cells, scale): (&[i8], f32)) -> f32 {
        dot(cells, &self.cells) * scale * self.scale
    }
}

/// Weighted texts into one vector of length one, or of zeros where nothing is known.
pub(crate) fn embed<'a>(table: &Table, texts: impl Iterator<Item = (&'a str, f32)>) -> Vec<f32> {
    let mut sum = vec![0.0; table.dims];
    for (text, weight) in texts {
        table.add(text, weight, &mut sum);
    }
    unit(sum)
}

/// The vector at length one; zeros stay zeros.
pub(crate) fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().fold(0.0_f32, |total, x| total + x * x).sqrt();
    if length > 0.0 && length.is_finite() {
        for x in &mut vector {
            *x /= length;
        }
    }
    vector
}

/// 127 steps to either side, and what one is worth.
pub(crate) fn quantise(vector: &[f32]) -> (Vec<i8>, f32) {
    const STEPS: f32 = 127.0;
    let largest = largest(vector);
    if largest <= 0.0 {
        return (vec![0; vector.len()], 0.0);
    }
    #[expect(clippy::cast_possible_truncation, reason = "scaled to fit")]
    let cells = vector.iter().map(|x| (x / largest * STEPS).round() as i8).collect();
    (cells, largest / STEPS)
}

/// As fine as 16 bits allow, and as keeps the sum of so many products within 32.
fn steps(dims: usize) -> f32 {
    const FINEST: f32 = 32_767.0;
    const SUM_MAX: f32 = 2_000_000_000.0;
    (SUM_MAX / (127.0 * crate::part::real(dims.max(1)))).floor().min(FINEST)
}

fn largest(vector: &[f32]) -> f32 {
    vector.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()))
}

/// In runs of one known length, which the compiler turns into a few wide instructions each; of the
/// lengths that were measured this one came out best.
#[expect(clippy::cast_precision_loss, reason = "a float's rounding is the same everywhere")]
fn dot(cells: &[i8], needle: &[i16]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (cells.as_chunks::<32>(), needle.as_chunks::<32>());
    let mut sum = 0_i32;
    for (a, b) in a.iter().zip(b) {
        sum = sum.wrapping_add(products(a, b));
    }
    // INVARIANT: `steps` keeps the sum within 32 bits.
    sum.wrapping_add(products(a_rest, b_rest)) as f32
}

#[inline]
fn products(cells: &[i8], needle: &[i16]) -> i32 {
    let products = cells.iter().zip(needle).map(|(a, b)| i32::from(*a) * i32::from(*b));
    products.fold(0_i32, i32::wrapping_add)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_dot_product_of_any_length_is_the_plain_sum(
            cells in prop::collection::vec((any::<i8>(), -1_000_i16..1_000), 0..300),
        ) {
            let (a, b): (Vec<i8>, Vec<i16>) = cells.iter().copied().unzip();
            let sum: i64 = cells.iter().map(|(a, b)| i64::from(*a) * i64::from(*b)).sum();
            #[expect(clippy::cast_precision_loss, reason = "the dot product rounds the same way")]
            let sum = sum as f32;
            prop_assert_eq!(dot(&a, &b).to_bits(), sum.to_bits());
        }
    }
}
