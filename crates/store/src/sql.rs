//! Statements put together from parts. Values travel as parameters, never as text.

use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::{Query, QueryAs};
use sqlx::{Any, Arguments as _, AssertSqlSafe, Encode, Type};

pub(crate) struct Sql {
    text: String,
    arguments: AnyArguments,
}

impl Sql {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), arguments: AnyArguments::default() }
    }

    pub(crate) fn push(&mut self, text: &'static str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Adds the next parameter: its place to the text, its value beside it.
    pub(crate) fn bind<'t, T: Encode<'t, Any> + Type<Any>>(&mut self, value: T) -> &mut Self {
        // INVARIANT: texts and whole numbers, all that is bound here, can always be encoded.
        if let Err(error) = self.arguments.add(value) {
            tracing::error!(%error, "a value could not be bound");
        }
        self.text.push('$');
        self.text.push_str(&self.arguments.len().to_string());
        self
    }

    pub(crate) fn rows<T: for<'r> sqlx::FromRow<'r, AnyRow>>(
        self,
    ) -> QueryAs<'static, Any, T, AnyArguments> {
        sqlx::query_as_with(AssertSqlSafe(self.text), self.arguments)
    }

    pub(crate) fn query(self) -> Query<'static, Any, AnyArguments> {
        sqlx::query_with(AssertSqlSafe(self.text), self.arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_never_become_text() {
        let mut sql = Sql::new("SELECT 1 WHERE a = ");
        sql.bind("x' OR 1=1 --").push(" AND b = ").bind(2_i64);
        assert_eq!(sql.text, "SELECT 1 WHERE a = $1 AND b = $2");
        assert_eq!(sql.arguments.len(), 2);
    }
}
