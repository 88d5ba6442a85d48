//! A set that gets its names when it is whole.

use super::write::{Builder, FileWriter};
use crate::error::Error;
use crate::output::Output;
use std::num::NonZeroU32;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use striae_core::sion::filegroups::EvenFiles;

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Physical files of the new set.
    pub files: u32,
    /// Its tasks.
    pub tasks: u64,
    /// Bytes of its streams.
    pub bytes: u64,
}

/// Where a new set shall be.
pub(super) struct NewSet<'a> {
    /// Its first file.
    pub(super) out: &'a Path,
    pub(super) nfiles: NonZeroU32,
    pub(super) output: Output,
    /// The file that it is made of, if that is one.
    pub(super) like: Option<&'a Path>,
}

impl NewSet<'_> {
    /// Makes a set of `ntasks` tasks as `builder` says, lets `fill` write its streams, and gives
    /// its files their names: at once, and only when all of them are whole.
    pub(super) fn write(
        &self,
        builder: Builder,
        ntasks: u64,
        fill: impl FnOnce(&FileWriter) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // Before anyone looks whether so many names are free.
        EvenFiles::new(ntasks, self.nfiles.get().into())
            .map_err(|error| Error::new(self.out, error))?;
        let builder = builder.prefix(self.out.as_os_str().as_bytes().to_owned());
        self.output.make(self.out, self.nfiles, self.like, |publish| {
            let paths = (0..self.nfiles.get()).map(|number| publish.hidden(number));
            let mut writer = builder.create_at(self.out, paths)?;
            fill(&writer)?;
            writer.close()
        })
    }
}
