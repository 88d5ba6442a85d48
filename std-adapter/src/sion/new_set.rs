//! A new set whose files get their names when all of them are complete.

use super::write::{Builder, FileWriter};
use crate::error::Error;
use crate::verb::{Options, Output};
use std::num::NonZeroU32;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use striae_core::endian::ByteOrder;
use striae_core::sion::filegroups::EvenFiles;
use striae_inspect::size::Demand;

/// The size of a set that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Number of physical files of the new set.
    pub files: u32,
    /// Number of tasks.
    pub tasks: u64,
    /// Bytes of all streams.
    pub bytes: u64,
}

/// The layout of a new set, and the options `H` of the verb that makes it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Laid<H> {
    pub(super) fsblksize: Option<u32>,
    nfiles: Option<NonZeroU32>,
    pub(super) order: Option<ByteOrder>,
    pub(super) sealed: Option<bool>,
    pub(super) how: H,
}

impl<H> Laid<H> {
    pub(super) fn files(&self) -> NonZeroU32 {
        self.nfiles.unwrap_or(NonZeroU32::MIN)
    }
}

impl<H> Options<Laid<H>> {
    /// Sets the number of bytes that chunk sizes are rounded up to. By default it is that of the
    /// old set, or else the file system's block size.
    #[must_use]
    pub fn fsblksize(mut self, bytes: u32) -> Self {
        self.how.fsblksize = Some(bytes);
        self
    }

    /// Sets the number of physical files of the new set.
    #[must_use]
    pub fn nfiles(mut self, nfiles: NonZeroU32) -> Self {
        self.how.nfiles = Some(nfiles);
        self
    }

    /// Sets the byte order of the metadata and of the headers of key-value records. [`Pack`] also
    /// states it for the data; [`Convert`] keeps what is stated for the data.
    ///
    /// [`Pack`]: super::Pack
    /// [`Convert`]: super::Convert
    #[must_use]
    pub fn order(mut self, order: ByteOrder) -> Self {
        self.how.order = Some(order);
        self
    }

    /// Adds a seal; with `false`, writes no seal and does not check the seals of an old set.
    #[must_use]
    pub fn sealed(mut self, sealed: bool) -> Self {
        self.how.sealed = Some(sealed);
        self
    }
}

/// The destination of a new set.
pub(super) struct NewSet<'a> {
    /// Path of its first file.
    pub(super) out: &'a Path,
    pub(super) nfiles: NonZeroU32,
    pub(super) output: Output,
    /// The source file whose permissions the new files get, if the source is one file.
    pub(super) like: Option<&'a Path>,
    pub(super) room: Room<'a>,
}

/// The room that a new set takes.
pub(super) struct Room<'a> {
    /// The first file of the source.
    pub(super) source: &'a Path,
    /// Bytes of the source, with its holes.
    pub(super) existing: u64,
    /// Bytes of the source that are not in holes.
    pub(super) stored: u64,
    /// Bytes of all streams.
    pub(super) bytes: u64,
    /// The unit that chunks are rounded up to, if a file of the source asks for it, and not the
    /// caller.
    pub(super) claimed: Option<u32>,
}

/// What chunks may be rounded up to, whatever the size of the source: a page.
const PADDING: u64 = 4096;

impl Room<'_> {
    /// Refuses a set that is larger than its source justifies, or for which there is no room.
    fn check(&self, out: &Path, output: &Output, parts: u64) -> Result<(), Error> {
        let tables = parts.saturating_mul(64);
        let padding = u64::from(self.claimed.unwrap_or(0)).saturating_mul(parts);
        let demand = Demand {
            size: self.bytes.saturating_add(tables).saturating_add(padding),
            existing: self.existing,
            own: tables.saturating_add(parts.saturating_mul(PADDING)),
        };
        let because = format_args!("META1.fsblksize is {}", self.claimed.unwrap_or(0));
        output.admit(self.source, &demand, because)?;
        Output::has_room(out, self.bytes.min(self.stored)) // the rest stays holes
    }
}

impl NewSet<'_> {
    /// Makes a set of `ntasks` tasks with the options of `builder`, calls `fill`, which writes its
    /// streams, and gives the files their names when all of them are complete.
    pub(super) fn write(
        &self,
        builder: Builder,
        ntasks: u64,
        fill: impl FnOnce(&FileWriter) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // Before anyone looks whether so many names are free.
        EvenFiles::new(ntasks, self.nfiles.get().into())
            .map_err(|error| Error::new(self.out, error))?;
        let parts = ntasks.saturating_add(self.nfiles.get().into());
        self.room.check(self.out, &self.output, parts)?;
        let prefix = self.out.as_os_str().as_bytes().to_owned();
        let builder = builder.prefix(prefix);
        self.output.make(self.out, self.nfiles, self.like, |publish| {
            let paths = (0..self.nfiles.get()).map(|number| publish.hidden(number));
            let mut writer = builder.create_at(self.out, paths)?;
            fill(&writer)?;
            writer.close()
        })
    }
}
