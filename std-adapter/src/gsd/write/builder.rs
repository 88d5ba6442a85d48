//! How a new file is made.

use super::{FileOptions, FileWriter};
use crate::error::{Error, ErrorKind};
use crate::lock::{Locked, lock};
use crate::posix::{PosixFile, sync_parent};
use crate::publish::Publish;
use crate::store::{Durability, WriteOptions};
use std::io;
use std::path::Path;
use striae_core::gsd::Attributes;
use striae_core::gsd::create::Create;

/// How a new file is made: what it says about itself, its layout, and how it is written.
///
/// See [`FileWriter`] for an example.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    file: FileOptions,
    write: WriteOptions,
    in_place: bool,
    /// Whether it is closed before anybody sees it.
    is_hidden: bool,
}

impl Builder {
    /// Returns the defaults: layer 2.1 without schema, as gsd makes files, and commits that survive
    /// a power cut.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    crate::gsd_file_options!(application schema layer align checksums index_slots names_len);
    crate::gsd_file_options!(force);
    crate::write_options!(durability lock buffer);

    /// A builder of a file with these attributes.
    pub(in crate::gsd) fn like(attributes: &Attributes<'_>) -> Self {
        let others = Attributes { application: "", schema: "", ..*attributes };
        let (application, schema) = (attributes.application.into(), attributes.schema.into());
        let file = FileOptions { application, schema, others, force: false };
        Self { file, ..Self::default() }
    }

    /// Whether an existing file is emptied and used, as gsd does, instead of being replaced by a
    /// new one: its inode, permissions and hard links stay, and programs that have it open see the
    /// new content. If this is interrupted, the file can be without any content.
    #[must_use]
    pub const fn in_place(mut self, in_place: bool) -> Self {
        self.in_place = in_place;
        self
    }

    /// Whether commits take one sync instead of two where possible: about twice as many commits a
    /// second. Such a commit survives a power cut, but gsd sees it only after striae has opened the
    /// file to write again, or after the next commit, or after the close.
    #[must_use]
    pub const fn one_sync(mut self, one_sync: bool) -> Self {
        self.file.others.one_sync = one_sync;
        self
    }

    /// Tells the writer that the file is closed before anybody sees it, and that the caller renames
    /// it and makes it durable.
    pub(in crate::gsd) const fn hidden(mut self) -> Self {
        self.is_hidden = true;
        self.write.durability = Durability::None;
        self.write.lock = false;
        self
    }

    /// Makes an empty file at `path`.
    ///
    /// The file is made in a hidden folder next to `path`, and gets its name when it is complete,
    /// and durable if commits are to be durable. If this is interrupted, `path` is unchanged or is
    /// an empty GSD file. Only the hidden folder, `.striae-` and some letters, can be left.
    ///
    /// # Errors
    /// - [`ErrorKind::Exists`](crate::error::ErrorKind::Exists) if a file exists and may not be
    ///   replaced.
    /// - [`ErrorKind::Locked`](crate::error::ErrorKind::Locked) if another writer has the file that
    ///   is to be replaced.
    /// - [`OutOfRange`](striae_core::gsd::Error::OutOfRange) or
    ///   [`Layer`](striae_core::gsd::Error::Layer) for attributes that no file can have.
    /// - An error of the operating system.
    pub fn create(&self, path: impl AsRef<Path>) -> Result<FileWriter, Error> {
        let path = path.as_ref();
        if self.in_place {
            return self.create_in_place(path);
        }
        let publish = Publish::single(path, self.file.force, self.write.lock)?;
        let file = PosixFile::create(&publish.hidden(0), false);
        let durable = self.write.is_durable();
        let file = file.map_err(|error| Error::new(path, error))?.durable(durable);
        let file = lock(file, path, self.write.lock)?;
        let writer = self.make(file, path)?;
        publish.finish(durable)?;
        Ok(writer)
    }

    /// Makes the file where it stays, in the existing one if there is one.
    fn create_in_place(&self, path: &Path) -> Result<FileWriter, Error> {
        let at = |error| Error::new(path, error);
        // What no file can be is known before the old file is emptied.
        let checked = Create::new(&self.file.attributes(), 0, crc32c::crc32c_append);
        checked.map_err(|error| Error::new(path, error))?;
        let (file, is_new) = match PosixFile::open_rw(path) {
            Ok(_) if !self.file.force => return Err(Error::new(path, ErrorKind::Exists)),
            Ok(file) => (file, false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (PosixFile::create(path, false).map_err(at)?, true)
            }
            Err(error) => return Err(at(error)),
        };
        let durable = self.write.is_durable();
        let file = lock(file.durable(durable), path, self.write.lock)?;
        file.set_size(0).map_err(at)?; // once it is locked
        let writer = self.make(file, path)?;
        if durable && is_new {
            sync_parent(path).map_err(at)?;
        }
        Ok(writer)
    }

    fn make(&self, file: Locked, path: &Path) -> Result<FileWriter, Error> {
        FileWriter::make(file, path, (&self.file.attributes(), self.is_hidden), self.write.buffer)
    }
}
