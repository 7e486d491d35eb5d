//! What stands in the journal and not in the database, after a crash or a failure.
//!
//! An entry is looked for where the journal says it stands. One that follows on what the database has
//! is put there as it is. Where another process has gone on from the same place meanwhile, it comes
//! behind, unless its very words are in the chain already: a place was promised to nobody, the record
//! was. What follows on nothing in this database belongs to another one, and is kept for a person. (A
//! place that was purged counts as filled: what is removed for its age was filed long before.)

use std::path::Path;

use crate::chain::{self, Link, Placed};
use crate::database::{Connection, Database};
use crate::entry::{self, Columns};
use crate::forms::Shelf;
use crate::journal::{self, Journal, Run};
use crate::limits;
use crate::text::Text;

/// Brings it there. The journal must be taken, so that nobody writes it meanwhile.
pub(super) async fn recover(
    dir: &Path,
    journal: &Journal,
    (database, connection): (&Database, &mut Connection),
) -> Result<(), sqlx::Error> {
    let (mut entries, mut moved, mut foreign) = (0, false, None);
    for run in journal::read(dir)? {
        let mut transaction = database.begin(connection).await?;
        let filed = match file(&mut transaction, database, &run).await {
            Ok(filed) => filed,
            Err(error) => {
                transaction.rollback().await?;
                return Err(error);
            }
        };
        transaction.commit().await?;
        match filed {
            Filed::Known => {}
            Filed::Here(count) => entries += count,
            Filed::Elsewhere(count) => (entries, moved) = (entries + count, true),
            Filed::Foreign => foreign = Some(run.base.seq),
        }
    }
    if entries > 0 {
        tracing::info!(entries, "entries of the journal were brought into the database");
    }
    if let Some(seq) = foreign {
        let place = journal::put_aside(dir)?;
        let place = place.display();
        tracing::error!(
            seq, %place,
            "the journal goes on from an entry that the database does not have; it was put aside"
        );
    }
    // What came to other places would look foreign once a part of it is written over, or purged.
    if moved || foreign.is_some() {
        // Syncs what a process that was killed may have left unsynced.
        database.fold(connection).await?;
        journal.empty()?;
    }
    Ok(())
}

/// Brings into the database what a process that is gone has left in the journal. Where one is at work,
/// waits a moment until it has done so itself.
pub(crate) async fn look(dir: &Path, database: &Database, connection: &mut Connection) {
    if let Err(why) = filed_by_anybody(dir, database, connection).await {
        tracing::warn!(why, "the latest entries stay in the journal; the next write tries again");
    }
}

async fn filed_by_anybody(
    dir: &Path,
    database: &Database,
    connection: &mut Connection,
) -> Result<(), String> {
    let broken = |error: sqlx::Error| error.to_string();
    let runs = journal::read(dir).map_err(|error| error.to_string())?;
    // What comes in meanwhile need not be waited for.
    let Some(last) = runs.last() else { return Ok(()) };
    for _ in 0..limits::FILE_LOOKS_MAX {
        if is_filed(connection, last).await.map_err(broken)? {
            return Ok(());
        }
        let taken = Journal::take(dir).map_err(|error| error.to_string())?;
        if let Some(journal) = taken {
            return recover(dir, &journal, (database, connection)).await.map_err(broken);
        }
        tokio::time::sleep(limits::FILE_WAIT).await;
    }
    Err("the process that is at work here does not file them".to_owned())
}

/// Whether its last entry is in the chain, here or elsewhere.
async fn is_filed(connection: &mut Connection, run: &Run) -> Result<bool, sqlx::Error> {
    let head = chain::head(connection).await?;
    if is_there(connection, &head, &run.end).await? {
        return Ok(true);
    }
    let Some(body) = run.bodies.last() else { return Ok(true) };
    match read(connection, &mut Shelf::default(), body).await? {
        Some((columns, body)) => chain::has(connection, &columns, &body).await,
        None => Ok(false),
    }
}

/// What became of a run.
enum Filed {
    /// It was there.
    Known,
    /// So many were added, where the journal says.
    Here(usize),
    /// So many were added behind what others had added; the rest was there, wherever.
    Elsewhere(usize),
    Foreign,
}

async fn file(
    connection: &mut Connection,
    database: &Database,
    run: &Run,
) -> Result<Filed, sqlx::Error> {
    let head = chain::head(connection).await?;
    let places: Vec<Link> = places(run);
    let missing = first_missing(connection, &head, &places).await?;
    let Some(base) = missing.checked_sub(1).map_or(Some(&run.base), |before| places.get(before))
    else {
        return Ok(Filed::Known);
    };
    let rest = run.bodies.get(missing..).unwrap_or_default();
    if rest.is_empty() {
        return Ok(Filed::Known);
    }
    let goes_on = *base == head;
    let known = goes_on || is_there(connection, &head, base).await?;
    let mut shelf = Shelf::default();
    let mut drafts = Vec::new();
    for body in rest {
        let Some((columns, body)) = read(connection, &mut shelf, body).await? else {
            return Ok(Filed::Foreign);
        };
        if goes_on || !chain::has(connection, &columns, &body).await? {
            drafts.push((columns, body));
        }
    }
    if !known && !drafts.is_empty() {
        return Ok(Filed::Foreign);
    }
    let mut head = head;
    let placed: Vec<Placed> = chain::place(&mut head, drafts.iter().map(|(c, b)| (c, b)));
    chain::append(connection, database.places(), &placed).await?;
    Ok(if goes_on { Filed::Here(placed.len()) } else { Filed::Elsewhere(placed.len()) })
}

fn places(run: &Run) -> Vec<Link> {
    let mut link = run.base.clone();
    let next = |body: &String| {
        link = link.next(body);
        link.clone()
    };
    run.bodies.iter().map(next).collect()
}

/// How many of them are in the database: as they are chained, all before one that is there are, too.
async fn first_missing(
    connection: &mut Connection,
    head: &Link,
    places: &[Link],
) -> Result<usize, sqlx::Error> {
    for (before, place) in places.iter().enumerate().rev() {
        if is_there(connection, head, place).await? {
            return Ok(before + 1);
        }
    }
    Ok(0)
}

/// Whether the database has this entry at this place, or had it before it was purged.
async fn is_there(
    connection: &mut Connection,
    head: &Link,
    place: &Link,
) -> Result<bool, sqlx::Error> {
    if place.seq > head.seq {
        return Ok(false);
    }
    let hash = chain::hash_at(connection, place.seq).await?;
    Ok(hash.is_none_or(|hash| hash == place.hash))
}

async fn read(
    connection: &mut Connection,
    shelf: &mut Shelf,
    body: &str,
) -> Result<Option<(Columns<Text>, Text)>, sqlx::Error> {
    let form = shelf.form_of(body, connection).await;
    let form = form.map_err(|fault| sqlx::Error::Protocol(fault.to_string()))?;
    let columns = entry::told(body, form.as_deref());
    Ok(columns.map(|columns| (columns.shared(), body.into())))
}
