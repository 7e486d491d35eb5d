//! Opening and closing the record of a call, with the approval and the claim that go with it.
//!
//! A write-class call is opened before its upstream sees a byte; a read-class call may only be
//! closed, and its one entry then holds everything.

use model::{Answer, ApprovalId, Fault, Record, Timestamp};

use crate::approvals;
use crate::claims::{self, Claim, ClaimOutcome};
use crate::database::Connection;
use crate::entry::{Draft, Phase};
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
        let draft = Draft::new(Phase::Open, self.now(), &opening.record)?;
        self.write(DraftedOpening { opening, draft, owner: self.owner().to_owned() }).await
    }

    /// Writes the closing entry and settles the claim.
    pub async fn close_record(&self, closing: Closing) -> Result<(), Fault> {
        let draft = Draft::new(Phase::Close, self.now(), &closing.record)?;
        self.write(DraftedClosing { closing, draft }).await
    }
}

struct DraftedOpening {
    opening: Opening,
    draft: Draft,
    owner: String,
}

impl Write for DraftedOpening {
    type Done = Opened;
    const UNWRITTEN: &'static str = "the record could not be written, so the call was not made";
    const REFUSES_FIRST: bool = true;

    fn draft(&self) -> Option<&Draft> {
        Some(&self.draft)
    }

    fn only_appends(&self) -> bool {
        self.opening.claim.is_none() && self.opening.redeem.is_none()
    }

    async fn write(
        &self,
        connection: &mut Connection,
        now: Timestamp,
    ) -> Result<Opened, WriteError> {
        let Opening { record, redeem, claim } = &self.opening;
        let opened = match claim {
            Some(claim) => claims::look(connection, claim, now).await?,
            None => Opened::Fresh,
        };
        if opened == Opened::Fresh {
            if let Some(approval_id) = redeem {
                approvals::redeem(connection, approval_id, now).await?;
            }
            if let Some(claim) = claim {
                claims::take(connection, claim, &self.owner, &record.record_id, now).await?;
            }
        }
        Ok(opened)
    }
}

struct DraftedClosing {
    closing: Closing,
    draft: Draft,
}

impl Write for DraftedClosing {
    type Done = ();
    const UNWRITTEN: &'static str =
        "the record of this call could not be completed; the operator's log says why";
    const REFUSES_FIRST: bool = true;

    fn draft(&self) -> Option<&Draft> {
        Some(&self.draft)
    }

    fn only_appends(&self) -> bool {
        self.closing.claim.is_none()
    }

    async fn write(&self, connection: &mut Connection, _now: Timestamp) -> Result<(), WriteError> {
        if let Some(outcome) = &self.closing.claim {
            claims::settle(connection, outcome, &self.closing.record.record_id).await?;
        }
        Ok(())
    }
}
