//! Questions to humans: asked once, answered once, redeemed once.
//!
//! A question past its time counts as expired from that moment, marked or not.

use model::{Approval, ApprovalId, ApprovalState, Code, Fault, Timestamp};

use crate::database::Connection;
use crate::limits;
use crate::store::Store;
use crate::writer::{Write, WriteError};

mod rows;

/// A human's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub approved: bool,
    pub approver: String,
    pub reason: Option<String>,
}

impl Store {
    /// Stores the question as pending, or returns the one that lives for the same subject.
    ///
    /// A "no" lives as long as the question would have: asking again at once changes nothing.
    pub async fn ask(&self, approval: Approval) -> Result<Approval, Fault> {
        self.write(Question(approval)).await
    }

    /// The approval with this id; its beginning is enough.
    pub async fn approval(&self, id: &str) -> Result<Option<Approval>, Fault> {
        let mut reader = self.reader().await?;
        read(rows::find(&mut reader, id, self.now()).await)
    }

    /// The question that lives for this subject, if one does. Nobody is asked.
    pub async fn asked(&self, subject_hash: &str) -> Result<Option<Approval>, Fault> {
        let mut reader = self.reader().await?;
        read(rows::live(&mut reader, subject_hash, self.now()).await)
    }

    /// Newest first; those past their time count as expired.
    pub async fn approvals(&self, state: Option<ApprovalState>) -> Result<Vec<Approval>, Fault> {
        let mut reader = self.reader().await?;
        read(rows::list(&mut reader, state, self.now()).await)
    }

    /// Answers the question with this id or beginning of one; only the first answer counts.
    pub async fn answer(&self, id: &str, verdict: Verdict) -> Result<Approval, Fault> {
        self.write(Reply { id: id.to_owned(), verdict }).await
    }

    /// Removes questions that are over and that no entry can name, as they were over before the oldest
    /// was written; says how many. Where nothing is removed of the history, nothing is of these.
    pub async fn prune_approvals(&self) -> Result<u64, Fault> {
        let Some(oldest) = self.oldest().await? else { return Ok(0) };
        let mut removed = 0;
        loop {
            let part = self.write(Outlived { oldest }).await?;
            removed += part;
            if part < limits::PURGE_ROWS.unsigned_abs() {
                return Ok(removed);
            }
        }
    }

    /// Uses an approval up by itself, for what leaves no entry of its own.
    pub async fn redeem(&self, id: &ApprovalId) -> Result<(), Fault> {
        self.write(Redemption(id.clone())).await
    }
}

/// Uses the approval up, or refuses because it is not there to be used.
pub(crate) async fn redeem(
    connection: &mut Connection,
    approval_id: &ApprovalId,
    now: Timestamp,
) -> Result<(), WriteError> {
    if rows::redeem(connection, approval_id, now).await? {
        return Ok(());
    }
    let approval = rows::find(connection, approval_id.as_str(), now).await?;
    let state = approval.map(|approval| approval.state);
    let message = match state {
        None => "there is no such approval",
        Some(ApprovalState::Redeemed) => "this approval was already used",
        Some(ApprovalState::Expired) => "this approval has expired; ask again",
        Some(ApprovalState::Rejected) => "the call was rejected",
        Some(ApprovalState::Pending | ApprovalState::Approved) => {
            "nobody has approved this call yet"
        }
    };
    let state = state.map_or("missing", ApprovalState::as_str);
    let fault = Fault::new(Code::ApprovalRejected, message);
    Err(fault.at(approval_id.as_str()).with("state", state).into())
}

/// The call that used it up was not made: it may be used again, unless somebody was asked anew.
pub(crate) async fn give_back(
    connection: &mut Connection,
    approval_id: &ApprovalId,
    now: Timestamp,
) -> Result<(), WriteError> {
    Ok(rows::give_back(connection, approval_id, now).await?)
}

struct Question(Approval);

impl Write for Question {
    type Done = Approval;
    const UNWRITTEN: &'static str = "the question could not be stored, so nobody was asked";

    async fn write(
        &self,
        connection: &mut Connection,
        now: Timestamp,
    ) -> Result<Approval, WriteError> {
        rows::mark_expired(connection, now).await?;
        if let Some(live) = rows::live(connection, &self.0.subject_hash, now).await? {
            return Ok(live);
        }
        if rows::waiting(connection, &self.0).await? >= limits::QUESTIONS_MAX {
            let message = "too many questions of this caller wait for people; wait for answers";
            return Err(Fault::new(Code::RateLimited, message).at(&self.0.tool).into());
        }
        rows::insert(connection, &self.0).await?;
        Ok(Approval { state: ApprovalState::Pending, ..self.0.clone() })
    }
}

struct Outlived {
    oldest: Timestamp,
}

impl Write for Outlived {
    type Done = u64;
    const UNWRITTEN: &'static str = "questions that are over could not be removed";
    const REFUSES_FIRST: bool = true;

    async fn write(&self, connection: &mut Connection, now: Timestamp) -> Result<u64, WriteError> {
        let margin = i64::try_from(limits::LINEAGE_MARGIN.as_millis()).unwrap_or(i64::MAX);
        // Whatever the clocks of others say, an answer that still holds is kept.
        let before = self.oldest.as_millis().saturating_sub(margin).min(now.as_millis());
        Ok(rows::remove_over(connection, before).await?)
    }
}

struct Redemption(ApprovalId);

impl Write for Redemption {
    type Done = ();
    const UNWRITTEN: &'static str =
        "the use of the approval could not be stored, so it was not used";
    const REFUSES_FIRST: bool = true;

    async fn write(&self, connection: &mut Connection, now: Timestamp) -> Result<(), WriteError> {
        redeem(connection, &self.0, now).await
    }
}

struct Reply {
    id: String,
    verdict: Verdict,
}

impl Write for Reply {
    type Done = Approval;
    const UNWRITTEN: &'static str = "the answer could not be stored, so it does not count";

    async fn write(
        &self,
        connection: &mut Connection,
        now: Timestamp,
    ) -> Result<Approval, WriteError> {
        let Some(approval) = rows::find(connection, &self.id, now).await? else {
            let message = format!("there is no approval `{}`", self.id);
            return Err(Fault::new(Code::PathNotFound, message).at(&self.id).into());
        };
        if approval.state != ApprovalState::Pending {
            return Err(too_late(&approval).into());
        }
        let answered = self.verdict.clone().on(approval, now);
        rows::answer(connection, &answered).await?;
        Ok(answered)
    }
}

impl Verdict {
    fn on(self, approval: Approval, now: Timestamp) -> Approval {
        let state = if self.approved { ApprovalState::Approved } else { ApprovalState::Rejected };
        let (approver, answered_at) = (Some(self.approver), Some(now));
        Approval { state, approver, answered_at, reason: self.reason, ..approval }
    }
}

fn too_late(approval: &Approval) -> Fault {
    let message = match &approval.approver {
        Some(approver) => {
            format!("already answered by `{approver}`; the approval is {}", approval.state.as_str())
        }
        None => {
            format!("the question expired at {}; the call must be made again", approval.expires_at)
        }
    };
    Fault::new(Code::ApprovalRejected, message)
        .at(approval.approval_id.as_str())
        .with("state", approval.state.as_str())
}

fn read<T>(result: Result<T, WriteError>) -> Result<T, Fault> {
    result.map_err(|error| match error {
        WriteError::Refused(fault) => *fault,
        WriteError::Database(error) => crate::database::broken(error),
    })
}
