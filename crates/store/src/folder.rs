//! The data folder and its files, readable by their owner alone.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

pub(crate) const DATABASE: &str = "toolgate.db";
pub(crate) const ARTIFACTS: &str = "artifacts";
pub(crate) const LOCK: &str = "lock";
/// Held while the folder is being opened; see [`setup_lock`].
const SETUP: &str = "setup";

/// Why a folder or file cannot be used for data.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("cannot create data folder `{}`: {}; choose another with --data", path.display(), words(cause))]
    Create { path: PathBuf, cause: io::Error },
    #[error("`{}` is not a folder; choose another with --data", path.display())]
    NotAFolder { path: PathBuf },
    #[error(
        "data folder `{0}` is open to other users and holds files that are not Toolgate's; \
         close it with `chmod 700 {0}` or choose another with --data",
        path.display()
    )]
    Shared { path: PathBuf },
    #[error(
        "cannot close `{}` to other users: {}; if it belongs to somebody else, choose another \
         folder with --data",
        path.display(), words(cause)
    )]
    Tighten { path: PathBuf, cause: io::Error },
    #[error("cannot open `{}`: {}; choose another folder with --data", path.display(), words(cause))]
    Open { path: PathBuf, cause: io::Error },
}

/// Makes sure that the data folder exists and is closed to others.
///
/// An existing folder is tightened only if it is empty or Toolgate's own: `--data /etc` must not
/// lock the machine up.
pub(crate) fn prepare(dir: &Path) -> Result<(), FolderError> {
    if dir.is_dir() && is_wide(dir) && !is_ours(dir) {
        return Err(FolderError::Shared { path: dir.to_owned() });
    }
    private_dir(dir)
}

/// Creates the folder with its parents, or tightens the one that is there.
pub(crate) fn private_dir(path: &Path) -> Result<(), FolderError> {
    if path.exists() && !path.is_dir() {
        return Err(FolderError::NotAFolder { path: path.to_owned() });
    }
    create_private(path).map_err(|cause| FolderError::Create { path: path.to_owned(), cause })?;
    tighten(path, 0o700)
}

/// Makes one process after the other open the folder: SQLite does not wait for its turn when it
/// creates a file or changes its mode.
pub(crate) fn setup_lock(dir: &Path) -> Result<File, FolderError> {
    let path = dir.join(SETUP);
    let file = private_file(&path)?;
    file.lock().map_err(|cause| FolderError::Open { path, cause })?;
    Ok(file)
}

/// Creates the file for SQLite, or tightens the one that is there.
///
/// INVARIANT: an existing file is not opened. Closing it again would void the locks that SQLite
/// holds on it elsewhere in this process.
pub(crate) fn private_database(path: &Path) -> Result<(), FolderError> {
    if path.exists() {
        return tighten(path, 0o600);
    }
    private_file(path).map(drop)
}

/// Opens the file for reading and writing, and creates it if need be.
pub(crate) fn private_file(path: &Path) -> Result<File, FolderError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let opened = options.open(path);
    let file = opened.map_err(|cause| FolderError::Open { path: path.to_owned(), cause })?;
    tighten(path, 0o600)?;
    Ok(file)
}

/// Gives a file in the folder the name of another, which goes; durable when it returns.
pub(crate) fn rename(dir: &Path, from: &str, to: &str) -> io::Result<()> {
    std::fs::rename(dir.join(from), dir.join(to))?;
    settle_names(dir)
}

/// Names are on disk with their folder.
pub(crate) fn settle_names(dir: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(dir)?.sync_all() } else { Ok(()) }
}

/// Tells one file from another that has taken its name; `None` if there is none.
#[cfg(unix)]
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|_| (0, 0))
}

fn is_ours(dir: &Path) -> bool {
    let is_empty = dir.read_dir().is_ok_and(|mut files| files.next().is_none());
    is_empty || dir.join(DATABASE).exists() || dir.join(LOCK).exists()
}

fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(unix)]
fn is_wide(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

/// Takes from others what they may do with it, if they may do anything.
#[cfg(unix)]
pub(crate) fn tighten(path: &Path, mode: u32) -> Result<(), FolderError> {
    use std::os::unix::fs::PermissionsExt;
    if !is_wide(path) {
        return Ok(());
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
        .map_err(|cause| FolderError::Tighten { path: path.to_owned(), cause })
}

#[cfg(not(unix))]
fn is_wide(_path: &Path) -> bool {
    false
}

#[cfg(not(unix))]
pub(crate) fn tighten(_path: &Path, _mode: u32) -> Result<(), FolderError> {
    Ok(())
}

/// The cause in lower case and without the number of the operating system.
fn words(cause: &io::Error) -> String {
    match cause.raw_os_error() {
        Some(_) => cause.kind().to_string(),
        None => cause.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_folder_says_why_and_what_to_do() {
        let cause = io::Error::from_raw_os_error(13);
        let error = FolderError::Create { path: "/srv/x".into(), cause };
        assert_eq!(
            error.to_string(),
            "cannot create data folder `/srv/x`: permission denied; choose another with --data"
        );
    }

    #[test]
    fn a_replaced_file_is_another_file() {
        let home = tempfile::tempdir().unwrap();
        let (old, new) = (home.path().join("old"), home.path().join("new"));
        std::fs::write(&old, "").unwrap();
        std::fs::write(&new, "").unwrap();
        let before = identity(&old);
        assert!(before.is_some());
        std::fs::rename(&new, &old).unwrap();
        assert_ne!(identity(&old), before);
        assert_eq!(identity(&new), None);
    }
}
