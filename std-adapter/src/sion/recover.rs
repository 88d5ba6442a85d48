//! Recovers sets that were never closed, or whose META2 is damaged.
//!
//! ```
//! use striae::sion::recover::Recover;
//!
//! # let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/doc");
//! # let unclosed = format!("{golden}/s21_unclosed_keyval.sion");
//! # let folder = tempfile::tempdir()?;
//! # let closed = folder.path().join("closed.sion");
//! let recovery = Recover::new().examine(&unclosed)?;
//! for task in recovery.tasks() {
//!     let found = task.recovered;
//!     println!("task {}: {} bytes, {}", task.task, found.bytes, task.certainty());
//! }
//! recovery.write(&closed, &|_| {})?;
//! assert!(recovery.is_sound());
//! assert_eq!(striae::sion::File::open(&closed)?.task(0)?.bytes, 1122);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::ErrorKind;
use super::siblings::{Places, all_of_set, files_of, of_sibling, sibling_path};
use super::write::refuse_others;
use crate::copy::{CopyError, Place};
use crate::error::Error;
use crate::files::{FileStore, Files, max_open_files};
use crate::posix::PosixFile;
use crate::publish::{Numbering, spare};
use crate::store::SparseFile;
use crate::verb::{Options, Output, judgement_of};
use crc32c::crc32c_append;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use striae_core::sion::Meta1;
pub use striae_core::sion::recover::{Doubt, Proof, Recovered};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::ReadAt;
use striae_inspect::sion::mapping::Address;
use striae_inspect::sion::recover::{self, Bytes, Refused, Unwritten};
pub use striae_inspect::sion::recover::{Certainty, OfSet, RecoveredTask};

/// Options for recovering a set.
///
/// The old set may be closed, committed, never closed, cut, or damaged in META2; it is only read.
/// Its META1 must be sound. [`striae_core::sion::recover`] says what proves the length of a stream
/// and what is a guess.
pub type Recover = Options<How>;

/// The options that only SIONlib sets have.
#[derive(Debug, Clone, Copy, Default)]
pub struct How {
    alone: bool,
}

/// The part of a set that can be recovered.
#[derive(Debug)]
pub struct Recovery {
    path: PathBuf,
    files: Vec<FileStore>,
    set: recover::Recovery,
    output: Output,
}

impl Recover {
    /// Recovers only the named physical file, even if it is the first of several. The new set then
    /// has one file.
    #[must_use]
    pub const fn alone(mut self, alone: bool) -> Self {
        self.how.alone = alone;
        self
    }

    /// Finds the length of every stream of the set whose first file is at `path`. A later file of a
    /// set is examined alone. In place of a file that is lost, that of a buddy set is examined, if
    /// there is one: see [`Recovery::copies`].
    ///
    /// # Errors
    /// An error for the file that is missing, unreadable, of another set, or damaged in META1;
    /// [`NoCopy`](ErrorKind::NoCopy) for a file that is not of a buddy set of this set;
    /// [`TooManyChunks`](ErrorKind::TooManyChunks) if a physical file has more than 2^25 chunks
    /// with data, or if its META2 would be longer than 4 GiB.
    pub fn examine(&self, path: impl AsRef<Path>) -> Result<Recovery, Error> {
        let path = path.as_ref();
        let mut files = Files::empty(max_open_files(), None);
        let mut add = |path: &Path| {
            let bulk = files.add(path).map_err(|error| Error::new(path, error))?;
            Ok::<_, Error>(SparseFile::new(Arc::clone(bulk.file())))
        };
        let places = Places::new(path);
        let find = |number| match self.how.alone {
            true => sibling_path(path, number),
            false => places.find(number),
        };
        let first = find(0);
        let source = add(&first)?;
        let set = recover::Recovery::of(&source, crc32c_append);
        let set = set.map_err(|error| Error::new(&first, error))?;
        let mut set = set.max_size(self.output.allowed());
        let nfiles = match set.first() {
            Some(meta1) if !self.how.alone => {
                files_of(meta1, path).map_err(|error| Error::new(path, error))?
            }
            _ => 1,
        };
        for number in 1..nfiles {
            let sibling = find(number);
            let part = add(&sibling).and_then(|source| {
                set.add(&source, crc32c_append).map_err(|error| Error::new(&sibling, error))
            });
            part.map_err(|error| of_sibling(error, path, nfiles))?;
        }
        if nfiles > 1 {
            set.check_set().map_err(|error| Error::new(path, error))?;
        }
        let files: Vec<_> = Arc::new(files).stores().collect();
        take_copies(path, &files, &mut set)?;
        let path_of = |number| files.get(number).map_or(path, FileStore::path);
        let open = |number: usize| match files.get(number) {
            Some(file) => sparse(file),
            None => Err(Error::new(path, crate::error::ErrorKind::Ended { offset: 0 })),
        };
        set.bring_together(open, |number, error| Error::new(path_of(number), error))?;
        for (number, file) in files.iter().enumerate() {
            set.examine(number, &sparse(file)?).map_err(|error| match error {
                Refused::TooManyChunks { blockcount, limit } => {
                    Error::new(file.path(), ErrorKind::TooManyChunks { blockcount, limit })
                }
                Refused::Failed(error) => Error::new(file.path(), error),
            })?;
        }
        Ok(Recovery { path: path.to_owned(), files, set, output: self.output })
    }
}

