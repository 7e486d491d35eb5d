//! Entries that are durable and not in the database yet.
//!
//! A few lines in a file are on disk sooner than a commit of SQLite, which writes whole pages whatever
//! they hold. So entries are acknowledged once they are here; the database gets them later, many at a
//! time, and then their place here is used again. Two files take turns: one is written while the other
//! is filed. Whoever opens the folder after a crash finds here what the database has not heard of.
//!
//! Nothing in here knows the database; when entries go there is decided in `writer`.

mod frame;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::folder::FolderError;
use crate::{failpoint, folder, limits, testing};

pub(crate) use frame::{Run, encode};

/// Both in the data folder.
const FILES: [&str; 2] = ["journal-0", "journal-1"];
/// Locked by who writes them. Not one of them: some systems let nobody read what is locked.
const LOCK: &str = "journal.lock";
/// Where a journal goes that continues another history than the database beside it.
const ASIDE: &str = "journal-aside";
const ASIDE_MAX: u32 = 100;

/// Where one process writes. It is this process's alone until the value is dropped.
#[derive(Debug)]
pub(crate) struct Journal {
    _lock: File,
    files: [Arc<File>; 2],
    /// Which one is written.
    turn: bool,
    /// Where the next frame goes.
    at: u64,
}

impl Journal {
    /// Takes the journal of this folder, unless another process has it.
    pub(crate) fn take(dir: &Path) -> Result<Option<Self>, FolderError> {
        let lock = folder::private_file(&dir.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Ok(None),
            Err(fs::TryLockError::Error(cause)) => {
                return Err(FolderError::Open { path: dir.join(LOCK), cause });
            }
        }
        let [first, second] = FILES.map(|name| folder::private_file(&dir.join(name)));
        let files = [Arc::new(first?), Arc::new(second?)];
        Ok(Some(Self { _lock: lock, files, turn: false, at: 0 }))
    }

    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.at + bytes as u64 <= limits::JOURNAL_FILE_BYTES
    }

    /// Durable when it returns. After an error nobody knows: the journal must be taken anew.
    pub(crate) async fn write(&mut self, frame: Vec<u8>) -> io::Result<()> {
        let (file, at) = (Arc::clone(self.file()), self.at);
        self.at += frame.len() as u64;
        let written = tokio::task::spawn_blocking(move || {
            write_at(&file, &frame, at)?;
            failpoint::file("journal.written")?;
            testing::pause();
            file.sync_data()
        });
        written.await.map_err(io::Error::other)?
    }

    /// Goes on at the beginning of the other file, whose entries must be in the database by now.
    pub(crate) fn turn(&mut self) {
        self.turn = !self.turn;
        self.at = 0;
    }

    /// Leaves nothing behind; all of it must be in the database.
    pub(crate) fn empty(&self) -> io::Result<()> {
        self.files.iter().try_for_each(|file| {
            file.set_len(0)?;
            file.sync_all()
        })
    }

    fn file(&self) -> &Arc<File> {
        let [first, second] = &self.files;
        if self.turn { second } else { first }
    }
}

/// What stands in the journal of this folder, oldest first. Most of it may be in the database.
pub(crate) fn read(dir: &Path) -> io::Result<Vec<Run>> {
    let mut runs = Vec::new();
    for name in FILES {
        match fs::read(dir.join(name)) {
            Ok(text) => runs.extend(frame::decode(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    runs.sort_by_key(|run| run.base.seq);
    Ok(joined(runs))
}

/// Keeps for a person what this database cannot go on with, and says where: all of it, or nothing.
pub(crate) fn put_aside(dir: &Path) -> io::Result<PathBuf> {
    let begun = dir.join(format!("{ASIDE}-new"));
    if begun.exists() {
        fs::remove_dir_all(&begun)?;
    }
    folder::private_dir(&begun).map_err(io::Error::other)?;
    for name in FILES {
        let mut copy = folder::private_file(&begun.join(name)).map_err(io::Error::other)?;
        io::copy(&mut File::open(dir.join(name))?, &mut copy)?;
        copy.sync_all()?;
    }
    folder::settle_names(&begun)?;
    let mut places = (1..=ASIDE_MAX).map(|number| dir.join(format!("{ASIDE}-{number}")));
    let Some(place) = places.find(|place| !place.exists()) else {
        return Err(io::Error::other(format!("{ASIDE_MAX} journals were put aside; look at them")));
    };
    fs::rename(&begun, &place)?;
    folder::settle_names(dir)?;
    Ok(place)
}

/// One file goes on where the other ends.
fn joined(runs: Vec<Run>) -> Vec<Run> {
    let mut joined: Vec<Run> = Vec::new();
    for run in runs {
        match joined.last_mut().filter(|last| last.end == run.base) {
            Some(last) => {
                last.bodies.extend(run.bodies);
                last.end = run.end;
            }
            None => joined.push(run),
        }
    }
    joined
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(not(unix))]
fn write_at(mut file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    use std::io::{Seek as _, SeekFrom, Write as _};
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    /// A journal in these files.
    fn journal(path: &Path) -> Journal {
        let file = || File::options().read(true).write(true).open(path).unwrap();
        let files = [Arc::new(file()), Arc::new(file())];
        Journal { _lock: file(), files, turn: false, at: 0 }
    }

    /// `/dev/null` takes whatever is written, and says of each sync that it cannot be done: so who
    /// acknowledges without one, or without looking what came of it, is found out.
    #[tokio::test]
    async fn nothing_is_acknowledged_before_the_disk_has_it() {
        let frame = || b"a frame".to_vec();
        let mut deaf = journal(Path::new("/dev/null"));
        write_at(deaf.file(), &frame(), 3).unwrap();
        assert_eq!(deaf.write(frame()).await.unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let file = tempfile::NamedTempFile::new().unwrap();
        journal(file.path()).write(frame()).await.unwrap();
        assert_eq!(fs::read(file.path()).unwrap(), frame());
    }
}
