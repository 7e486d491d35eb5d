//! Opening and closing the record of a call, with the approval and the claim that go with it.
//!
//! A write-class call is opened before its upstream sees a byte; a read-class call may only be
//! closed, and its one entry then holds everything.

use model::{Answer, ApprovalId, Fault, Record, Timestamp};
use sqlx::SqliteConnection;

use crate::approvals;
use crate::chain;
use crate::claims::{self, Claim, ClaimOutcome};
use crate::entry::{Entry, Phase};
use crate::store::Store;
use crate::writer::{Write, WriteError};

#[derive(Clone, Debug)]
pub struct Opening {
    pub record: Record,
    /// The approval this call uses up.
    pub redeem: Option<ApprovalId>,
    pub claim: Option<Claim>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Opened {
    /// Nobody made this call before: go on.
    Fresh,
    /// It was made before, and this is what came back. The approval was not used.
    Stored(Answer),
}

#[derive(Clone, Debug)]
pub struct Closing {
    pub record: Record,
    pub claim: Option<ClaimOutcome>,
}

impl Store {
    /// Writes the opening entry, redeems the approval and takes the claim: all, or nothing.
    ///
    /// A caller that stops waiting must still close the record: it may have been opened.
    pub async fn open_record(&self, opening: Opening) -> Result<Opened, Fault> {
        self.write(opening).await
    }

    /// Writes the closing entry and settles the claim.
    pub async fn close_record(&self, closing: Closing) -> Result<(), Fault> {
        self.write(closing).await
    }
}

impl Write for Opening {
    type Done = Opened;
    const UNWRITTEN: &'static str = "the record could not be written, so the call was not made";

    async fn write(
        &self,
        connection: &mut SqliteConnection,
        now: Timestamp,
    ) -> Result<Opened, WriteError> {
        let opened = match &self.claim {
            Some(claim) => claims::take(connection, claim, &self.record.record_id, now).await?,
            None => Opened::Fresh,
        };
        if let (Opened::Fresh, Some(approval_id)) = (&opened, &self.redeem) {
            approvals::redeem(connection, approval_id, now).await?;
        }
        chain::append(connection, &Entry::new(Phase::Open, now, self.record.clone())).await?;
        Ok(opened)
    }
}

impl Write for Closing {
    type Done = ();
    const UNWRITTEN: &'static str =
        "the record of this call could not be completed; the operator's log says why";

    async fn write(
        &self,
        connection: &mut SqliteConnection,
        now: Timestamp,
    ) -> Result<(), WriteError> {
        if let Some(outcome) = &self.claim {
            claims::settle(connection, outcome, &self.record.record_id).await?;
        }
        chain::append(connection, &Entry::new(Phase::Close, now, self.record.clone())).await
    }
}
