//! Stored bytes: kept once under their hash, found by a handle that is bound to its principal.
//!
//! No name from outside becomes a path. A handle may return with a later call and then means the
//! newer bytes; `call_id/handle` says which call is meant (resolution C28).

use std::path::PathBuf;

use bytes::Bytes;
use model::{
    ArtifactId, ArtifactKind, ArtifactRef, CallId, Class, Fault, Handle, Timestamp, canonical,
};
use object_store::{ObjectStoreExt, PutPayload, path::Path};

use crate::database::{Connection, broken};
use crate::folder;
use crate::store::Store;
use crate::word;
use crate::writer::{Write, WriteError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewArtifact {
    pub handle: Handle,
    /// The only one who may read it by this handle.
    pub principal: String,
    pub call_id: CallId,
    pub kind: ArtifactKind,
    pub media_type: String,
    pub label: String,
    pub class: Class,
    pub bytes: Bytes,
}

impl Store {
    /// Keeps the bytes for the principal; durable when it returns.
    pub async fn put_artifact(&self, new: NewArtifact) -> Result<ArtifactRef, Fault> {
        let hash = hash(new.bytes.clone()).await?;
        let unwritten = |error: object_store::Error| {
            Fault::new(model::Code::Internal, Kept::UNWRITTEN).logging(format!("artifact: {error}"))
        };
        let (place, payload) = (object(&hash)?, PutPayload::from_bytes(new.bytes.clone()));
        // Written even if it is there: the same bytes, and a damaged copy heals.
        self.objects().put(&place, payload).await.map_err(unwritten)?;
        let file = self.objects().path_to_filesystem(&place).map_err(unwritten)?;
        close_to_others(file).await?;
        self.write(Kept::new(new, hash, self.now())).await
    }

    /// What the handle means to this principal; a foreign handle is as good as an unknown one.
    pub async fn artifact(
        &self,
        handle: &str,
        principal: &str,
    ) -> Result<Option<(ArtifactRef, Bytes)>, Fault> {
        let mut reader = self.reader().await?;
        let found = find(&mut reader, handle, principal).await.map_err(broken)?;
        drop(reader);
        let Some(row) = found else { return Ok(None) };
        let artifact = row.artifact()?;
        let bytes = self.read_verified(artifact.artifact_id.as_str()).await?;
        Ok(Some((artifact, bytes)))
    }

    async fn read_verified(&self, id: &str) -> Result<Bytes, Fault> {
        let lost = |error: object_store::Error| Fault::internal(format!("artifact {id}: {error}"));
        let object = self.objects().get(&object(id)?).await.map_err(lost)?;
        let bytes = object.bytes().await.map_err(lost)?;
        if hash(bytes.clone()).await? != id {
            return Err(Fault::internal(format!("artifact {id} is damaged: its hash differs")));
        }
        Ok(bytes)
    }
}

/// Two digits of the hash make the folder, so that no folder grows without bound.
fn object(hash: &str) -> Result<Path, Fault> {
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    match hash.get(..2) {
        Some(folder) if is_hash => Ok(Path::from_iter([folder, hash])),
        _ => Err(Fault::internal(format!("artifact id `{hash}` is no hash"))),
    }
}

/// The object store makes files and folders that others could read, were the folder above them open.
async fn close_to_others(file: PathBuf) -> Result<(), Fault> {
    let tighten = move || {
        file.parent().map_or(Ok(()), |folder| folder::tighten(folder, 0o700))?;
        folder::tighten(&file, 0o600)
    };
    tokio::task::spawn_blocking(tighten)
        .await
        .map_err(|error| Fault::internal(format!("closing an artifact broke off: {error}")))?
        .map_err(|error| Fault::internal(error.to_string()))
}

async fn hash(bytes: Bytes) -> Result<String, Fault> {
    tokio::task::spawn_blocking(move || canonical::hash_bytes(&bytes))
        .await
        .map_err(|error| Fault::internal(format!("hashing broke off: {error}")))
}

/// Whose bytes these are, ready to be written.
struct Kept {
    principal: String,
    call_id: CallId,
    artifact: ArtifactRef,
}

impl Kept {
    fn new(new: NewArtifact, hash: String, created_at: Timestamp) -> Self {
        let size_bytes = u64::try_from(new.bytes.len()).unwrap_or(u64::MAX);
        let artifact = ArtifactRef {
            handle: new.handle,
            artifact_id: ArtifactId::from_string(hash),
            kind: new.kind,
            media_type: new.media_type,
            size_bytes,
            label: new.label,
            class: new.class,
            created_at,
        };
        Self { principal: new.principal, call_id: new.call_id, artifact }
    }
}

impl Write for Kept {
    type Done = ArtifactRef;
    const UNWRITTEN: &'static str = "the result could not be stored; the operator's log says why";

    async fn write(
        &self,
        connection: &mut Connection,
        _now: Timestamp,
    ) -> Result<ArtifactRef, WriteError> {
        let artifact = &self.artifact;
        sqlx::query(
            "INSERT INTO artifacts (handle, artifact_id, principal, call_id, kind, media_type, \
             size_bytes, label, class, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        )
        .bind(artifact.handle.as_str())
        .bind(artifact.artifact_id.as_str())
        .bind(&self.principal)
        .bind(self.call_id.as_str())
        .bind(word::write(&artifact.kind))
        .bind(&artifact.media_type)
        .bind(i64::try_from(artifact.size_bytes).unwrap_or(i64::MAX))
        .bind(&artifact.label)
        .bind(word::write(&artifact.class))
        .bind(artifact.created_at.as_millis())
        .execute(connection)
        .await?;
        Ok(artifact.clone())
    }
}

async fn find(
    connection: &mut Connection,
    handle: &str,
    principal: &str,
) -> Result<Option<Row>, sqlx::Error> {
    let (call_id, handle_in_call) = handle.split_once('/').unwrap_or_default();
    sqlx::query_as(
        "SELECT handle, artifact_id, kind, media_type, size_bytes, label, class, created_at \
         FROM artifacts WHERE principal = $1 \
         AND (handle = $2 OR (handle = $3 AND call_id = $4)) ORDER BY seq DESC LIMIT 1",
    )
    .bind(principal)
    .bind(handle)
    .bind(handle_in_call)
    .bind(call_id)
    .fetch_optional(connection)
    .await
}

#[derive(sqlx::FromRow)]
struct Row {
    handle: String,
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
