//! Writes the row of one artifact, and makes room for it in the same step.

use model::{ArtifactId, ArtifactRef, CallId, Handle, Timestamp};

use super::{NewArtifact, Quotas, room};
use crate::database::Connection;
use crate::word;
use crate::writer::{Write, WriteError};

/// An artifact that is kept, and the hashes that no row names any more.
pub(super) struct Kept {
    pub(super) artifact: ArtifactRef,
    pub(super) orphans: Vec<String>,
}

/// Whose bytes these are, ready to be written.
pub(super) struct Keep {
    principal: String,
    session: Option<String>,
    call_id: CallId,
    alias: Option<Handle>,
    cited: bool,
    artifact: ArtifactRef,
    quotas: Quotas,
}

impl Keep {
    pub(super) const UNKEPT: &'static str =
        "the result could not be stored; the operator's log says why";

    pub(super) fn new(
        new: NewArtifact,
        hash: String,
        created_at: Timestamp,
        quotas: Quotas,
    ) -> Self {
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
        let NewArtifact { principal, session, call_id, alias, cited, .. } = new;
        Self { principal, session, call_id, alias, cited, artifact, quotas }
    }
}

impl Write for Keep {
    type Done = Kept;
    const UNWRITTEN: &'static str = Self::UNKEPT;

    async fn write(&self, connection: &mut Connection, now: Timestamp) -> Result<Kept, WriteError> {
        let artifact = &self.artifact;
        let seq: i64 = sqlx::query_scalar(
            "INSERT INTO artifacts (handle, artifact_id, principal, call_id, kind, media_type, \
             size_bytes, label, class, created_at, alias, session, cited, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING seq",
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
        .bind(self.alias.as_ref().map(Handle::as_str))
        .bind(self.session.as_deref())
        .bind(i64::from(self.cited))
        .bind(artifact.created_at.after(self.quotas.ttl).as_millis())
        .fetch_one(&mut *connection)
        .await?;
        let swept = room::make(connection, &self.quotas, Some(seq), now).await?;
        Ok(Kept { artifact: artifact.clone(), orphans: swept.orphans })
    }
}
