//! How a new file is made.

use super::{Durability, FileWriter, Settings};
use crate::error::Error;
use crate::posix::PosixFile;
use crate::publish::Publish;
use crate::store::lock::{Locked, lock, lock_replaced};
use std::num::NonZeroU32;
use std::path::Path;
use striae_core::gsd::{Attributes, Version};

/// How a new file is made: what it says about itself, its layout, and how it is written.
///
/// See [`FileWriter`] for an example.
#[derive(Debug, Clone)]
pub struct Builder {
    application: String,
    schema: String,
    /// The other attributes of the file.
    attributes: Attributes<'static>,
    overwrite: bool,
    in_place: bool,
    settings: Settings,
}

impl Default for Builder {
    fn default() -> Self {
        let attributes = Attributes::default();
        let (application, schema) = (String::new(), String::new());
        let (overwrite, in_place, settings) = (false, false, Settings::default());
        Self { application, schema, attributes, overwrite, in_place, settings }
    }
}

impl Builder {
    /// Returns the defaults: layer 2.1 without schema, as gsd makes files, and commits that survive
    /// a power cut.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A builder of a file with these attributes.
    pub(in crate::gsd) fn like(attributes: &Attributes<'_>) -> Self {
        let (application, schema) = (attributes.application.into(), attributes.schema.into());
        let attributes = Attributes { application: "", schema: "", ..*attributes };
        Self { application, schema, attributes, ..Self::default() }
    }

    /// Sets the name of the program that makes the file, at most 63 bytes.
    #[must_use]
    pub fn application(mut self, name: impl Into<String>) -> Self {
        self.application = name.into();
        self
    }

    /// Sets the name of the schema, at most 63 bytes, and its version.
    #[must_use]
    pub fn schema(mut self, name: impl Into<String>, version: Version) -> Self {
        self.schema = name.into();
        self.attributes.schema_version = version;
        self
    }

    /// Sets the layer of the file: 2.1, or 1.0 for old readers.
    #[must_use]
    pub const fn layer(mut self, layer: Version) -> Self {
        self.attributes.layer = layer;
        self
    }

    /// Sets the alignment of chunks in bytes: a power of two, 1 by default.
    #[must_use]
    pub const fn align(mut self, bytes: u64) -> Self {
        self.attributes.align = bytes;
        self
    }

    /// Whether each frame has checksums of its chunks.
    #[must_use]
    pub const fn checksums(mut self, checksums: bool) -> Self {
        self.attributes.checksums = checksums;
        self
    }

    /// Sets the slots of the first index, at least 128. When it is full, it is copied to an index
    /// of twice the size, and the old index stays in the file.
    #[must_use]
    pub const fn index_slots(mut self, slots: u64) -> Self {
        self.attributes.index_slots = slots;
        self
    }

    /// Sets the bytes of the first name list, by default 1024. When it is full, it is copied to a
    /// list of twice the size, and the old list stays in the file.
    #[must_use]
    pub const fn names_len(mut self, bytes: u64) -> Self {
        self.attributes.names_len = bytes;
        self
    }

    /// Whether an existing file is replaced; otherwise it is an error. A symbolic link stays, and
    /// its target is replaced.
    #[must_use]
    pub const fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Whether an existing file that is [overwritten](Self::overwrite) is emptied and written anew,
    /// as gsd does: it keeps its inode, its hard links and its permissions. Its old contents are
    /// lost at once, also if this fails.
    #[must_use]
    pub const fn in_place(mut self, in_place: bool) -> Self {
        self.in_place = in_place;
        self
    }

    /// Sets what commits survive.
    #[must_use]
    pub const fn durability(mut self, durability: Durability) -> Self {
        self.settings.durability = durability;
        self
    }

    /// Whether commits take one sync instead of two where possible: about twice as many commits a
    /// second. Such a commit survives a power cut, but gsd sees it only after striae has opened the
    /// file to write again, or after the next commit, or after the close.
    #[must_use]
    pub const fn one_sync(mut self, one_sync: bool) -> Self {
        self.attributes.one_sync = one_sync;
        self
    }

    /// Sets the bytes that are gathered before a write, 1 MiB by default.
    #[must_use]
    pub const fn buffer(mut self, bytes: usize) -> Self {
        self.settings.buffer = bytes;
        self
    }

    /// Whether the file is locked against other writers, and a file with another writer is not
    /// replaced; by default `true`.
    #[must_use]
    pub const fn lock(mut self, lock: bool) -> Self {
        self.settings.lock = lock;
        self
    }

    /// Tells the writer that the file is closed before anybody sees it, and that the caller renames
    /// it and makes it durable.
    pub(in crate::gsd) const fn hidden(mut self) -> Self {
        self.settings.hidden = true;
        self.settings.durability = Durability::None;
        self.settings.lock = false;
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
        if self.overwrite
            && self.in_place
            && let Some(writer) = self.create_in_place(path)?
        {
            return Ok(writer);
        }
        let publish = Publish::new(path, NonZeroU32::MIN, self.overwrite)?;
        let replaced = match self.settings.lock && self.overwrite {
            true => lock_replaced(path)?,
            false => None,
        };
        let file = PosixFile::create(&publish.hidden(0), false);
        let durable = self.settings.durability == Durability::OnCommit;
        let file = file.map_err(|error| Error::new(path, error))?.durable(durable);
        let file = lock(file, path, self.settings.lock)?;
        let writer = FileWriter::make(file, path, &self.attributes(), self.settings)?;
        publish.finish(durable)?;
        drop(replaced); // nobody else could write to it until it had no name
        Ok(writer)
    }

    /// Empties the file at `path` and makes it an empty GSD file; `None` if there is no file.
    fn create_in_place(&self, path: &Path) -> Result<Option<FileWriter>, Error> {
        let durable = self.settings.durability == Durability::OnCommit;
        let file = match Locked::open(path, durable, self.settings.lock) {
            Ok(file) => file,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        };
        file.set_size(0).map_err(|error| Error::new(path, error))?;
        FileWriter::make(file, path, &self.attributes(), self.settings).map(Some)
    }

    fn attributes(&self) -> Attributes<'_> {
        Attributes { application: &self.application, schema: &self.schema, ..self.attributes }
    }
}
