//! Output files that get their names only when they are complete.

mod folder;
mod hidden;
mod leftover;
mod unfinished;

use crate::error::{Error, ErrorKind};
use crate::lock::{Locked, lock_all_replaced};
pub use folder::Folder;
pub(crate) use folder::final_path;
use hidden::{Hidden, sync_folders};
pub use leftover::{Leftover, leftovers};
use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::num::NonZeroU32;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use striae_core::sion::filename::Sibling;
pub use unfinished::abandon_all;

/// An output file, or a set of them (`NAME`, `NAME.000001`, ...), written under hidden names.
///
/// The files are made in a hidden folder (`.striae-` and some letters) next to their final place.
/// There, each file already has the last part of its final name, so a set can be opened in the
/// hidden folder, too. [`finish`](Self::finish) renames the files. Dropping this without `finish`
/// removes all of them; a program that is about to end because of a signal calls [`abandon_all`].
///
/// # If a name is taken
/// An existing file is refused. This is checked at the start, before any work is done, and again at
/// the end, because the file may have appeared in between. With `force`, existing files are
/// replaced, but folders and devices are still refused. The replaced files are locked against other
/// writers meanwhile, because what those commit would be lost; of a set of very many files, as many
/// as may be open.
///
/// With `force`, a symbolic link stays and its target is replaced, as `cp` does. A link to nothing
/// is refused. In a set, a link to another file system than that of the first file, or to another
/// file of the set, is refused, too.
///
/// A new file gets the permissions of the file that it replaces, and its owner and group as far as
/// this user may give them; if not the group, then no permissions of a group. Lists of access
/// control and other attributes are not copied. If an older set under the name has
/// more files than the new one, its extra files stay.
///
/// # What a kill leaves
/// A kill before `finish` leaves the hidden folder, which [`leftovers`] finds, and nothing else. A
/// kill during `finish` leaves this:
/// - A single file is renamed in one step: the name means the old file (or no file), or the
///   complete new one.
/// - In a set, the file by which the set is opened is renamed last. Before that, nothing has its
///   name: with `force`, the replaced files are first moved to `replaced` in the hidden folder. So
///   a set never opens as a mixture of old and new files.
///
/// After a power cut this holds only if `finish` was called with `durable`. Otherwise, files that
/// have just got their names may lose bytes, as with `cp`.
#[derive(Debug)]
pub struct Publish {
    hidden: Hidden,
    name: OsString,
    numbering: Numbering,
    nfiles: NonZeroU32,
    force: bool,
    /// Permissions of a file that replaces no other, before the umask.
    mode: Option<u32>,
    /// Whether a single file has replaced another, and its name may not be durable.
    is_named: AtomicBool,
    /// The files that are to be replaced.
    _replaced: Vec<Locked>,
}

impl Publish {
    /// Prepares to make `nfiles` files; the first will be `path`.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`] if one of the names is taken and `force` is not set;
    /// [`ErrorKind::Locked`] if another writer has a file that is to be replaced; an error of the
    /// operating system.
    pub fn new(path: &Path, nfiles: NonZeroU32, force: bool) -> Result<Self, Error> {
        Self::of((path, nfiles, Numbering::Set), force, true)
    }

