//! A new set whose files get their names when all of them are complete.

use super::write::{Builder, FileWriter};
use crate::error::Error;
use crate::output::Output;
use std::num::NonZeroU32;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use striae_core::sion::filegroups::EvenFiles;

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

/// The destination of a new set.
pub(super) struct NewSet<'a> {
    /// Path of its first file.
    pub(super) out: &'a Path,
    pub(super) nfiles: NonZeroU32,
    pub(super) output: Output,
    /// The source file whose permissions the new files get, if the source is one file.
    pub(super) like: Option<&'a Path>,
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
