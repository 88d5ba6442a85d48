//! Hidden folders, in which output files are made.

use super::unfinished::{Publishing, Unfinished, What};
use super::{check_free, destination, give_mode, identity, rename};
use crate::error::{Error, ErrorKind};
use crate::posix::{PosixFile, is_local, sync_folder};
use rustix::fs::FlockOperation;
use rustix::io::retry_on_intr;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Prefix of the names of hidden folders.
pub(super) const PREFIX: &str = ".striae-";

/// Subfolder of a hidden folder for the new files.
pub(super) const NEW: &str = "new";

/// Subfolder of a hidden folder for the replaced files of a set or a folder.
pub(super) const REPLACED: &str = "replaced";

/// The lock file; it is locked while a program needs the hidden folder.
pub(super) const LOCK: &str = "lock";

/// A file in the hidden folder.
#[derive(Debug)]
pub(crate) struct File {
    /// The last part of its name.
    pub(crate) name: OsString,
    /// The target path: in the folder of the output, or what a symbolic link of that name points
    /// to.
    pub(crate) to: PathBuf,
}

/// A hidden folder on the target file system. Dropping it removes the folder and its contents.
#[derive(Debug)]
pub(crate) struct Hidden {
    unfinished: Unfinished,
    /// The folder for new files.
    new: PathBuf,
    /// The folder of the final names.
    folder: PathBuf,
}

