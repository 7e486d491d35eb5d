//! Opening and closing the record of a call, with the approval and the claim that go with it.
//!
//! A write-class call is opened before its upstream sees a byte; a read-class call may only be
//! closed, and its one entry then holds everything.

mod late;

use model::{Answer, ApprovalId, Fault, Record, RecordId, Timestamp};

use crate::approvals;
use crate::claims::{self, Claim, ClaimOutcome};
use crate::database::Connection;
use crate::entry::{Draft, Phase};
use crate::failpoint;
use crate::store::Store;
use crate::writer::{Write, WriteError};

use late::Wanted;

pub(crate) use late::Late;

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
    pub record: Box<Record>,
    pub claim: Option<ClaimOutcome>,
}

impl Store {
    /// Writes the opening entry, redeems the approval and takes the claim: all, or nothing.
    ///
    /// A caller that stops waiting, or hears that it could not be written, must still close the record: it
    /// may have been opened, and what it took is given back with the closing.
    pub async fn open_record(&self, opening: Opening) -> Result<Opened, Fault> {
        let draft = Draft::new((Phase::Open, self.now()), &opening.record, self.forms())?;
        let Opening { record: Record { record_id, .. }, redeem, claim } = opening;
        let held = self.late().held();
        held.begin(&record_id, Wanted { claim: claim.clone(), redeem: redeem.clone() });
        let id = record_id.clone();
        let owner = self.owner().to_owned();
        let opening = OpeningWrite { record_id, redeem, claim, draft, owner };
        let opened = self.write_or_return(opening).await;
        match &opened {
            Ok(Opened::Fresh) => held.heard(&id),
            Ok(Opened::Stored(_)) => held.end(&id),
            // What was refused was not written; anything else may have been.
            Err(unwritten) if unwritten.work.is_none() => held.end(&id),
            Err(_) => {}
        }
        opened.map_err(|unwritten| unwritten.fault)
    }

    /// Writes the closing entry and settles the claim.
    ///
    /// If the database cannot be written, the caller is told so, and the closing is kept in memory
    /// until [`Store::catch_up`] can write it. What an opening took that nobody has heard of is given
    /// back.
    pub async fn close_record(&self, closing: &Closing) -> Result<(), Fault> {
        let Closing { record, claim } = closing;
        let draft = Draft::new((Phase::Close, self.now()), record, self.forms())?;
        let record_id = record.record_id.clone();
        let (unheard, claim) = (self.late().held().unheard(&record_id), claim.clone());
        let closing = ClosingWrite { record_id, claim, unheard, draft, late: false };
        self.write_or_return(closing).await.map_err(|unwritten| {
            if let Some(closing) = unwritten.work {
                self.late().push(closing);
            }
            unwritten.fault
        })?;
        self.late().held().end(&record.record_id);
        Ok(())
    }
}

struct OpeningWrite {
    record_id: RecordId,
    redeem: Option<ApprovalId>,
    claim: Option<Claim>,
    draft: Draft,
    owner: String,
}

impl Write for OpeningWrite {
    type Done = Opened;
    const UNWRITTEN: &'static str = "the record could not be written, so the call was not made";
    const REFUSES_FIRST: bool = true;

    fn draft(&self) -> Option<&Draft> {
        Some(&self.draft)
    }

    fn appended(&self) -> Option<Opened> {
        (self.claim.is_none() && self.redeem.is_none()).then_some(Opened::Fresh)
    }

    async fn write(
        &self,
        connection: &mut Connection,
        now: Timestamp,
    ) -> Result<Opened, WriteError> {
        let opened = match &self.claim {
            Some(claim) => claims::look(connection, claim, now).await?,
            None => Opened::Fresh,
        };
        if opened == Opened::Fresh {
            if let Some(approval_id) = &self.redeem {
                approvals::redeem(connection, approval_id, now).await?;
                failpoint::write("opening.redeemed")?;
            }
            if let Some(claim) = &self.claim {
                claims::take(connection, claim, &self.owner, &self.record_id, now).await?;
                failpoint::write("opening.claimed")?;
            }
        }
        Ok(opened)
    }
}

#[derive(Debug)]
struct ClosingWrite {
    record_id: RecordId,
    claim: Option<ClaimOutcome>,
    /// What is to be given back.
    unheard: Option<Wanted>,
    draft: Draft,
    /// It was tried before, and may have been written.
    late: bool,
}

impl Write for ClosingWrite {
    type Done = ();
    const UNWRITTEN: &'static str =
        "the record of this call could not be completed; the operator's log says why";
    const REFUSES_FIRST: bool = true;

    fn draft(&self) -> Option<&Draft> {
        Some(&self.draft)
    }

    fn appended(&self) -> Option<()> {
        (self.claim.is_none() && self.unheard.is_none() && !self.late).then_some(())
    }

    fn found(&self) -> Option<()> {
        self.late.then_some(())
    }

    async fn write(&self, connection: &mut Connection, now: Timestamp) -> Result<(), WriteError> {
        if let Some(wanted) = &self.unheard {
            wanted.undo(connection, &self.record_id, now).await?;
        }
        if let Some(outcome) = &self.claim {
            claims::settle(connection, outcome, &self.record_id).await?;
            failpoint::write("claim.settled")?;
        }
        Ok(())
    }
}
