//! For people: which keys are in doubt, and what they say became of them.

use model::{Answer, Code, Fault, Record, RecordId, RecordStatus, Timestamp};
use serde::Serialize;

use super::{ClaimState, rows};
use crate::database::{Connection, broken};
use crate::entry::{Draft, Phase};
use crate::limits;
use crate::sql::Sql;
use crate::store::Store;
use crate::writer::{Write, WriteError};
use crate::{prefix, word};

/// A claim on one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClaimLine {
    pub record_id: RecordId,
    pub state: ClaimState,
    pub scope: String,
    pub key: String,
    pub claimed_at: Timestamp,
    pub expires_at: Timestamp,
}

impl Store {
    /// Newest first.
    pub async fn claims(&self, state: Option<ClaimState>) -> Result<Vec<ClaimLine>, Fault> {
        let mut sql = Sql::new(
            "SELECT record_id, state, scope, key, claimed_at, expires_at FROM claims WHERE 1 = 1",
        );
        if let Some(state) = state {
            sql.push(" AND state = ").bind(state.as_str());
        }
        sql.push(" ORDER BY claimed_at DESC, record_id DESC LIMIT ");
        sql.bind(i64::from(limits::LINES_MAX));
        let mut reader = self.reader().await?;
        let rows: Vec<LineRow> = sql.rows().fetch_all(&mut *reader).await.map_err(broken)?;
        rows.into_iter().map(LineRow::line).collect()
    }

    /// A person has looked: it took no effect, or may be made again. The key is free.
    pub async fn release_claim(&self, record: &str, who: &str) -> Result<Record, Fault> {
        self.resolve(record, who, None).await
    }

    /// A person has looked: it took effect, and this is what came of it. Whoever asks with the key
    /// again gets this answer, from now on for as long as any other is remembered.
    pub async fn confirm_claim(
        &self,
        record: &str,
        who: &str,
        answer: Answer,
    ) -> Result<Record, Fault> {
        self.resolve(record, who, Some(answer)).await
    }

    async fn resolve(
        &self,
        record: &str,
        who: &str,
        answer: Option<Answer>,
    ) -> Result<Record, Fault> {
        let record_id = self.doubtful(record).await?;
        let mut record = match self.record(&record_id).await? {
            Some(record) => record,
            None => self.remnant(&record_id).await?.ok_or_else(|| unknown(&record_id))?,
        };
        let (status, deed) = match &answer {
            Some(_) => (RecordStatus::Completed, "confirmed"),
            None => (RecordStatus::Failed, "released"),
        };
        record.status = status;
        record.closed_at = Some(self.now());
        record.stages.push(format!("{deed} by {who}").into());
        let draft = Draft::new((Phase::Close, self.now()), &record, self.forms())?;
        let record_id = record.record_id.clone();
        self.write(Resolution { record_id, answer, draft }).await?;
        Ok(record)
    }

    /// The id of the one record in doubt that begins so.
    async fn doubtful(&self, record: &str) -> Result<String, Fault> {
        if record.is_empty() {
            return Err(unknown(record));
        }
        let mut reader = self.reader().await?;
        let found: Vec<String> = sqlx::query_scalar(
            "SELECT record_id FROM claims WHERE state = 'unknown' AND record_id >= $1 \
             AND record_id < $2 ORDER BY record_id LIMIT 2",
        )
        .bind(record)
        .bind(prefix::end(record))
        .fetch_all(&mut *reader)
        .await
        .map_err(broken)?;
        prefix::only(record, found)?.ok_or_else(|| unknown(record))
    }
}

fn unknown(record: &str) -> Fault {
    let message = format!("no claim of a record `{record}` is in doubt");
    Fault::new(Code::PathNotFound, message).at(record)
}

struct Resolution {
    record_id: RecordId,
    answer: Option<Answer>,
    draft: Draft,
}

impl Write for Resolution {
    type Done = ();
    const UNWRITTEN: &'static str = "the claim could not be settled";
    const REFUSES_FIRST: bool = true;

    fn draft(&self) -> Option<&Draft> {
        Some(&self.draft)
    }

    async fn write(&self, connection: &mut Connection, now: Timestamp) -> Result<(), WriteError> {
        let settled = match &self.answer {
            None => sqlx::query("DELETE FROM claims WHERE record_id = $1 AND state = 'unknown'")
                .bind(self.record_id.as_str()),
            Some(answer) => sqlx::query(
                "UPDATE claims SET state = 'done', answer = $2, \
                 expires_at = $3 + expires_at - claimed_at \
                 WHERE record_id = $1 AND state = 'unknown'",
            )
            .bind(self.record_id.as_str())
            .bind(rows::to_text(answer)?)
            .bind(now.as_millis()),
        };
        match settled.execute(connection).await?.rows_affected() {
            0 => Err(unknown(self.record_id.as_str()).into()),
            _ => Ok(()),
        }
    }
}

#[derive(sqlx::FromRow)]
struct LineRow {
    record_id: String,
    state: String,
    scope: String,
    key: String,
    claimed_at: i64,
    expires_at: i64,
}

impl LineRow {
    fn line(self) -> Result<ClaimLine, Fault> {
        Ok(ClaimLine {
            record_id: RecordId::from_string(self.record_id),
            state: word::read(self.state)?,
            scope: self.scope,
            key: self.key,
            claimed_at: Timestamp::from_millis(self.claimed_at),
            expires_at: Timestamp::from_millis(self.expires_at),
        })
    }
}
