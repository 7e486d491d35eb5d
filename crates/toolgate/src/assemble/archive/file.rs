//! One file of the archive: there whole under its name, or not at all, and never in the place of another.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Files that may be about the same entries; whoever has more looks what goes wrong every time.
const SAME_MAX: u32 = 1_000;

/// A file that is being written. Dropped before it is finished, nothing of it stays.
#[derive(Debug)]
pub(super) struct ArchiveFile {
    lines: BufWriter<File>,
    folder: PathBuf,
    /// Ours: an empty file until this one takes its place.
    path: PathBuf,
    finished: bool,
}

impl ArchiveFile {
    /// In this folder, which is made if need be, for the entries up to this one.
    pub(super) fn begin(folder: &Path, upto_seq: i64) -> io::Result<Self> {
        make(folder)?;
        let path = reserve(folder, upto_seq)?;
        let begun = open(&unfinished(&path), OpenOptions::new().create(true).truncate(true));
        let lines = begun.inspect_err(|_| remove(&path))?;
        let (lines, folder) = (BufWriter::new(lines), folder.to_owned());
        Ok(Self { lines, folder, path, finished: false })
    }

    pub(super) fn line(&mut self, entry: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.lines, entry)?;
        self.lines.write_all(b"\n")
    }

    /// On disk when it returns, name and all.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.lines.flush()?;
        self.lines.get_ref().sync_all()?;
        fs::rename(unfinished(&self.path), &self.path)?;
        self.finished = true;
        settle_names(&self.folder)
    }
}

impl Drop for ArchiveFile {
    fn drop(&mut self) {
        if !self.finished {
            remove(&unfinished(&self.path));
            remove(&self.path);
        }
    }
}

/// A name that nobody has, taken by an empty file.
fn reserve(folder: &Path, upto_seq: i64) -> io::Result<PathBuf> {
    for number in 1..=SAME_MAX {
        let again = if number == 1 { String::new() } else { format!("-{number}") };
        let path = folder.join(format!("records-until-{upto_seq:012}{again}.jsonl"));
        match open(&path, OpenOptions::new().create_new(true)) {
            Ok(_ours) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("{SAME_MAX} files there end at entry {upto_seq}; look at them")))
}

fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.write(true).open(path)
}

fn unfinished(path: &Path) -> PathBuf {
    path.with_extension("jsonl.new")
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path) {
        tracing::warn!(path = %path.display(), %error, "an unfinished archive could not be removed");
    }
}

/// Makes the folder, and has each new name on disk.
fn make(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|path| !path.exists()).collect();
    fs::create_dir_all(folder)?;
    missing.into_iter().filter_map(Path::parent).try_for_each(settle_names)
}

/// Names are on disk with their folder.
fn settle_names(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
        let mut names: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn an_archive_is_there_whole_and_under_a_name_of_its_own() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("far").join("away");
        for (text, expected) in [
            ("first", &["records-until-000000000007.jsonl"][..]),
            ("second", &["records-until-000000000007-2.jsonl", "records-until-000000000007.jsonl"]),
        ] {
            let mut file = ArchiveFile::begin(&folder, 7).unwrap();
            file.line(&text).unwrap();
            file.finish().unwrap();
            assert_eq!(names(&folder), expected);
        }
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(read("records-until-000000000007.jsonl"), "\"first\"\n");
        assert_eq!(read("records-until-000000000007-2.jsonl"), "\"second\"\n");
    }

    #[test]
    fn what_was_not_finished_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let mut file = ArchiveFile::begin(home.path(), 7).unwrap();
        file.line(&"half").unwrap();
        let begun = ["records-until-000000000007.jsonl", "records-until-000000000007.jsonl.new"];
        assert_eq!(names(home.path()), begun);
        drop(file);
        assert_eq!(names(home.path()), [""; 0]);
    }

    /// Two databases may share a folder, and two processes meet there.
    #[test]
    fn whoever_writes_beside_another_takes_nothing_from_it() {
        let home = tempfile::tempdir().unwrap();
        let mut both = [7, 7].map(|upto| ArchiveFile::begin(home.path(), upto).unwrap());
        for (file, text) in both.iter_mut().zip(["one", "other"]) {
            file.line(&text).unwrap();
        }
        for file in both {
            file.finish().unwrap();
        }
        let texts: Vec<String> = names(home.path())
            .iter()
            .map(|name| fs::read_to_string(home.path().join(name)).unwrap())
            .collect();
        assert_eq!(texts, ["\"other\"\n", "\"one\"\n"]);
    }
}
