//! The file beside the database. A gate adds to it, and whoever removes entries takes from it.

use std::fs::File;
use std::io::{
    self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _,
};
use std::path::Path;

use super::Checkpoint;
use crate::folder::FolderError;
use crate::{failpoint, folder};

/// Every checkpoint once more, one a line, for copying elsewhere.
pub const FILE: &str = "checkpoints.jsonl";
/// Held by who writes the file. Not the file itself: another one takes its name.
const LOCK: &str = "checkpoints.lock";

/// Why the file is not as it should be.
#[derive(Debug, thiserror::Error)]
pub(super) enum BesideError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("`{FILE}` in the data folder cannot be written: {0}")]
    Io(#[from] io::Error),
}

/// Adds a line; durable when it returns.
pub(super) fn append(dir: &Path, checkpoint: &Checkpoint) -> Result<(), BesideError> {
    let _alone = lock(dir)?;
    let mut file = folder::private_file(&dir.join(FILE))?;
    let line = serde_json::to_string(checkpoint).map_err(io::Error::from)?;
    failpoint::file("checkpoint.noted")?;
    let start = fresh_line(&mut file)?;
    file.write_all(format!("{start}{line}\n").as_bytes())?;
    Ok(file.sync_data()?)
}

/// Takes out what is said of entries before this one. Lines that nobody can read stay.
pub(super) fn trim(dir: &Path, before: i64) -> Result<(), BesideError> {
    let _alone = lock(dir)?;
    let mut lines = BufReader::new(folder::private_file(&dir.join(FILE))?);
    let new = format!("{FILE}.new");
    let file = folder::private_file(&dir.join(&new))?;
    file.set_len(0)?;
    let mut kept = BufWriter::new(file);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        let read: Option<Checkpoint> = serde_json::from_slice(&line).ok();
        if read.is_none_or(|checkpoint| checkpoint.seq >= before) {
            kept.write_all(&line)?;
        }
        line.clear();
    }
    kept.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok(folder::rename(dir, &new, FILE)?)
}

fn lock(dir: &Path) -> Result<File, BesideError> {
    let lock = folder::private_file(&dir.join(LOCK))?;
    lock.lock()?;
    Ok(lock)
}

/// Goes to the end of the file, and says what must come before a line there: a crash may have torn
/// the last one, and the next must not be lost with it.
fn fresh_line(file: &mut File) -> io::Result<&'static str> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok("");
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(if last == *b"\n" { "" } else { "\n" })
}
