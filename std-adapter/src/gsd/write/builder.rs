//! How a new file is made.

use super::lock::{lock, lock_replaced};
use super::{Durability, FileWriter, Settings};
use crate::error::Error;
use crate::posix::PosixFile;
use crate::publish::Publish;
use std::num::NonZeroU32;
use std::path::Path;
use striae_core::gsd::{Attributes, Version};

/// How a new file is made: what it says about itself, how it is laid out, and how it is written.
///
/// See [`FileWriter`] for an example.
#[derive(Debug, Clone)]
pub struct Builder {
    application: String,
    schema: String,
    /// The rest of what the file is to be.
    attributes: Attributes<'static>,
    overwrite: bool,
    settings: Settings,
}

impl Default for Builder {
    fn default() -> Self {
        let attributes = Attributes::default();
        let (application, schema) = (String::new(), String::new());
        Self { application, schema, attributes, overwrite: false, settings: Settings::default() }
    }
}

impl Builder {
    /// A file of layer 2.1 without schema, as gsd makes it, with commits that survive a power cut.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A file of these attributes.
    pub(in crate::gsd) fn like(attributes: &Attributes<'_>) -> Self {
        let (application, schema) = (attributes.application.into(), attributes.schema.into());
        let attributes = Attributes { application: "", schema: "", ..*attributes };
        Self { application, schema, attributes, ..Self::default() }
    }

    /// Name of the program that makes the file, at most 63 bytes.
    #[must_use]
    pub fn application(mut self, name: impl Into<String>) -> Self {
        self.application = name.into();
        self
    }

    /// Name of the schema, at most 63 bytes, and its version.
    #[must_use]
    pub fn schema(mut self, name: impl Into<String>, version: Version) -> Self {
        self.schema = name.into();
        self.attributes.schema_version = version;
        self
    }

    /// Layer of the file: 2.1, or 1.0 for readers of long ago.
    #[must_use]
    pub const fn layer(mut self, layer: Version) -> Self {
        self.attributes.layer = layer;
        self
    }

    /// Chunks start at multiples of so many bytes: a power of two, 1 unless told.
    #[must_use]
    pub const fn align(mut self, bytes: u64) -> Self {
        self.attributes.align = bytes;
        self
    }

    /// Whether each frame carries checksums of its chunks.
    #[must_use]
    pub const fn checksums(mut self, checksums: bool) -> Self {
        self.attributes.checksums = checksums;
        self
    }

    /// Slots of the first index, at least 128. It doubles when it is full, which costs a copy;
    /// the old one stays in the file.
    #[must_use]
    pub const fn index_slots(mut self, slots: u64) -> Self {
        self.attributes.index_slots = slots;
        self
    }

    /// Bytes of the first name list, 1024 unless told. It doubles when it is full; the old one
    /// stays in the file.
    #[must_use]
    pub const fn names_len(mut self, bytes: u64) -> Self {
        self.attributes.names_len = bytes;
        self
    }

    /// Replaces a file that has the name already, instead of refusing it. A symbolic link stays,
    /// and what it points to is replaced.
    #[must_use]
    pub const fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// What commits survive.
    #[must_use]
    pub const fn durability(mut self, durability: Durability) -> Self {
        self.settings.durability = durability;
        self
    }

    /// Whether commits take one sync where that is possible, and not two: about twice as many a
    /// second. Such a commit survives a power cut, but gsd sees it only when striae has opened the
    /// file to write since, or the next commit was made, or the file closed.
    #[must_use]
    pub const fn one_sync(mut self, one_sync: bool) -> Self {
        self.attributes.one_sync = one_sync;
        self
    }

    /// Bytes that are gathered before they are written, 1 MiB unless told.
    #[must_use]
    pub const fn buffer(mut self, bytes: usize) -> Self {
        self.settings.buffer = bytes;
        self
    }

    /// Whether others are kept from writing to the file, and it is refused to replace one that
    /// somebody writes to: they are unless told.
    #[must_use]
    pub const fn lock(mut self, lock: bool) -> Self {
        self.settings.lock = lock;
        self
    }

    /// The file is closed before anybody sees it, and whoever gives it its name makes it durable.
    pub(in crate::gsd) const fn hidden(mut self) -> Self {
        self.settings.hidden = true;
        self.settings.durability = Durability::None;
        self.settings.lock = false;
        self
    }

    /// Makes an empty file at `path`.
    ///
    /// It is made in a hidden folder next to it, and gets the name when it is whole, and durable if
    /// commits are to be: whenever this is cut off, the name means what it did before, or an empty
    /// GSD file. What can be left then is the hidden folder, `.striae-` and some letters.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`](crate::error::ErrorKind::Exists);
    /// [`ErrorKind::Locked`](crate::error::ErrorKind::Locked) if the file that is to be replaced is
    /// being written; [`OutOfRange`](striae_core::gsd::Error::OutOfRange) and
    /// [`Layer`](striae_core::gsd::Error::Layer) for what no file can be; the operating system's.
    pub fn create(&self, path: impl AsRef<Path>) -> Result<FileWriter, Error> {
        let path = path.as_ref();
        let publish = Publish::new(path, NonZeroU32::MIN, self.overwrite)?;
        let replaced = match self.settings.lock && self.overwrite {
            true => lock_replaced(path)?,
            false => None,
        };
        let file = PosixFile::create(&publish.hidden(0), false);
        let durable = self.settings.durability == Durability::OnCommit;
        let file = file.map_err(|error| Error::new(path, error))?.durable(durable);
        let file = lock(file, path, self.settings.lock)?;
        let (application, schema) = (self.application.as_str(), self.schema.as_str());
        let attributes = Attributes { application, schema, ..self.attributes };
        let writer = FileWriter::make(file, path, &attributes, self.settings)?;
        publish.finish(durable)?;
        drop(replaced); // nobody else could write to it until it had no name
        Ok(writer)
    }
}
