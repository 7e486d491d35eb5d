//! Meanings that others made, put on the scale of the built-in table's.
//!
//! Cosines of one model lie between 0.7 and 0.9, of another around 0.2. What ranking needs is which
//! documents stand out, so mean and spread over what the caller may see are made those the built-in
//! table has; then one set of weights, and one line for "nothing fits", holds for all.

use crate::embed::{Needle, unit};
use crate::index::Index;
use crate::part::real;
use crate::sight::Sight;

/// What the built-in table's cosines have over the shared sets, at the median of the queries.
pub(crate) const MEAN: f32 = 0.15;
const WIDTH: f32 = 0.12;

/// The likeness of every document to a vector from elsewhere; nothing where the index has no
/// meanings of that length, or they tell nothing apart.
pub(crate) fn from_outside(index: &Index, sight: &Sight<'_>, vector: &[f32]) -> Option<Vec<f32>> {
    let outside = index.outside.as_ref().filter(|outside| outside.dims() == vector.len())?;
    if vector.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let needle = Needle::new(&unit(vector.to_vec()));
    let mut cosines: Vec<f32> = outside.rows().map(|row| needle.cosine(row)).collect();
    let (mean, width) = spread(&cosines, sight);
    if width <= f32::EPSILON {
        return None;
    }
    for cosine in &mut cosines {
        *cosine = (MEAN + (*cosine - mean) / width * WIDTH).clamp(0.0, 1.0);
    }
    Some(cosines)
}

fn spread(values: &[f32], sight: &Sight<'_>) -> (f32, f32) {
    let seen = || values.iter().zip(sight.all()).filter(|(_, seen)| **seen).map(|(x, _)| *x);
    let count = real(sight.count.max(1));
    let mean = seen().fold(0.0, |sum, x| sum + x) / count;
    let square = seen().fold(0.0, |sum, x| sum + (x - mean) * (x - mean)) / count;
    (mean, square.sqrt())
}
