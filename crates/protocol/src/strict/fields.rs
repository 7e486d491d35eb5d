//! The fields of an object that is taken apart as soon as it is read.
//!
//! They stand in order and unhashed while they are few: most are looked for once and then gone, and
//! a table of them would cost more than it finds.

use serde::de::MapAccess;
use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::{Bounds, check_key, duplicate};

/// More than so many are hashed, lest a long object be compared with itself again and again.
const FEW_MAX: usize = 8;

/// INVARIANT: one of the two is empty, and no two fields have one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    few: Vec<(String, Value)>,
    many: Map<String, Value>,
}

impl Fields {
    pub(crate) fn read<'de, A: MapAccess<'de>>(
        within: Bounds<'_>,
        mut entries: A,
    ) -> Result<Self, A::Error> {
        let mut fields = Self::default();
        while let Some(key) = entries.next_key::<String>()? {
            check_key(fields.len(), &key)?;
            let place = fields.place(key).map_err(|key| duplicate(&key))?;
            *place = entries.next_value_seed(within.seed())?;
        }
        Ok(fields)
    }

    /// Where the value of a new field goes; or its name, where there is one of that name.
    fn place(&mut self, key: String) -> Result<&mut Value, String> {
        if self.few.len() == FEW_MAX {
            self.many.extend(self.few.drain(..));
        }
        if self.many.is_empty() {
            if self.get(&key).is_some() {
                return Err(key);
            }
            return Ok(&mut self.few.push_mut((key, Value::Null)).1);
        }
        match self.many.entry(key) {
            Entry::Vacant(place) => Ok(place.insert(Value::Null)),
            Entry::Occupied(first) => Err(first.key().clone()),
        }
    }

    fn len(&self) -> usize {
        self.few.len() + self.many.len()
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        let few = self.few.iter().find(|field| field.0 == key);
        few.map_or_else(|| self.many.get(key), |(_, value)| Some(value))
    }

    /// Takes one out; the others keep their order.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        let few = self.few.iter().position(|field| field.0 == key);
        few.map_or_else(|| self.many.shift_remove(key), |at| Some(self.few.remove(at).1))
    }

    /// What is left of them.
    pub(crate) fn into_map(self) -> Map<String, Value> {
        if self.few.is_empty() { self.many } else { self.few.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strict::{self, Made};
    use proptest::prelude::*;

    /// Fields where there is an object.
    struct Apart(Option<Fields>);

    impl Made for Apart {
        fn plain(_: Value) -> Self {
            Self(None)
        }

        fn object<'de, A: MapAccess<'de>>(
            within: Bounds<'_>,
            entries: A,
        ) -> Result<Self, A::Error> {
            Fields::read(within, entries).map(|fields| Self(Some(fields)))
        }
    }

    fn fields(text: &str) -> Result<Fields, String> {
        let read = strict::read::<Apart>(text.as_bytes()).map_err(|error| error.to_string())?;
        read.value.0.ok_or_else(|| "no object".to_owned())
    }

    proptest! {
        /// Few or many, they are what the object is, and refused for the same reasons.
        #[test]
        fn fields_are_those_of_the_object(
            keys in proptest::collection::vec("[a-e]{1,2}", 0..24),
            taken in "[a-e]{1,2}",
        ) {
            let body = keys.iter().enumerate().map(|(at, key)| format!("\"{key}\":[{at}]"));
            let text = format!("{{{}}}", body.collect::<Vec<_>>().join(","));
            match (fields(&text), strict::parse(text.as_bytes())) {
                (Ok(mut fields), Ok(Value::Object(mut object))) => {
                    prop_assert_eq!(fields.len(), object.len());
                    prop_assert_eq!(fields.get(&taken), object.get(&taken));
                    prop_assert_eq!(fields.take(&taken), object.shift_remove(&taken));
                    let (fields, object) = (Value::from(fields.into_map()), Value::from(object));
                    prop_assert_eq!(fields.to_string(), object.to_string());
                }
                (Err(fields), Err(object)) => prop_assert_eq!(fields, object.to_string()),
                (fields, object) => panic!("{fields:?} {object:?}"),
            }
        }
    }
}
