//! Where in a result the fields stood that are read out of it, so that it is written as it came.

use serde_json::{Map, Value};

/// The places of `content`, `structuredContent` and `isError` among all fields; none where there was
/// no such field. How something was written is no part of what it says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places {
    pub(super) content: Place,
    pub(super) structured: Place,
    pub(super) error: Place,
}

/// One more than the place, or 0: every answer carries three of these. No object has more keys.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place(u16);

impl Place {
    fn at(place: usize) -> Self {
        Self(u16::try_from(place + 1).unwrap_or_default())
    }

    pub(super) fn get(self) -> Option<u16> {
        self.0.checked_sub(1)
    }
}

impl PartialEq for Places {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Places {
    pub(super) fn of(result: &Map<String, Value>) -> Self {
        let mut places = Self::default();
        for (at, key) in result.keys().enumerate() {
            match key.as_str() {
                "content" => places.content = Place::at(at),
                "structuredContent" => places.structured = Place::at(at),
                "isError" => places.error = Place::at(at),
                _ => {}
            }
        }
        places
    }
}

/// All fields in their order: first those without a place, then the others among the rest.
pub(super) fn ordered<T>(
    mut placed: Vec<(Option<u16>, T)>,
    mut rest: impl Iterator<Item = T>,
) -> impl Iterator<Item = T> {
    // Stable, and what has no place comes first.
    placed.sort_by_key(|(place, _)| *place);
    let mut placed = placed.into_iter().peekable();
    let mut at: u16 = 0;
    std::iter::from_fn(move || {
        if let Some((_, field)) = placed.next_if(|(place, _)| place.is_none()) {
            return Some(field);
        }
        let due = placed.next_if(|(place, _)| place.is_some_and(|place| place <= at));
        at = at.saturating_add(1);
        let field = due.map(|(_, field)| field).or_else(|| rest.next());
        field.or_else(|| placed.next().map(|(_, field)| field))
    })
}
