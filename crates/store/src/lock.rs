//! One gateway to a data folder. Those who only read take no lock.

use std::fs::{File, TryLockError};
use std::io::{self, Seek, Write};
use std::path::Path;

use model::fault::one_line;

use crate::folder::{self, FolderError};

/// The note of a holder, as shown to whoever comes second.
const NOTE_CHARS_MAX: usize = 200;

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error(
        "another gateway uses this data folder ({holder}); stop it or choose another folder with \
         --data"
    )]
    Held { holder: String },
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("cannot lock the data folder: {0}")]
    Io(#[from] io::Error),
}

/// Held as long as the value lives; the operating system releases it if the process dies.
#[derive(Debug)]
pub struct InstanceLock {
    _file: File,
}

impl InstanceLock {
    /// Takes the folder for this process, and leaves `note` (say, our URL) for others to read.
    pub fn take(dir: &Path, note: &str) -> Result<Self, LockError> {
        folder::prepare(dir)?;
        // The file stays when the lock goes: removing it would let two processes lock two files.
        let path = dir.join(folder::LOCK);
        let mut file = folder::private_file(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held { holder: holder(&path) });
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        sign(&mut file, note)?;
        Ok(Self { _file: file })
    }
}

fn sign(file: &mut File, note: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "pid {}, {}", std::process::id(), one_line(note, NOTE_CHARS_MAX))
}

fn holder(path: &Path) -> String {
    match std::fs::read_to_string(path) {
        Ok(text) if !text.is_empty() => one_line(&text, NOTE_CHARS_MAX),
        _ => "it has not said who it is".to_owned(),
    }
}
