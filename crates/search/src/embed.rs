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
    /// The length of each behind its head.
    rests: Vec<f32>,
}

/// A query's vector, finer than a document's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needle {
    cells: Vec<i16>,
    scale: f32,
    /// The length behind the head.
    rest: f32,
}

/// One cell in so many belongs to the head, which is looked at first.
const HEAD_SHARE: usize = 4;

impl Vectors {
    pub(crate) fn new(dims: usize, count: usize) -> Self {
        let cells = Vec::with_capacity(dims * count);
        let (scales, rests) = (Vec::with_capacity(count), Vec::with_capacity(count));
        Self { dims, cells, scales, rests }
    }

    pub(crate) fn push(&mut self, vector: &[f32]) {
        let (cells, scale) = quantise(vector);
        self.rests.push(rest(&cells, scale));
        self.cells.extend(cells);
        self.scales.push(scale);
    }

    pub(crate) fn dims(&self) -> usize {
        self.dims
    }

    pub(crate) fn len(&self) -> usize {
        self.scales.len()
    }

    /// Each document's cells with what one is worth, in order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&[i8], f32)> {
        self.cells.chunks_exact(self.dims.max(1)).zip(self.scales.iter().copied())
    }

    /// The cosine of one document with the query.
    pub(crate) fn cosine(&self, doc: usize, needle: &Needle) -> f32 {
        self.get(doc).map_or(0.0, |row| needle.cosine(row))
    }

    /// The same, or nothing where its head shows that it is less.
    pub(crate) fn cosine_from(&self, doc: usize, needle: &Needle, least: f32) -> Option<f32> {
        /// More than rounding makes of sums of squares.
        const ROUNDING: f32 = 1e-3;
        let ((cells, scale), rest) = self.get(doc).zip(self.rests.get(doc))?;
        let head = cells.len() / HEAD_SHARE;
        let (front, back) = cells.split_at_checked(head)?;
        let (needle_front, needle_back) = needle.cells.split_at_checked(head)?;
        let begun = sum(front, needle_front);
        // No two directions agree better than the same ones.
        let most = real(begun) * scale * needle.scale + rest * needle.rest + ROUNDING;
        if most < least {
            return None;
        }
        Some(real(begun.wrapping_add(sum(back, needle_back))) * scale * needle.scale)
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
            return Self { cells: vec![0; vector.len()], ..Self::default() };
        }
        let steps = steps(vector.len());
        #[expect(clippy::cast_possible_truncation, reason = "scaled to fit")]
        let cells: Vec<i16> = vector.iter().map(|x| (x / largest * steps).round() as i16).collect();
        let (scale, rest) = (largest / steps, rest(&cells, largest / steps));
        Self { cells, scale, rest }
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

/// How long a vector is behind its head.
fn rest<T: Copy + Into<f32>>(cells: &[T], scale: f32) -> f32 {
    let rest = cells.iter().skip(cells.len() / HEAD_SHARE).map(|cell| -> f32 { (*cell).into() });
    rest.fold(0.0, |total, cell| total + cell * cell).sqrt() * scale
}

fn dot(cells: &[i8], needle: &[i16]) -> f32 {
    real(sum(cells, needle))
}

#[expect(clippy::cast_precision_loss, reason = "a float's rounding is the same everywhere")]
fn real(sum: i32) -> f32 {
    sum as f32
}

/// In runs of one known length, which the compiler turns into a few wide instructions each; of the
/// lengths that were measured this one came out best.
fn sum(cells: &[i8], needle: &[i16]) -> i32 {
    let ((a, a_rest), (b, b_rest)) = (cells.as_chunks::<32>(), needle.as_chunks::<32>());
    let mut sum = 0_i32;
    for (a, b) in a.iter().zip(b) {
        sum = sum.wrapping_add(products(a, b));
    }
    // INVARIANT: `steps` keeps the sum within 32 bits.
    sum.wrapping_add(products(a_rest, b_rest))
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

        #[test]
        fn a_cosine_is_given_up_only_below_what_is_asked(
            one in prop::collection::vec(-1.0_f32..1.0, 16),
            other in prop::collection::vec(-1.0_f32..1.0, 16),
            least in -1.0_f32..1.0,
        ) {
            let (one, needle) = (unit(one), Needle::new(&unit(other)));
            let mut vectors = Vectors::new(one.len(), 1);
            vectors.push(&one);
            let whole = vectors.cosine(0, &needle);
            match vectors.cosine_from(0, &needle, least) {
                Some(cosine) => prop_assert_eq!(cosine.to_bits(), whole.to_bits()),
                None => prop_assert!(whole < least),
            }
        }
    }
}
