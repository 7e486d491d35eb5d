//! Stored bytes: kept once under their hash, found by a handle that is bound to its principal.
//!
//! A handle cannot be guessed. The seed's handles are aliases: `call_id/alias` says which call is
//! meant, and the bare alias means the newest call of the session (resolution C28).

mod keep;
mod room;

use std::time::Duration;

use bytes::Bytes;
use model::{
    ArtifactId, ArtifactKind, ArtifactRef, CallId, Class, Code, Fault, Handle, Timestamp,
    canonical, limits,
};

use crate::database::{Connection, broken};
use crate::store::Store;
use crate::{failpoint, word};
use keep::{Keep, Kept};
use room::Sweep;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewArtifact {
    pub handle: Handle,
    /// Another name for it within its call.
    pub alias: Option<Handle>,
    /// The only one who may read it by this handle.
    pub principal: String,
    pub session: Option<String>,
    pub call_id: CallId,
    pub kind: ArtifactKind,
    pub media_type: String,
    pub label: String,
    pub class: Class,
    /// Evidence of a record rests on these bytes: they are kept whatever their age.
    pub cited: bool,
    pub bytes: Bytes,
}

/// Who asks for an artifact.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    pub principal: &'a str,
    pub session: Option<&'a str>,
}

/// How much is kept, and for how long. What a record cites stays, and counts.
#[derive(Clone, Debug)]
pub struct Quotas {
    pub ttl: Duration,
    pub bytes_max: u64,
    pub count_max: u64,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            ttl: limits::ARTIFACT_TTL_DEFAULT,
            bytes_max: limits::ARTIFACT_BYTES_DEFAULT,
            count_max: limits::ARTIFACT_COUNT_DEFAULT,
        }
    }
}

impl Store {
    /// Keeps the bytes for the principal; durable when it returns. The oldest artifacts that
    /// nothing cites make room for it.
    pub async fn put_artifact(&self, new: NewArtifact) -> Result<ArtifactRef, Fault> {
        let quotas = self.quotas();
        if new.bytes.len() as u64 > quotas.bytes_max {
            return Err(room::too_large(new.bytes.len(), quotas));
        }
        let hash = hash(new.bytes.clone()).await?;
        let kept = {
            // No object is removed between its writing and its row.
            let _steady = self.sweeping().read().await;
            let unkept = |fault: Fault| {
                let log = fault.log.unwrap_or(fault.message);
                Fault::new(Code::Internal, Keep::UNKEPT).logging(log)
            };
            self.objects().put(&hash, new.bytes.clone()).await.map_err(unkept)?;
            failpoint::file("artifact.written").map_err(Fault::internal).map_err(unkept)?;
            self.write(Keep::new(new, hash.clone(), self.now(), quotas.clone())).await
        };
        match kept {
            Ok(Kept { artifact, orphans }) => {
                self.remove_orphans(orphans).await;
                Ok(artifact)
            }
            Err(fault) => {
                self.remove_orphans(vec![hash]).await;
                Err(fault)
            }
        }
    }

    /// What the handle means to this reader; one that is foreign or has expired is as good as an
    /// unknown one.
    pub async fn artifact(
        &self,
        handle: &str,
        reader: Reader<'_>,
    ) -> Result<Option<(ArtifactRef, Bytes)>, Fault> {
        let mut connection = self.reader().await?;
        let found = find(&mut connection, handle, reader, self.now()).await.map_err(broken)?;
        drop(connection);
        let Some(row) = found else { return Ok(None) };
        let artifact = row.artifact()?;
        let bytes = self.read_verified(artifact.artifact_id.as_str()).await?;
        Ok(Some((artifact, bytes)))
    }

    /// The call whose answer the handle leads to, for this reader.
    pub async fn artifact_call(
        &self,
        handle: &str,
        reader: Reader<'_>,
    ) -> Result<Option<CallId>, Fault> {
        let mut connection = self.reader().await?;
        let found = find(&mut connection, handle, reader, self.now()).await.map_err(broken)?;
        Ok(found.map(|row| CallId::from_string(row.call_id)))
    }

    /// Removes what has expired and what is above the quotas; tells how many artifacts went.
    pub async fn sweep_artifacts(&self) -> Result<usize, Fault> {
        let swept = self.write(Sweep { quotas: self.quotas().clone() }).await?;
        let count = swept.removed;
        self.remove_orphans(swept.orphans).await;
        Ok(count)
    }

    /// Bytes that no row names any more. What cannot be removed now is only a waste of room.
    async fn remove_orphans(&self, hashes: Vec<String>) {
        if hashes.is_empty() {
            return;
        }
        let _alone = self.sweeping().write().await;
        for hash in hashes {
            if let Err(fault) = self.remove_orphan(&hash).await {
                let detail = fault.log.unwrap_or_default();
                tracing::warn!(artifact.id = hash, detail, "an artifact could not be removed");
            }
        }
    }

    async fn remove_orphan(&self, hash: &str) -> Result<(), Fault> {
        let mut connection = self.reader().await?;
        if room::is_named(&mut connection, hash).await.map_err(broken)? {
            return Ok(());
        }
        drop(connection);
        self.objects().delete(hash).await
    }

    async fn read_verified(&self, id: &str) -> Result<Bytes, Fault> {
        let bytes = self.objects().get(id).await?;
        if hash(bytes.clone()).await? != id {
            return Err(Fault::internal(format!("artifact {id} is damaged: its hash differs")));
        }
        Ok(bytes)
    }
}

async fn hash(bytes: Bytes) -> Result<String, Fault> {
    tokio::task::spawn_blocking(move || canonical::hash_bytes(&bytes))
        .await
        .map_err(|error| Fault::internal(format!("hashing broke off: {error}")))
}

async fn find(
    connection: &mut Connection,
    handle: &str,
    reader: Reader<'_>,
    now: Timestamp,
) -> Result<Option<Row>, sqlx::Error> {
    let (call_id, name_in_call) = handle.split_once('/').unwrap_or_default();
    sqlx::query_as(
        "SELECT handle, call_id, artifact_id, kind, media_type, size_bytes, label, class, created_at \
         FROM artifacts WHERE principal = $1 \
         AND (cited = 1 OR expires_at IS NULL OR expires_at > $2) \
         AND (handle = $3 OR (alias = $3 AND COALESCE(session, '') = $4) \
         OR (call_id = $5 AND (handle = $6 OR alias = $6))) ORDER BY seq DESC LIMIT 1",
    )
    .bind(reader.principal)
    .bind(now.as_millis())
    .bind(handle)
    .bind(reader.session.unwrap_or_default())
    .bind(call_id)
    .bind(name_in_call)
    .fetch_optional(connection)
    .await
}

#[derive(sqlx::FromRow)]
struct Row {
    handle: String,
    call_id: String,
    artifact_id: String,
    kind: String,
    media_type: String,
    size_bytes: i64,
    label: String,
    class: String,
    created_at: i64,
}

impl Row {
    fn artifact(self) -> Result<ArtifactRef, Fault> {
        Ok(ArtifactRef {
            handle: Handle::from_string(self.handle),
            artifact_id: ArtifactId::from_string(self.artifact_id),
            kind: word::read(self.kind)?,
            media_type: self.media_type,
            size_bytes: u64::try_from(self.size_bytes).unwrap_or_default(),
            label: self.label,
            class: word::read(self.class)?,
            created_at: Timestamp::from_millis(self.created_at),
        })
    }
}
