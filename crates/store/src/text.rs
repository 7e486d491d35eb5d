//! A text on its way into a column: written once, and shared from then on.
//!
//! sqlx's `Any` copies each text twice before SQLite copies it a third time; to SQLite itself a text
//! goes as it is.

use std::sync::Arc;

use sqlx::any::AnyTypeInfo;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::sqlite::SqliteTypeInfo;
use sqlx::{Any, Database, Encode, Sqlite, Type};

#[derive(Clone, Debug)]
pub(crate) enum Text {
    Shared(Arc<str>),
    /// A word of ours.
    Word(&'static str),
}

impl Text {
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Shared(text) => text,
            Self::Word(word) => word,
        }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text {}

impl<T: Into<Arc<str>>> From<T> for Text {
    fn from(text: T) -> Self {
        Self::Shared(text.into())
    }
}

impl Type<Any> for Text {
    fn type_info() -> AnyTypeInfo {
        <str as Type<Any>>::type_info()
    }
}

impl Encode<'_, Any> for Text {
    fn encode_by_ref(
        &self,
        buffer: &mut <Any as Database>::ArgumentBuffer,
    ) -> Result<IsNull, BoxDynError> {
        <&str as Encode<'_, Any>>::encode(self.as_str(), buffer)
    }
}

impl Type<Sqlite> for Text {
    fn type_info() -> SqliteTypeInfo {
        <str as Type<Sqlite>>::type_info()
    }
}

impl Encode<'_, Sqlite> for Text {
    fn encode(
        self,
        buffer: &mut <Sqlite as Database>::ArgumentBuffer,
    ) -> Result<IsNull, BoxDynError> {
        match self {
            Self::Shared(text) => <Arc<str> as Encode<'_, Sqlite>>::encode(text, buffer),
            Self::Word(word) => <&str as Encode<'_, Sqlite>>::encode(word, buffer),
        }
    }

    fn encode_by_ref(
        &self,
        buffer: &mut <Sqlite as Database>::ArgumentBuffer,
    ) -> Result<IsNull, BoxDynError> {
        <Self as Encode<'_, Sqlite>>::encode(self.clone(), buffer)
    }
}