    /// Prepares to make the single file `path`. Without `lock`, a file that is to be replaced is
    /// not locked, for writers that are told to lock nothing.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn single(path: &Path, force: bool, lock: bool) -> Result<Self, Error> {
        Self::of((path, NonZeroU32::MIN, Numbering::Set), force, lock)
    }

    /// Prepares to make `nfiles` files `PATH.0000`, `PATH.0001` and so on, as the subfiles of a
    /// blob set are named.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn subfiles(path: &Path, nfiles: NonZeroU32, force: bool) -> Result<Self, Error> {
        Self::of((path, nfiles, Numbering::Subfiles), force, true)
    }

    pub(crate) fn of(
        (path, nfiles, numbering): (&Path, NonZeroU32, Numbering),
        force: bool,
        lock: bool,
    ) -> Result<Self, Error> {
        let no_name = || Error::new(path, io::Error::from(io::ErrorKind::InvalidInput));
        let name = path.file_name().ok_or_else(no_name)?.to_owned();
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut are_links = false;
        for number in 0..nfiles.get() {
            let path = path.with_file_name(numbering.name(&name, number));
            are_links |= destination(&path, force)? != path;
        }
        let first = destination(&folder.join(numbering.name(&name, 0)), force)?;
        let place = first.parent().unwrap_or(folder);
        let hidden = Hidden::new(place, folder).map_err(|error| Error::new(path, error))?;
        if are_links {
            let names = (0..nfiles.get()).map(|number| numbering.name(&name, number));
            hidden.destinations(names, force)?;
        }
        let replaced = numbering.paths(path, if force && lock { nfiles.get() } else { 0 });
        let _replaced = lock_all_replaced(replaced)?;
        let is_named = AtomicBool::new(false);
        Ok(Self { hidden, name, numbering, nfiles, force, mode: None, is_named, _replaced })
    }

    /// Gives new files the permissions of the file at `path`, as `cp` does, unless they replace a
    /// file. If those permissions cannot be read, new files get the default permissions (the umask
    /// applies).
    #[must_use]
    pub fn like(mut self, path: &Path) -> Self {
        self.mode = fs::metadata(path).ok().map(|file| file.mode());
        self
    }

    /// The hidden path at which to make file `number`.
    #[must_use]
    pub fn hidden(&self, number: u32) -> PathBuf {
        self.hidden.path().join(self.numbering.name(&self.name, number))
    }

    /// Gives all files their names. With `durable`, returns only after the files and their names
    /// are on the disk.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`] if one of the names was taken in the meantime; an error of the
    /// operating system, also if one of the files was never made. After an error nothing has
    /// changed, with one exception: a single file that replaced another and could not be made
    /// durable keeps its new name. Replaced files that cannot be moved back stay in the hidden
    /// folder.
    pub fn finish(self, durable: bool) -> Result<(), Error> {
        self.give_names(durable)
    }

    /// As [`finish`](Self::finish), but after an error a single new file is kept for another try,
    /// or only what was left to do is tried again.
    pub(crate) fn give_names(&self, durable: bool) -> Result<(), Error> {
        let nfiles = self.nfiles.get();
        // Last what a set is opened by.
        let numbers = (1..nfiles).chain([0]);
        let names = numbers.map(|number| self.numbering.name(&self.name, number));
        let files = self.hidden.destinations(names, self.force)?;
        if self.is_named.load(Ordering::Relaxed) {
            return if durable { sync_folders(&files) } else { Ok(()) };
        }
        self.hidden.complete(&files, self.mode, durable)?;
        let publishing = self.hidden.publishing()?;
        if !self.force || nfiles == 1 {
            let published = self.hidden.publish(&publishing, &files, self.force, durable);
            self.is_named.store(self.force && !self.hidden(0).exists(), Ordering::Relaxed);
            return published;
        }
        self.hidden.replace(&publishing, &files, durable)
    }
}

/// The path at which a new file of this name is made. With `replace`, a symbolic link stays and its
/// target is replaced.
///
/// # Errors
/// The errors of [`check_free`]; an error for a link to nothing, which `cp` refuses, too.
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

/// Checks that a new file may get this name.
///
/// # Errors
/// [`ErrorKind::Exists`] if the name is taken and may not be replaced; an [`ErrorKind::Io`] if it
/// is a folder or another special file, which is never replaced.
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