/// Takes files of buddy sets for those of the set at `path` that are lost.
fn take_copies(path: &Path, files: &[FileStore], set: &mut recover::Recovery) -> Result<(), Error> {
    let is_copy = |number: u32, file: &FileStore| file.path() != sibling_path(path, number);
    let Some(known) = (0..).zip(files).find(|&(number, file)| !is_copy(number, file)) else {
        (0..files.len()).for_each(|number| set.take_for_lost(number));
        return Ok(());
    };
    let known = fixed_of(known.1)?;
    for (number, file) in (0..).zip(files).filter(|&(number, file)| is_copy(number, file)) {
        let copy = fixed_of(file)?;
        let field = match (known.0 == copy.0, known.1 == copy.1) {
            (true, true) => {
                set.take_for_lost(usize::try_from(number).unwrap_or(usize::MAX));
                continue;
            }
            (false, _) => "fsblksize",
            (true, false) => "filenameprefix",
        };
        let kind = ErrorKind::NoCopy { lost: sibling_path(path, number), field };
        return Err(Error::new(file.path(), kind));
    }
    Ok(())
}

/// fsblksize and filenameprefix of a file, which the copies of a file have, too.
fn fixed_of(file: &FileStore) -> Result<(u32, Vec<u8>), Error> {
    let mut bytes = [0; Meta1::MAX_LEN];
    let store = file.file().map_err(|error| Error::new(file.path(), error))?;
    let len = store.size().map_err(|error| Error::new(file.path(), error))?;
    let front = usize::try_from(len).unwrap_or(usize::MAX).min(bytes.len());
    let bytes = bytes.get_mut(..front).unwrap_or_default();
    let read = store.read_at(0, bytes).map_err(|error| Error::new(file.path(), error))?;
    let bytes = bytes.get(..read).unwrap_or_default();
    let meta1 = Meta1::parse(bytes, len).map_err(|error| Error::new(file.path(), error))?;
    Ok((meta1.fsblksize(), meta1.prefix(bytes).to_vec()))
}

judgement_of!(Recovery.set: recover::Recovery);

impl Recovery {
    /// Paths of the physical files.
    #[must_use]
    pub fn files(&self) -> impl ExactSizeIterator<Item = &Path> {
        self.files.iter().map(FileStore::path)
    }

    /// The physical files that are lost, and the files of buddy sets in their place.
    pub fn copies(&self) -> impl Iterator<Item = (PathBuf, &Path)> {
        super::file::copies(&self.path, self.files())
    }

    /// The physical files whose streams are placed anew, each in one chunk, with an fsblksize that
    /// suits: with all chunks in their places the new file would be larger than what exists of the
    /// old one justifies ([`Output::max_size`] allows more), or the old one is of a buddy set.
    /// (Block, position) pointers into these streams are no longer valid.
    pub fn placed_anew(&self) -> impl Iterator<Item = &Path> {
        let files = self.files().enumerate();
        files.filter(|&(number, _)| self.set.is_placed_anew(number)).map(|(_, path)| path)
    }

