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

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text(Arc<str>);

impl Text {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<Arc<str>>> From<T> for Text {
    fn from(text: T) -> Self {
        Self(text.into())
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
        <&str as Encode<'_, Any>>::encode(&self.0, buffer)
    }
}

impl Type<Sqlite> for Text {
    fn type_info() -> SqliteTypeInfo {
        <str as Type<Sqlite>>::type_info()
    }
}

impl Encode<'_, Sqlite> for Text {
    fn encode_by_ref(
        &self,
        buffer: &mut <Sqlite as Database>::ArgumentBuffer,
    ) -> Result<IsNull, BoxDynError> {
        <Arc<str> as Encode<'_, Sqlite>>::encode(Arc::clone(&self.0), buffer)
    }
}
