//! Files that get their names when they are whole.

mod hidden;
mod leftover;
mod unfinished;

use crate::error::{Error, ErrorKind};
use crate::posix::PosixFile;
use hidden::File;
pub(crate) use hidden::Hidden;
pub use leftover::{Leftover, leftovers};
use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::num::NonZeroU32;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use striae_core::sion::filename::Sibling;
pub(crate) use unfinished::Unfinished;
pub use unfinished::abandon_all;

/// An output file, or a set of them (`NAME`, `NAME.000001`, ...), that is made out of sight.
///
/// The files are made in a hidden folder (`.striae-` and some letters) next to the name that they
/// shall get, each under the last part of its later name: so a set can be opened there, too.
/// [`finish`](Self::finish) renames them. Without it, dropping this removes all of them, and a
/// program that is to end by a signal calls [`abandon_all`].
///
/// # What has the names already
/// It is refused, both at the start, before any work is done, and at the end, when it may have
/// appeared meanwhile. With `force`, files are replaced; folders and devices are refused all the
/// same. A symbolic link stays, and what it points to is replaced, as `cp` does: it is refused if
/// it points to nothing, and, of a set, if it points to another file system than the first file or
/// to another file of the set. A file that replaces another gets its permissions. Replaced files of
/// a larger set that are not part of the new one stay.
///
/// # What a kill leaves
/// A kill before `finish` leaves the hidden folder, which [`leftovers`] finds, and nothing else.
/// Within `finish`:
/// - One file gets its name at once: the name means the old file, or none, or the new one, whole.
/// - The later files of a set get their names first and the file by which the set is opened last.
///   Until then nothing has that name: with `force` the files that are replaced are moved into the
///   hidden folder first, below `replaced`, and so a set never opens as a mixture of two.
///
/// A power cut leaves no more than that if `finish` was asked for durable files. Otherwise files
/// that just got their names may lose bytes, as those of `cp` may.
#[derive(Debug)]
pub struct Publish {
    hidden: Hidden,
    name: OsString,
    nfiles: NonZeroU32,
    force: bool,
    /// Permissions of files that replace none, before the umask.
    mode: Option<u32>,
}

impl Publish {
    /// Prepares to make `nfiles` files, of which the first will be `path`.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`] if one of the names is taken and `force` is not set; the operating
    /// system's.
    pub fn new(path: &Path, nfiles: NonZeroU32, force: bool) -> Result<Self, Error> {
        let no_name = || Error::new(path, io::Error::from(io::ErrorKind::InvalidInput));
        let name = path.file_name().ok_or_else(no_name)?.to_owned();
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut are_links = false;
        for number in 0..nfiles.get() {
            let path = path.with_file_name(sibling(&name, number));
            are_links |= destination(&path, force)? != path;
        }
        let first = destination(&folder.join(&name), force)?;
        let place = first.parent().unwrap_or(folder);
        let hidden = Hidden::new(place, folder).map_err(|error| Error::new(path, error))?;
        if are_links {
            let names = (0..nfiles.get()).map(|number| sibling(&name, number));
            hidden.destinations(names, force)?;
        }
        Ok(Self { hidden, name, nfiles, force, mode: None })
    }

    /// Files that replace none are only for those to whom the file at `path` is, as of `cp`. If it
    /// cannot be asked, they are for all that the umask allows.
    #[must_use]
    pub fn like(mut self, path: &Path) -> Self {
        self.mode = fs::metadata(path).ok().map(|file| file.mode());
        self
    }

    /// Where to make the file with this number.
    #[must_use]
    pub fn hidden(&self, number: u32) -> PathBuf {
        self.hidden.path().join(sibling(&self.name, number))
    }

    /// Gives all files their names; makes them durable under these before it returns, if asked to.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`] if one of the names was taken meanwhile; the operating system's, also
    /// if one of the files was not made. Nothing has changed then, but for one file that replaced
    /// another and could not be made durable. Replaced files that cannot be put back stay in the
    /// hidden folder.
    pub fn finish(self, durable: bool) -> Result<(), Error> {
        let nfiles = self.nfiles.get();
        // Last what a set is opened by.
        let names = (1..nfiles).chain([0]).map(|number| sibling(&self.name, number));
        let files = self.hidden.destinations(names, self.force)?;
        for File { name, to } in &files {
            let from = self.hidden.path().join(name);
            let at = |error| Error::new(to, error);
            // Opened first: what it becomes may not be readable.
            let file = if durable { Some(PosixFile::open(&from).map_err(at)?) } else { None };
            give_mode(&from, to, self.mode)?;
            file.map_or(Ok(()), |file| file.sync()).map_err(at)?;
        }
        let publishing = self.hidden.publishing()?;
        if !self.force || nfiles == 1 {
            return self.hidden.publish(&publishing, &files, self.force, durable);
        }
        let aside = self.hidden.replaced();
        let (moved, result) = self.set_aside(&aside, &files);
        let result = result.and_then(|()| self.hidden.publish(&publishing, &files, false, durable));
        if result.is_err() {
            let back = |file: &File| rename(&aside.join(&file.name), &file.to, false);
            // Later files first, as always: without one of them the first stays away, too.
            if moved.into_iter().rev().any(|file| back(file).is_err()) {
                self.hidden.keep();
            }
        }
        result
    }

