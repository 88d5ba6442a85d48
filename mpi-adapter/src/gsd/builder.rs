//! How a file is made, and opened to append to it.

use super::of_striae;
use super::root::Root;
use super::writer::FileWriter;
use crate::collective::Collective;
use crate::error::{Code, Error, Failure};
use crate::operation::Operation;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use striae::gsd::{Durability, FileOptions, WriteOptions};
use striae::lock::{Locked, lock};
use striae::posix::PosixFile;
use striae::publish::Publish;
use striae_core::integrity::crc32c;
use striae_core::store::WriteAt;

/// How a new file is made: what it says about itself, and its layout. All ranks must pass equal
/// options ([`Code::Differ`](crate::Code::Differ)).
///
/// The [module](super) has an example.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    file: FileOptions,
    write: WriteOptions,
}

impl Builder {
    /// Returns the defaults: layer 2.1 without schema, as gsd makes files, and commits that survive
    /// a power cut.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    striae::gsd_file_options!(application schema layer align checksums index_slots names_len);
    striae::gsd_file_options!(force);
    striae::write_options!(durability lock);

    /// Makes an empty file at `path`. All ranks call this. It takes three calls of the message
    /// layer.
    ///
    /// Rank 0 makes the file under a hidden name and renames it when it is complete. If this is
    /// interrupted, `path` is unchanged or is an empty GSD file.
    ///
    /// # Errors
    /// The failure of a rank, at all ranks: [`Code::Refused`](crate::Code::Refused) if the file
    /// exists and may not be replaced, has another writer, or for options that no file can have; an
    /// error of the operating system; [`Code::Differ`](crate::Code::Differ). The file may have been
    /// made.
    pub fn create<C: Collective>(
        &self,
        comm: C,
        path: impl AsRef<Path>,
    ) -> Result<FileWriter<C>, Error> {
        let path = path.as_ref();
        let begin = || self.publish(path).map_err(|error| of_striae("making the file", &error));
        FileWriter::begin(
            comm,
            (Operation::GsdCreate, self.fingerprint(path)),
            || begin()?,
            |number| open_same(path, self.write, number),
        )
    }

    /// Makes the file as [`create`](Self::create) does, in files of any kind. `open` makes the file
    /// at rank 0 if it gets `true`, and then opens it at each other rank. Nothing is locked.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_in<C: Collective, F>(
        &self,
        comm: C,
        open: impl Fn(bool) -> io::Result<F>,
    ) -> Result<FileWriter<C, F>, Error>
    where
        F: WriteAt<Error = io::Error>,
        for<'f> &'f F: WriteAt<Error = io::Error>,
    {
        let opened = |anew| open(anew).map_err(|error| Failure::io("opening the file", &error));
        let begin = || Ok((Root::create(opened(true)?, &self.file.attributes(), None)?, 0));
        let operation = (Operation::GsdCreate, self.fingerprint(Path::new("")));
        FileWriter::begin(comm, operation, begin, |_| opened(false))
    }

    fn publish(
        &self,
        path: &Path,
    ) -> Result<Result<(Root<PosixFile>, u64), Failure>, striae::Error> {
        let is_locked = self.write.lock;
        let publish = Publish::single(path, self.file.force, is_locked)?;
        let at = |error| striae::Error::new(path, error);
        let made = PosixFile::create(&publish.hidden(0), false).map_err(at)?;
        let lock = lock(made, path, is_locked)?;
        let file = PosixFile::open_rw(&publish.hidden(0)).map_err(at)?;
        let (file, number) = numbered(file, self.write);
        let root = match Root::create(file, &self.file.attributes(), Some(lock)) {
            Ok(root) => root,
            Err(failure) => return Ok(Err(failure)),
        };
        publish.finish(self.write.is_durable())?;
        Ok(Ok((root, number)))
    }

    /// A number of everything that must be equal at all ranks.
    fn fingerprint(&self, path: &Path) -> u32 {
        crc32c(crc32c(0, path.as_os_str().as_bytes()), format!("{self:?}").as_bytes())
    }
}

/// How to open a file to append to it, made by gsd or by striae. All ranks must pass equal options.
///
/// Bytes after the last commit are dropped. Nothing is moved. If gsd has appended to a file of
/// striae, new frames have no checksums and no alignment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reopen {
    write: WriteOptions,
}

impl Reopen {
    /// Returns the defaults: commits survive a power cut, and the file is locked.
    #[must_use]
    pub const fn new() -> Self {
        Self { write: WriteOptions::NEW }
    }

    striae::write_options!(durability lock);

    /// Opens the file at `path` to append to it. All ranks call this. It takes three calls of the
    /// message layer.
    ///
    /// # Errors
    /// The failure of a rank, at all ranks: [`Code::Refused`](crate::Code::Refused) if another
    /// writer has the file; [`Code::Damaged`](crate::Code::Damaged) if it is no GSD file or is
    /// damaged; an error of the operating system; [`Code::Differ`](crate::Code::Differ).
    pub fn open<C: Collective>(
        &self,
        comm: C,
        path: impl AsRef<Path>,
    ) -> Result<FileWriter<C>, Error> {
        let path = path.as_ref();
        let fingerprint = crc32c(0, path.as_os_str().as_bytes());
        let fingerprint = crc32c(fingerprint, format!("{self:?}").as_bytes());
        let begin = || {
            let locked = Locked::open(path, self.write.is_durable(), self.write.lock);
            let locked = locked.map_err(|error| of_striae("opening the file", &error))?;
            let (file, number) = numbered(open(path)?, self.write);
            if file.identity() != locked.identity() {
                return Err(replaced());
            }
            // The visible state may come from a killed program and not be durable yet.
            file.sync().map_err(|error| Failure::io("syncing the file", &error))?;
            Ok((Root::open(file, Some(locked))?, number))
        };
        let operation = (Operation::GsdReopen, fingerprint);
        FileWriter::begin(comm, operation, begin, |number| open_same(path, self.write, number))
    }
}

/// The file with its durability, and the number of its inode.
fn numbered(file: PosixFile, write: WriteOptions) -> (PosixFile, u64) {
    let file = file.durable(write.is_durable());
    let (_, number) = file.identity(); // the device may have another number on another node
    (file, number)
}

/// Opens the file that rank 0 has under `path`, of which the inode has this number.
fn open_same(path: &Path, write: WriteOptions, number: u64) -> Result<PosixFile, Failure> {
    match numbered(open(path)?, write) {
        (file, other) if other == number => Ok(file),
        _ => Err(replaced()),
    }
}

fn open(path: &Path) -> Result<PosixFile, Failure> {
    PosixFile::open_rw(path).map_err(|error| Failure::io("opening the file", &error))
}

pub(super) fn replaced() -> Failure {
    Failure::new(Code::Damaged, "the file is another one than that of rank 0")
}
