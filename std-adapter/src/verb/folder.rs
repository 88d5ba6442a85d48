//! Fills a folder with files, all of them or none.

use crate::error::{Error, ErrorKind};
use crate::publish::{Hidden, Unfinished, give_mode};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use striae_core::store::usize_to_u64;

/// Calls `make`, which writes files into a hidden folder in `dir`, and then renames the files into
/// `dir`; returns the number of files. `dir` is made if it does not exist. `check` is called first,
/// before anything is made in `dir`. If `make` or `check` fails, `dir` stays unchanged. A kill
/// leaves the hidden folder.
///
/// No file with the device and inode of one of `sources` is replaced.
pub(super) fn fill(
    dir: &Path,
    force: bool,
    sources: Vec<(u64, u64)>,
    check: impl FnOnce() -> Result<(), Error>,
    make: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<u64, Error> {
    let at = |error| Error::new(dir, error);
    let made_dir = make_dir(dir).map_err(at)?;
    check()?;
    let hidden = Hidden::new(dir, dir).map_err(at)?;
    make(hidden.path())?;
    // All names first: what a folder lists while files leave it is not certain.
    let entries = fs::read_dir(hidden.path()).and_then(Iterator::collect);
    let entries: Vec<fs::DirEntry> = entries.map_err(at)?;
    let names: Vec<OsString> = entries.into_iter().map(|entry| entry.file_name()).collect();
    let files = hidden.destinations(names.into_iter(), force)?;
    let sources = BTreeSet::from_iter(sources);
    for file in &files {
        let there = fs::metadata(&file.to).ok().map(|there| (there.dev(), there.ino()));
        if there.is_some_and(|there| sources.contains(&there)) {
            return Err(Error::new(&file.to, ErrorKind::Source));
        }
        give_mode(&hidden.path().join(&file.name), &file.to, None)?;
    }
    let publishing = hidden.publishing()?;
    hidden.publish(&publishing, &files, force, false)?;
    if let Some(dir) = &made_dir {
        dir.keep();
    }
    Ok(usize_to_u64(files.len()))
}

/// Makes the folder if it does not exist.
fn make_dir(dir: &Path) -> io::Result<Option<Unfinished>> {
    match Unfinished::folder(dir) {
        Ok(made) => Ok(Some(made)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match dir.is_dir() {
            true => Ok(None),
            false => Err(io::Error::from(io::ErrorKind::NotADirectory)),
        },
        Err(error) => Err(error),
    }
}

/// The final path of a file in the hidden folder of [`fill`].
pub(crate) fn final_path(hidden: &Path) -> PathBuf {
    // DIR/.striae-X/new/NAME
    let name = hidden.file_name().unwrap_or_default();
    hidden.ancestors().nth(3).unwrap_or(hidden).join(name)
}
