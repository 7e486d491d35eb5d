//! Signed words about the chain, in the database and in a file beside it.
//!
//! Cutting off the newest entries leaves a sound chain, and whoever can write the database could
//! compute it anew. A checkpoint says what the head was, under a key the database does not have.

mod beside;
mod outlived;

use model::{Code, Fault, Timestamp};
use serde::{Deserialize, Serialize};

use crate::database::{Connection, broken};
use crate::seal::{PublicKey, Seal};
use crate::store::Store;
use crate::writer::{Write, WriteError};
use crate::{chain, failpoint};

pub use beside::FILE;

/// What a checkpoint says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// Entry `seq` had this hash.
    Checkpoint,
    /// So it had, and everything up to it was removed for its age.
    Purge,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub kind: Word,
    pub seq: i64,
    pub hash: String,
    pub at: Timestamp,
    pub key_id: String,
    pub signature: String,
}

impl Store {
    /// Signs the head, if it has moved since the last checkpoint.
    pub async fn checkpoint(&self) -> Result<Option<Checkpoint>, Fault> {
        let (head, last) = {
            let mut reader = self.reader_of_entries().await?;
            let last: Option<i64> = sqlx::query_scalar("SELECT MAX(seq) FROM checkpoints")
                .fetch_one(&mut *reader)
                .await
                .map_err(broken)?;
            (chain::head(&mut reader).await.map_err(broken)?, last)
        };
        if last.is_some_and(|last| head.seq <= last) || head.seq == 0 {
            return Ok(None);
        }
        let signed = self.sign(Word::Checkpoint, head.seq, head.hash)?;
        self.write(Signed(signed.clone())).await?;
        self.note(&signed)?;
        Ok(Some(signed))
    }

    /// All of them, oldest first.
    pub async fn checkpoints(&self) -> Result<Vec<Checkpoint>, Fault> {
        let mut reader = self.reader().await?;
        all(&mut reader).await
    }

    pub(crate) fn sign(&self, kind: Word, seq: i64, hash: String) -> Result<Checkpoint, Fault> {
        let seal = Seal::of(self.dir())
            .map_err(|error| Fault::internal(format!("checkpoint: {error}")))?;
        let at = self.now();
        let signature = seal.sign(&words(kind, seq, &hash, at));
        Ok(Checkpoint { kind, seq, hash, at, key_id: seal.key_id, signature })
    }

    /// Adds the line to the file beside the database.
    pub(crate) fn note(&self, checkpoint: &Checkpoint) -> Result<(), Fault> {
        beside::append(self.dir(), checkpoint).map_err(|error| {
            Fault::new(Code::StoreUnavailable, "a checkpoint could not be noted in the data folder")
                .logging(error)
        })
    }
}

impl Checkpoint {
    /// Whether this key says so. A key that did not sign it says nothing either way.
    pub fn is_signed_by(&self, key: &PublicKey) -> Option<bool> {
        let words = words(self.kind, self.seq, &self.hash, self.at);
        (key.key_id() == self.key_id).then(|| key.has_signed(&words, &self.signature))
    }
}

pub(crate) async fn all(connection: &mut Connection) -> Result<Vec<Checkpoint>, Fault> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT kind, seq, hash, at, key_id, signature FROM checkpoints ORDER BY seq, kind",
    )
    .fetch_all(connection)
    .await
    .map_err(broken)?;
    rows.into_iter().map(Row::checkpoint).collect()
}

pub(crate) async fn insert(
    connection: &mut Connection,
    checkpoint: &Checkpoint,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO checkpoints (kind, seq, hash, at, key_id, signature) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (kind, seq) DO NOTHING",
    )
    .bind(crate::word::write(&checkpoint.kind))
    .bind(checkpoint.seq)
    .bind(&checkpoint.hash)
    .bind(checkpoint.at.as_millis())
    .bind(&checkpoint.key_id)
    .bind(&checkpoint.signature)
    .execute(connection)
    .await?;
    Ok(())
}

fn words(kind: Word, seq: i64, hash: &str, at: Timestamp) -> String {
    let kind = crate::word::write(&kind);
    format!("toolgate.checkpoint.v1\n{kind}\n{seq}\n{hash}\n{}", at.as_millis())
}

struct Signed(Checkpoint);

impl Write for Signed {
    type Done = ();
    const UNWRITTEN: &'static str = "a checkpoint could not be stored";
    const REFUSES_FIRST: bool = true;

    async fn write(&self, connection: &mut Connection, _now: Timestamp) -> Result<(), WriteError> {
        insert(connection, &self.0).await?;
        failpoint::write("checkpoint.stored")?;
        Ok(())
    }
}

#[derive(sqlx::FromRow)]
struct Row {
    kind: String,
    seq: i64,
    hash: String,
    at: i64,
    key_id: String,
    signature: String,
}

impl Row {
    fn checkpoint(self) -> Result<Checkpoint, Fault> {
        let Self { kind, seq, hash, at, key_id, signature } = self;
        let (kind, at) = (crate::word::read(kind)?, Timestamp::from_millis(at));
        Ok(Checkpoint { kind, seq, hash, at, key_id, signature })
    }
}
