//! Closed sets as words in columns: the same words as in JSON.

use model::fault::Fault;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) fn write<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        // INVARIANT: only enums without fields are written here, and those are strings in JSON.
        other => format!("{other:?}"),
    }
}

pub(crate) fn read<T: DeserializeOwned>(word: String) -> Result<T, Fault> {
    serde_json::from_value(Value::String(word))
        .map_err(|error| Fault::internal(format!("the database holds an unknown word: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ArtifactKind, Class, RecordStatus};

    #[test]
    fn words_read_back() {
        assert_eq!(write(&Class::Restricted), "restricted");
        assert_eq!(write(&RecordStatus::Open), RecordStatus::Open.as_str());
        assert_eq!(read::<ArtifactKind>("json".to_owned()).unwrap(), ArtifactKind::Json);
        assert!(read::<ArtifactKind>("jason".to_owned()).is_err());
    }
}