impl Hidden {
    /// Makes a hidden folder in `place`, for files that get names in `folder`.
    pub(crate) fn new(place: &Path, folder: &Path) -> io::Result<Self> {
        let mut new = PathBuf::new();
        let made = Unfinished::new(|| {
            let hidden = tempfile::Builder::new().prefix(PREFIX).tempdir_in(place)?;
            let lock = fs::File::create_new(hidden.path().join(LOCK))?;
            // Where there are no locks, nobody can tell whether it is needed.
            let _ = retry_on_intr(|| {
                rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)
            });
            // Last: a hidden folder without it is not complete.
            new = hidden.path().join(NEW);
            fs::create_dir(&new)?;
            Ok(What::Hidden(hidden.keep(), lock))
        });
        let unfinished = made.map_err(|error| match error.kind() {
            // Without the hidden folder's path, which says nothing to the reader.
            io::ErrorKind::NotFound => io::Error::new(error.kind(), "its folder does not exist"),
            kind @ (io::ErrorKind::NotADirectory
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::StorageFull) => io::Error::from(kind),
            _ => error,
        })?;
        Ok(Self { unfinished, new, folder: folder.to_owned() })
    }

    /// The folder for new files.
    pub(crate) fn path(&self) -> &Path {
        &self.new
    }

    /// The folder of the final names.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Begins to publish the files.
    ///
    /// # Errors
    /// An error if [`abandon_all`](super::abandon_all) was called.
    pub(crate) fn publishing(&self) -> Result<Publishing<'_>, Error> {
        self.unfinished.publishing().map_err(|error| Error::new(&self.folder, error))
    }

    /// The target paths of the files with these names.
    ///
    /// # Errors
    /// The errors of [`destination`]; an error if a target is on another file system, or if two
    /// names mean one file.
    pub(crate) fn destinations(
        &self,
        names: impl Iterator<Item = OsString>,
        replace: bool,
    ) -> Result<Vec<File>, Error> {
        let (mut files, mut are_links) = (Vec::new(), false);
        for name in names {
            let path = self.folder.join(&name);
            let to = destination(&path, replace)?;
            if to != path {
                are_links = true;
                let device = |path: &Path| fs::metadata(path).map(|folder| folder.dev()).ok();
                if to.parent().map(device) != Some(device(&self.new)) {
                    let text = "is a symbolic link to another file system";
                    return Err(Error::new(&path, io::Error::other(text)));
                }
            }
            files.push(File { name, to });
        }
        let mut seen = BTreeSet::new();
        let mut is_seen = |file: &File| fs::canonicalize(&file.to).is_ok_and(|to| !seen.insert(to));
        match files.iter().find(|file| are_links && is_seen(file)) {
            Some(file) => {
                let text = "is by a symbolic link the same file as another one that is made";
                Err(Error::new(&self.folder.join(&file.name), io::Error::other(text)))
            }
            None => Ok(files),
        }
    }

    /// Gives the files their permissions, and has them written where an error of it would be told:
    /// with `durable` on the disk, otherwise where the close of a file tells it too late.
    pub(super) fn complete(
        &self,
        files: &[File],
        mode: Option<u32>,
        durable: bool,
    ) -> Result<(), Error> {
        let is_synced = durable || !is_local(&self.new);
        for File { name, to } in files {
            let from = self.new.join(name);
            let at = |error| Error::new(to, error);
            // Opened first: what it becomes may not be readable.
            let file = if is_synced { Some(PosixFile::open(&from).map_err(at)?) } else { None };
            give_mode(&from, to, mode)?;
            file.map_or(Ok(()), |file| file.sync()).map_err(at)?;
        }
        Ok(())
    }

    /// Moves the files to their targets, in order, each in place of a file that may be there: these
    /// are in the folder of replaced files until all have their names, and come back if that fails.
    pub(crate) fn replace(
        &self,
        publishing: &Publishing<'_>,
        files: &[File],
        durable: bool,
    ) -> Result<(), Error> {
        let aside = self.new.with_file_name(REPLACED);
        let (moved, result) = self.set_aside(&aside, files);
        // A power cut must not keep a new name and undo that an old one was taken away.
        let result = result.and_then(|()| if durable { sync_folders(files) } else { Ok(()) });
        let result = result.and_then(|()| self.publish(publishing, files, false, durable));
        if result.is_err() {
            let back = |file: &File| rename(&aside.join(&file.name), &file.to, false);
            // Later files first, as always: without one of them the first stays away, too.
            if moved.into_iter().rev().any(|file| back(file).is_err()) {
                self.keep();
            }
        }
        result
    }

    /// Moves the existing files into the folder `aside`, the first file first; returns the moved
    /// files.
    fn set_aside<'a>(&self, aside: &Path, files: &'a [File]) -> (Vec<&'a File>, Result<(), Error>) {
        let mut moved = Vec::new();
        if let Err(error) = fs::create_dir(aside) {
            return (moved, Err(Error::new(self.folder(), error)));
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

    /// Moves the files to their targets, in order. Replaces existing files if `replace` is set. If
    /// one move fails, undoes the earlier ones.
    pub(crate) fn publish(
        &self,
        _: &Publishing<'_>,
        files: &[File],
        replace: bool,
        durable: bool,
    ) -> Result<(), Error> {
        for file in files {
            check_free(&file.to, replace)?;
        }
        let mut moved = Vec::new();
        let published = self.publish_each(files, replace, durable, &mut moved);
        if published.is_err() && !replace {
            for (File { name, to }, made) in moved.into_iter().rev() {
                // Another run may have replaced it. If it cannot be moved back, the error is told
                // all the same.
                if made.is_some() && made == identity(to) {
                    let _ = fs::rename(to, self.new.join(name));
                }
            }
        }
        published
    }

    fn publish_each<'a>(
        &self,
        files: &'a [File],
        replace: bool,
        durable: bool,
        moved: &mut Vec<(&'a File, Option<(u64, u64)>)>,
    ) -> Result<(), Error> {
        let sync = || if durable { sync_folders(files) } else { Ok(()) };
        for (index, file) in files.iter().enumerate() {
            if index > 0 && index.saturating_add(1) == files.len() {
                sync()?; // A power cut must not keep the last name and lose another.
            }
            let from = self.new.join(&file.name);
            let made = identity(&from);
            rename(&from, &file.to, replace)?;
            moved.push((file, made));
        }
        sync()
    }

    /// Keeps the hidden folder when this is dropped.
    fn keep(&self) {
        self.unfinished.keep();
    }
}

fn is_not_found(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Io(error) if error.kind() == io::ErrorKind::NotFound)
}

/// Makes the names in the folders of the files durable.
pub(super) fn sync_folders(files: &[File]) -> Result<(), Error> {
    let folders: BTreeSet<_> = files.iter().filter_map(|file| file.to.parent()).collect();
    let sync = |folder: &&Path| sync_folder(folder).map_err(|error| Error::new(folder, error));
    folders.iter().try_for_each(sync)
}
