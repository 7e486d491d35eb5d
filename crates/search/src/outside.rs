//! Meanings that others made, put on the scale of the built-in table's.
//!
//! Cosines of one model lie between 0.7 and 0.9, of another around 0.2. What ranking needs is which
//! documents stand out, so their mean and spread over what the caller may see are made those the
//! built-in table has for the same query; then one set of weights holds for all.

use crate::embed::{Needle, unit};
use crate::index::Index;
use crate::part::real;
use crate::sight::Sight;

/// The likeness of every document to a vector from elsewhere; nothing where the index has no
/// meanings of that length.
pub(crate) fn from_outside(
    index: &Index,
    sight: &Sight,
    vector: &[f32],
    own: &[f32],
) -> Option<Vec<f32>> {
    let outside = index.outside.as_ref().filter(|outside| outside.dims() == vector.len())?;
    if vector.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let needle = Needle::new(&unit(vector.to_vec()));
    if needle.is_nothing() {
        return None;
    }
    let cosines: Vec<f32> = outside.cosines(&needle).collect();
    let (theirs, ours) = (Spread::of(&cosines, sight), Spread::of(own, sight));
    if theirs.width <= f32::EPSILON {
        return None;
    }
    // A query the table knows nothing of has no spread of its own.
    let stretch = ours.width.max(WIDTH_MIN) / theirs.width;
    Some(
        cosines.iter().map(|x| (ours.mean + (x - theirs.mean) * stretch).clamp(0.0, 1.0)).collect(),
    )
}

/// Half of what queries of the shared sets have at the median.
const WIDTH_MIN: f32 = 0.06;

struct Spread {
    mean: f32,
    width: f32,
}

impl Spread {
    fn of(values: &[f32], sight: &Sight) -> Self {
        let seen = || values.iter().zip(sight.all()).filter(|(_, seen)| **seen).map(|(x, _)| *x);
        let count = real(sight.count.max(1));
        let mean = seen().fold(0.0, |sum, x| sum + x) / count;
        let square = seen().fold(0.0, |sum, x| sum + (x - mean) * (x - mean)) / count;
        Self { mean, width: square.sqrt() }
    }
}
