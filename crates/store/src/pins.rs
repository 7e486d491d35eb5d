//! Definitions of tools, prompts and resources as accepted. Whether a change matters is the catalogue's knowledge.

use model::{Fault, ItemKind, Pin, Timestamp, UpstreamName};

use crate::database::{Connection, broken};
use crate::store::Store;
use crate::writer::{Write, WriteError};

impl Store {
    /// Every pin, by upstream, kind and name.
    pub async fn pins(&self) -> Result<Vec<Pin>, Fault> {
        let mut reader = self.reader().await?;
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT upstream, kind, name, hash, definition, gone FROM pins \
             ORDER BY upstream, kind, name",
        )
        .fetch_all(&mut *reader)
        .await
        .map_err(broken)?;
        rows.into_iter().map(Row::pin).collect()
    }

    /// Changes with every acceptance: how many pins there are, and when the last was made.
    pub async fn pins_mark(&self) -> Result<(i64, i64), Fault> {
        let mut reader = self.reader().await?;
        sqlx::query_as("SELECT COUNT(*), COALESCE(MAX(pinned_at), 0) FROM pins")
            .fetch_one(&mut *reader)
            .await
            .map_err(broken)
    }

    /// Keeps these pins in the place of those they replace, all or none.
    pub async fn keep_pins(&self, pins: Vec<Pin>) -> Result<(), Fault> {
        if pins.is_empty() { Ok(()) } else { self.write(Keeping(pins)).await }
    }

    /// Forgets what is not missed any longer. A pin that is not there is no mistake.
    pub async fn drop_pins(
        &self,
        upstream: &UpstreamName,
        gone: Vec<(ItemKind, String)>,
    ) -> Result<(), Fault> {
        self.write(Dropping { upstream: upstream.clone(), gone }).await
    }
}

struct Keeping(Vec<Pin>);

impl Write for Keeping {
    type Done = ();
    const UNWRITTEN: &'static str = "the accepted definitions could not be kept";

    async fn write(&self, connection: &mut Connection, now: Timestamp) -> Result<(), WriteError> {
        for pin in &self.0 {
            sqlx::query(
                "INSERT INTO pins (upstream, kind, name, hash, definition, gone, pinned_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7) \
                 ON CONFLICT (upstream, kind, name) DO UPDATE SET hash = excluded.hash, \
                 definition = excluded.definition, gone = excluded.gone, \
                 pinned_at = excluded.pinned_at",
            )
            .bind(pin.upstream.as_str())
            .bind(pin.kind.as_str())
            .bind(&pin.name)
            .bind(&pin.hash)
            .bind(pin.definition.to_string())
            .bind(i64::from(pin.gone))
            .bind(now.as_millis())
            .execute(&mut *connection)
            .await?;
        }
        Ok(())
    }
}

struct Dropping {
    upstream: UpstreamName,
    gone: Vec<(ItemKind, String)>,
}

impl Write for Dropping {
    type Done = ();
    const UNWRITTEN: &'static str = "definitions could not be forgotten";

    async fn write(&self, connection: &mut Connection, _now: Timestamp) -> Result<(), WriteError> {
        for (kind, name) in &self.gone {
            sqlx::query("DELETE FROM pins WHERE upstream = $1 AND kind = $2 AND name = $3")
                .bind(self.upstream.as_str())
                .bind(kind.as_str())
                .bind(name)
                .execute(&mut *connection)
                .await?;
        }
        Ok(())
    }
}

#[derive(sqlx::FromRow)]
struct Row {
    upstream: String,
    kind: String,
    name: String,
    hash: String,
    definition: String,
    gone: i64,
}

impl Row {
    fn pin(self) -> Result<Pin, Fault> {
        let unreadable = |why: String| Fault::internal(format!("pin of `{}`: {why}", self.name));
        let definition = serde_json::from_str(&self.definition)
            .map_err(|error| unreadable(error.to_string()))?;
        let kind = ItemKind::named(&self.kind)
            .ok_or_else(|| unreadable(format!("`{}` is no kind", self.kind)))?;
        Ok(Pin {
            upstream: UpstreamName::from_string(self.upstream),
            kind,
            name: self.name,
            hash: self.hash,
            definition,
            gone: self.gone != 0,
        })
    }
}