/// Gives the file `from` the permissions of the file at `to`, which it will replace. If there is
/// none, keeps only the permissions that are also in `mode`.
fn give_mode(from: &Path, to: &Path, mode: Option<u32>) -> Result<(), Error> {
    const ALL: u32 = 0o777;
    const GROUP: u32 = 0o070;
    let Ok(there) = fs::symlink_metadata(from) else {
        return Ok(()); // it was not made, which the rename tells
    };
    let made = there.mode() & ALL;
    let replaced = fs::symlink_metadata(to).ok().filter(fs::Metadata::is_file);
    let wanted = match (replaced, mode) {
        (Some(replaced), _) => match give_owner(from, &there, &replaced) {
            true => replaced.mode() & ALL,
            false => replaced.mode() & ALL & !GROUP, // another group has no right to it
        },
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

/// Gives the file `from` owner and group of a file that it will replace, as far as this user may.
/// Returns whether it has the group then.
fn give_owner(from: &Path, made: &fs::Metadata, replaced: &fs::Metadata) -> bool {
    let group = Some(replaced.gid());
    if (made.uid(), made.gid()) == (replaced.uid(), replaced.gid())
        || lchown(from, Some(replaced.uid()), group).is_ok()
    {
        return true;
    }
    made.gid() == replaced.gid() || lchown(from, None, group).is_ok()
}

/// Renames a file. An existing file at `to` stays unless `replace` is set.
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

/// Gives a file a second name, if that name is free, and removes its first name.
fn link(from: &Path, to: &Path) -> Result<(), Error> {
    match fs::hard_link(from, to) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(Error::new(to, ErrorKind::Exists));
        }
        // A file system without links, either: an empty file takes the name, and is replaced.
        Err(error) if has_no_links(&error) => return take_name(from, to),
        Err(error) => return Err(Error::new(to, error)),
    }
    // The first name lies in a folder that is removed anyway.
    let _ = fs::remove_file(from);
    Ok(())
}

fn has_no_links(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS))
}

/// Renames a file if the name is free, in two steps.
fn take_name(from: &Path, to: &Path) -> Result<(), Error> {
    match fs::File::create_new(to) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(Error::new(to, ErrorKind::Exists));
        }
        Err(error) => return Err(Error::new(to, error)),
    }
    fs::rename(from, to).map_err(|error| {
        let _ = fs::remove_file(to); // made by this call
        Error::new(to, error)
    })
}

/// Refuses to replace files that are read. `targets` are the paths of new files.
///
/// # Errors
/// [`ErrorKind::Source`] for the first of them that is one of `sources`, under whatever name.
pub(crate) fn spare<'p>(
    targets: impl IntoIterator<Item = PathBuf>,
    sources: impl IntoIterator<Item = &'p Path>,
) -> Result<(), Error> {
    let sources: BTreeSet<_> = sources.into_iter().filter_map(identity).collect();
    let is_source = |path: &Path| identity(path).is_some_and(|file| sources.contains(&file));
    match targets.into_iter().find(|target| is_source(target)) {
        Some(target) => Err(Error::new(&target, ErrorKind::Source)),
        None => Ok(()),
    }
}

/// Which file a path leads to.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// How the files of a set are named.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Numbering {
    /// `NAME`, `NAME.000001`, ...
    Set,
    /// `NAME.0000`, `NAME.0001`, ...
    Subfiles,
    /// `NAME.D1.dat`, `NAME.D2.dat`, ..., for `NAME.dat`.
    Maps,
}

impl Numbering {
    /// The paths of the first `nfiles` files of the set `out`.
    pub(crate) fn paths(self, out: &Path, nfiles: u32) -> impl Iterator<Item = PathBuf> {
        let name = out.file_name().unwrap_or_default();
        (0..nfiles).map(move |number| out.with_file_name(self.name(name, number)))
    }

    /// The name of a file of the set.
    fn name(self, name: &OsStr, number: u32) -> OsString {
        let parts = Path::new(name);
        let (stem, ending) = match self {
            Self::Set => (name, Sibling(number).to_string().into()),
            Self::Subfiles => (name, OsString::from(format!(".{number:04}"))),
            Self::Maps => {
                let mut ending = OsString::from(format!(".D{}.", number.saturating_add(1)));
                ending.push(parts.extension().unwrap_or("dat".as_ref()));
                (parts.file_stem().unwrap_or_default(), ending)
            }
        };
        let mut name = stem.to_owned();
        name.push(ending);
        name
    }
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
        for refused in [link(&from, &to), rename(&from, &to, false), take_name(&from, &to)] {
            assert!(matches!(refused.unwrap_err().kind(), ErrorKind::Exists));
        }
        assert_eq!(fs::read(&to).unwrap(), b"new");
        assert_eq!(fs::read(&from).unwrap(), b"newer");
        fs::remove_file(&to).unwrap();
        take_name(&from, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"newer");
        assert!(!from.exists());
    }
}
