//! Meaning as a small vector: texts into int8, and the dot products of a query with all of them.
//!
//! The dot product is over integers, so its result does not hang on the order of summation; the
//! loops are plain so that the compiler turns them into vector instructions of any machine.

use crate::table::Table;

/// Vectors of the documents. Their beginnings lie together, apart from the rest: most documents are
/// told by them alone, and what is not read need not come from memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vectors {
    dims: usize,
    heads: Vec<i8>,
    tails: Vec<i8>,
    worths: Vec<Worth>,
}

#[derive(Clone, Copy, Debug)]
struct Worth {
    /// Of one step.
    scale: f32,
    /// The length of the tail.
    rest: f32,
}

/// One document's vector.
#[derive(Clone, Copy)]
pub(crate) struct Row<'v> {
    head: &'v [i8],
    tail: &'v [i8],
    worth: Worth,
}

/// A query's vector, finer than a document's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needle {
    cells: Vec<i16>,
    scale: f32,
    rest: f32,
}

impl Vectors {
    pub(crate) fn new(dims: usize, count: usize) -> Self {
        let (head, tail) = (head(dims), dims - head(dims));
        Self {
            dims,
            heads: Vec::with_capacity(head * count),
            tails: Vec::with_capacity(tail * count),
            worths: Vec::with_capacity(count),
        }
    }

    pub(crate) fn push(&mut self, vector: &[f32]) {
        let (cells, scale) = quantise(vector);
        let (head, tail) = cells.split_at(head(cells.len()));
        self.heads.extend(head);
        self.tails.extend(tail);
        self.worths.push(Worth { scale, rest: length(tail) * scale });
    }

    pub(crate) fn dims(&self) -> usize {
        self.dims
    }

    /// Each document's, in order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.worths.len()).filter_map(|doc| self.get(doc))
    }

    /// The cosine of one document with the query.
    pub(crate) fn cosine(&self, doc: usize, needle: &Needle) -> f32 {
        self.get(doc).map_or(0.0, |row| needle.cosine(row))
    }

    /// The cosine of one of these with one of others.
    pub(crate) fn between(&self, one: usize, others: &Self, other: usize) -> f32 {
        let Some((a, b)) = self.get(one).zip(others.get(other)) else { return 0.0 };
        let wide = |cells: &[i8]| cells.iter().map(|cell| i16::from(*cell)).collect::<Vec<_>>();
        let sum = dot(a.head, &wide(b.head)).wrapping_add(dot(a.tail, &wide(b.tail)));
        real(sum) * a.worth.scale * b.worth.scale
    }

    #[inline]
    fn get(&self, doc: usize) -> Option<Row<'_>> {
        let head = head(self.dims);
        Some(Row {
            head: row(&self.heads, head, doc)?,
            tail: row(&self.tails, self.dims - head, doc)?,
            worth: *self.worths.get(doc)?,
        })
    }
}

/// The cells of one document among those of all, so many each.
#[inline]
fn row(cells: &[i8], each: usize, doc: usize) -> Option<&[i8]> {
    let start = doc.checked_mul(each)?;
    cells.get(start..start.checked_add(each)?)
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
        let scale = largest / steps;
        let rest = length(cells.get(head(cells.len())..).unwrap_or_default()) * scale;
        Self { cells, scale, rest }
    }

    pub(crate) fn cosine(&self, row: Row<'_>) -> f32 {
        let (head, tail) = self.cells.split_at(row.head.len().min(self.cells.len()));
        self.worth(dot(row.head, head).wrapping_add(dot(row.tail, tail)), row)
    }

    /// What the cosine with each of these can be at most, by their beginnings and how much is left:
    /// two rests have no larger product than their lengths have.
    pub(crate) fn at_most(&self, vectors: &Vectors, bounds: &mut Vec<f32>) {
        const ROUNDING: f32 = 1e-3;
        let left = |worth: &Worth| worth.rest * self.rest + ROUNDING;
        bounds.clear();
        let (heads, _) = vectors.heads.as_chunks::<HEAD>();
        match self.cells.first_chunk::<HEAD>() {
            Some(own) => bounds.extend(heads.iter().zip(&vectors.worths).map(|(head, worth)| {
                real(dot(head, own)) * worth.scale * self.scale + left(worth)
            })),
            None => bounds.extend(vectors.worths.iter().map(left)),
        }
    }

    fn worth(&self, sum: i32, row: Row<'_>) -> f32 {
        real(sum) * row.worth.scale * self.scale
    }
}

/// The beginning of a vector, which holds most of it: a table's dimensions lie in the order of what
/// they tell.
const HEAD: usize = 64;

const fn head(dims: usize) -> usize {
    if dims < HEAD { 0 } else { HEAD }
}

fn length<T: Copy + Into<f32>>(cells: &[T]) -> f32 {
    let squares = cells.iter().map(|cell| (*cell).into()).map(|x: f32| x * x);
    squares.fold(0.0, |total, square| total + square).sqrt()
}

/// Rounds the same everywhere.
#[expect(clippy::cast_precision_loss, reason = "a cosine needs no more")]
const fn real(sum: i32) -> f32 {
    sum as f32
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
#[inline]
fn dot(cells: &[i8], needle: &[i16]) -> i32 {
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
            prop_assert_eq!(i64::from(dot(&a, &b)), sum);
        }

        #[test]
        fn no_cosine_is_more_than_its_beginning_lets_it_be(
            cells in prop::collection::vec((-1.0_f32..1.0, -1.0_f32..1.0), 1..300),
        ) {
            let (document, query): (Vec<f32>, Vec<f32>) = cells.into_iter().unzip();
            let mut vectors = Vectors::new(document.len(), 2);
            vectors.push(&unit(query.clone()));
            vectors.push(&unit(document));
            let needle = Needle::new(&unit(query));
            let mut bounds = vec![7.0];
            needle.at_most(&vectors, &mut bounds);
            prop_assert_eq!(bounds.len(), 2);
            for (doc, bound) in bounds.into_iter().enumerate() {
                let cosine = vectors.cosine(doc, &needle);
                prop_assert!(cosine <= bound, "{} is more than {}", cosine, bound);
            }
        }
    }
}