    /// Writes a closed set whose first file is `out`. `progress` gets the length of each copied
    /// piece of a stream.
    ///
    /// The new set has the same physical files, META1 and chunks as the old one, with the data at
    /// the same offsets, so (block, position) pointers stay valid, unless streams are
    /// [placed anew](Self::placed_anew). Bytes that are in no stream are not copied. The set is
    /// written under hidden names and renamed when it is complete: see
    /// [`Publish`](crate::publish::Publish).
    ///
    /// A physical file of which all streams are exact is sealed with the checksums of the old seal.
    /// Otherwise the copy has no seal: it is sound, and its data is not proven.
    ///
    /// # Errors
    /// [`TooLarge`](crate::error::ErrorKind::TooLarge) if the new set would be larger than
    /// [`Output::max_size`] allows; [`NoRoom`](crate::error::ErrorKind::NoRoom) if the file system
    /// has less room than the streams and tables need;
    /// [`Exists`](crate::error::ErrorKind::Exists) for a file that exists already;
    /// [`Source`](crate::error::ErrorKind::Source) for a file of the damaged set, which is never
    /// replaced; [`OldBuddy`](ErrorKind::OldBuddy) for a file that would be taken for a copy of the
    /// new set;
    /// an error of the operating system.
    pub fn write(&self, out: &Path, progress: &dyn Fn(u64)) -> Result<(), Error> {
        let nfiles = u32::try_from(self.files.len()).ok().and_then(NonZeroU32::new);
        let nfiles = nfiles.unwrap_or(NonZeroU32::MIN);
        refuse_others(out, nfiles.get(), 0)?;
        let known = self.files.iter().map(|file| file.path().to_owned());
        let all = self.set.first().map(|meta1| all_of_set(&self.path, meta1));
        let all: Vec<_> = known.chain(all.into_iter().flatten()).collect();
        spare(Numbering::Set.paths(out, nfiles.get()), all.iter().map(PathBuf::as_path))?;
        let like = self.files.first().map(FileStore::path);
        self.output.admit(&self.path, &self.set.demand(), "its streams have so many bytes")?;
        Output::has_room(out, self.set.stored())?; // all else is a hole
        let mapping = self.set.mapping();
        self.output.make(out, nfiles, like, |publish| {
            (0..self.files.len()).try_for_each(|number| {
                let hidden = publish.hidden(u32::try_from(number).unwrap_or(u32::MAX));
                self.write_file((number, &mapping), &hidden, progress)
            })
        })
    }

    /// Writes a physical file at the path `hidden`.
    fn write_file(
        &self,
        (number, mapping): (usize, &[Address]),
        hidden: &Path,
        progress: &dyn Fn(u64),
    ) -> Result<(), Error> {
        let Some(from) = self.files.get(number) else { return Ok(()) };
        let source = sparse(from)?;
        let file = PosixFile::create(hidden, false).map_err(|error| Error::new(hidden, error))?;
        let file = file.durable(false); // nobody knows it yet: nothing comes before something else
        let mut copier = self.output.copier(None);
        let mut copy = |to: &mut &PosixFile, span: Span, at, what| {
            let progress = if what == Bytes::Data { progress } else { &|_| {} };
            let place = Place { file: to, offset: at, zeros: true };
            copier.copy(source.file(), span, &place, progress).map_err(|error| match error {
                CopyError::Read(error) => Unwritten::Read(DriveError::Store(error)),
                CopyError::Ended { offset } => Unwritten::Read(DriveError::Ended { offset }),
                CopyError::Write(error) => Unwritten::Write(DriveError::Store(error)),
            })
        };
        let written =
            self.set.write((number, mapping), &source, &mut &file, crc32c_append, &mut copy);
        written.map_err(|error| match error {
            Unwritten::Read(error) => Error::new(from.path(), error),
            Unwritten::Write(error) => Error::new(hidden, error),
        })
    }
}

/// A file whose holes are known and not read.
fn sparse(file: &FileStore) -> Result<SparseFile, Error> {
    file.file().map(SparseFile::new).map_err(|error| Error::new(file.path(), error))
}
