//! Fills a folder with files, all of them or none.

use super::hidden::Hidden;
use super::unfinished::Unfinished;
use crate::error::{Error, ErrorKind};
use crate::lock::lock_all_replaced;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use striae_core::store::usize_to_u64;

/// New files in a folder, written under hidden names: all of them get their names, or none.
///
/// They are made in a hidden folder (`.striae-` and some letters) in the folder.
/// [`finish`](Self::finish) renames them. Dropping this without `finish` removes all of them, and
/// the folder, if this has made it; so does [`abandon_all`](super::abandon_all). A kill leaves the
/// hidden folder, which [`leftovers`](super::leftovers) finds; a kill during `finish` may leave
/// files that were to be replaced in it.
#[derive(Debug)]
pub struct Folder {
    hidden: Hidden, // dropped first: it is in the other one
    made: Option<Unfinished>,
    force: bool,
}

impl Folder {
    /// Prepares to make files in the folder `dir`, which is made if it does not exist. With
    /// `force`, existing files are replaced. `check` is called before anything is made in `dir`.
    ///
    /// # Errors
    /// An error of `check`; an error of the operating system.
    pub fn new<E: From<Error>>(
        dir: &Path,
        force: bool,
        check: impl FnOnce() -> Result<(), E>,
    ) -> Result<Self, E> {
        let at = |error| Error::new(dir, error);
        let made = make_dir(dir).map_err(at)?;
        check()?;
        let hidden = Hidden::new(dir, dir).map_err(at)?;
        Ok(Self { hidden, made, force })
    }

    /// The hidden folder in which to make the files. Each of them has its final name there.
    #[must_use]
    pub fn hidden(&self) -> &Path {
        self.hidden.path()
    }

    /// Gives all files their names, and returns their number. No file with the device and inode of
    /// one of `sources` is replaced. With `durable`, returns only after the files and their names
    /// are on the disk.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`] if a name was taken in the meantime and `force` is not set;
    /// [`ErrorKind::Locked`] if another writer has a file that is to be replaced;
    /// [`ErrorKind::Source`]; an error of the operating system. None of the files has its name
    /// then, and replaced files are where they were; those that cannot be moved back stay in the
    /// hidden folder.
    pub fn finish(
        self,
        sources: impl IntoIterator<Item = (u64, u64)>,
        durable: bool,
    ) -> Result<u64, Error> {
        let Self { hidden, made, force } = &self;
        let at = |error| Error::new(hidden.folder(), error);
        // All names first: what a folder lists while files leave it is not certain.
        let entries = fs::read_dir(hidden.path()).and_then(Iterator::collect);
        let entries: Vec<fs::DirEntry> = entries.map_err(at)?;
        let names: Vec<OsString> = entries.into_iter().map(|entry| entry.file_name()).collect();
        let files = hidden.destinations(names.into_iter(), *force)?;
        let sources = BTreeSet::from_iter(sources);
        for file in &files {
            let there = fs::metadata(&file.to).ok().map(|there| (there.dev(), there.ino()));
            if there.is_some_and(|there| sources.contains(&there)) {
                return Err(Error::new(&file.to, ErrorKind::Source));
            }
        }
        let replaced = files.iter().filter(|_| *force).map(|file| file.to.clone());
        let _replaced = lock_all_replaced(replaced)?;
        hidden.complete(&files, None, durable)?;
        let publishing = hidden.publishing()?;
        match *force {
            true => hidden.replace(&publishing, &files, durable)?,
            false => hidden.publish(&publishing, &files, false, durable)?,
        }
        if let Some(dir) = made {
            dir.keep();
        }
        Ok(usize_to_u64(files.len()))
    }
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

/// The final path of a file in the hidden folder of a [`Folder`].
pub(crate) fn final_path(hidden: &Path) -> PathBuf {
    // DIR/.striae-X/new/NAME
    let name = hidden.file_name().unwrap_or_default();
    hidden.ancestors().nth(3).unwrap_or(hidden).join(name)
}