    /// Moves what has the names into the folder `aside`, the first file first; says what it moved.
    fn set_aside<'a>(&self, aside: &Path, files: &'a [File]) -> (Vec<&'a File>, Result<(), Error>) {
        let mut moved = Vec::new();
        if let Err(error) = fs::create_dir(aside) {
            return (moved, Err(Error::new(self.hidden.folder(), error)));
        }
        for file in files.iter().rev() {
            let File { name, to } = file;
            let renamed = check_free(to, true).and_then(|()| {
                fs::rename(to, aside.join(name)).map_err(|error| Error::new(to, error))
            });
            match renamed {
                Ok(()) => moved.push(file),
                Err(error) if is_not_found(&error) => {}
                Err(error) => return (moved, Err(error)),
            }
        }
        (moved, Ok(()))
    }
}

fn is_not_found(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Io(error) if error.kind() == io::ErrorKind::NotFound)
}

/// Where a new file of this name goes: with `replace`, a symbolic link stays, and what it points to
/// is replaced.
///
/// # Errors
/// As [`check_free`]; a link to nothing, which `cp` refuses, too.
fn destination(path: &Path, replace: bool) -> Result<PathBuf, Error> {
    let is_link = |path| fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink());
    let to = match replace && is_link(path) {
        true => fs::canonicalize(path).map_err(|error| {
            let is_nothing = error.kind() == io::ErrorKind::NotFound;
            let nothing = || io::Error::other("is a symbolic link to nothing");
            Error::new(path, if is_nothing { nothing() } else { error })
        })?,
        false => path.to_owned(),
    };
    check_free(&to, replace)?;
    Ok(to)
}

/// Refuses a name that must not be given to a new file.
///
/// # Errors
/// [`ErrorKind::Exists`] if it is taken and may not be replaced; the operating system's, as if it
/// had refused, for what is never replaced.
pub(crate) fn check_free(path: &Path, replace: bool) -> Result<(), Error> {
    let refuse = |error: io::Error| Err(Error::new(path, error));
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => refuse(error),
        Ok(there) if there.is_dir() => refuse(io::Error::from(io::ErrorKind::IsADirectory)),
        Ok(_) if !replace => Err(Error::new(path, ErrorKind::Exists)),
        Ok(there) if there.is_file() => Ok(()),
        // A rename would put a file in the place of /dev/null.
        Ok(_) => refuse(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}

/// Gives the file `from` the permissions of the one whose name `to` it gets; if there is none,
/// those of `mode` that it has.
pub(crate) fn give_mode(from: &Path, to: &Path, mode: Option<u32>) -> Result<(), Error> {
    const ALL: u32 = 0o777;
    let Ok(made) = fs::symlink_metadata(from).map(|from| from.mode() & ALL) else {
        return Ok(()); // it was not made, which the rename tells
    };
    let replaced = fs::symlink_metadata(to).ok().filter(fs::Metadata::is_file);
    let wanted = match (replaced, mode) {
        (Some(replaced), _) => replaced.mode() & ALL,
        (None, Some(mode)) => made & mode,
        (None, None) => made,
    };
    if wanted == made {
        return Ok(());
    }
    match fs::set_permissions(from, fs::Permissions::from_mode(wanted)) {
        Ok(()) => Ok(()),
        // The file is this user's: it is the file system that has no permissions.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(Error::new(to, error)),
    }
}

/// Renames a file; what has the new name stays there unless it may be replaced.
fn rename(from: &Path, to: &Path, replace: bool) -> Result<(), Error> {
    if replace {
        return fs::rename(from, to).map_err(|error| Error::new(to, error));
    }
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(Error::new(to, ErrorKind::Exists)),
        // A file system without the flag: link(2) does not replace either.
        Err(Errno::INVAL | Errno::NOSYS) => link(from, to),
        Err(error) => Err(Error::new(to, io::Error::from(error))),
    }
}

/// Gives a file a second name and takes the first, if that was not taken before.
fn link(from: &Path, to: &Path) -> Result<(), Error> {
    fs::hard_link(from, to).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::new(to, ErrorKind::Exists),
        _ => Error::new(to, error),
    })?;
    // The first name lies in a folder that is removed anyway.
    let _ = fs::remove_file(from);
    Ok(())
}

fn sibling(name: &OsStr, number: u32) -> OsString {
    let mut name = name.to_owned();
    name.push(Sibling(number).to_string());
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_takes_a_free_name_only() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::write(&from, "new").unwrap();
        link(&from, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"new");
        assert!(!from.exists());
        fs::write(&from, "newer").unwrap();
        for refused in [link(&from, &to), rename(&from, &to, false)] {
            assert!(matches!(refused.unwrap_err().kind(), ErrorKind::Exists));
        }
        assert_eq!(fs::read(&to).unwrap(), b"new");
        assert_eq!(fs::read(&from).unwrap(), b"newer");
    }
}
