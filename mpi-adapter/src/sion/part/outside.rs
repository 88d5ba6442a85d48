//! What a program does to a file besides appending to streams.

use super::Part;
use crate::collective::Collective;
use crate::error::Failure;
use crate::file::SharedFile;
use crate::sion::outside::OwnTask;
use std::io;
use striae_core::store::WriteAt;

impl<C: Collective, F: SharedFile> Part<C, F> {
    /// The tasks of this rank, with their places.
    pub(in crate::sion) fn own_tasks(&self) -> impl Iterator<Item = OwnTask> {
        let file = self.meta1().filenumber().unwrap_or(0);
        let globalskip = self.book.blocks().globalskip;
        self.mine.tasks().iter().filter_map(move |task| task.own(file, globalskip))
    }

    /// Writes what waits of this rank, by a handle of its own.
    pub(in crate::sion) fn flush_own(&mut self) -> io::Result<()> {
        self.leave_lane().file.written().map(drop)
    }

    /// As [`flush_own`](Self::flush_own); its error is also that of the next collective.
    pub(in crate::sion) fn flush_or_fail(&mut self) -> io::Result<()> {
        let flushed = self.flush_own();
        if let Err(error) = &flushed {
            self.fail(Failure::io("writing a stream", error));
        }
        flushed
    }

    /// Whether a thread of another rank may have bytes of this one.
    pub(in crate::sion) fn is_behind(&self) -> bool {
        self.file.is_behind()
    }

    /// Writes bytes at an offset of the file at once.
    pub(in crate::sion) fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.written()?.io().write_all_at(offset, bytes)
    }

    /// Whether this rank has a failure that the others do not know.
    pub(in crate::sion) fn has_failed(&self) -> bool {
        self.mine.is_failed()
    }

    /// Remembers why this rank failed, for the next collective.
    pub(in crate::sion) fn fail(&mut self, failure: Failure) {
        self.mine.fail_with(failure);
    }
}
