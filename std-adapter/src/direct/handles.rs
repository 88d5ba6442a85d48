//! The descriptors of a file, and reads in the calling thread.

use super::engine::How;
use crate::posix::PosixFile;
use rustix::io::{Errno, ReadWriteFlags, retry_on_intr};
use std::io::IoSliceMut;

/// A file that is opened twice.
#[derive(Debug)]
pub(super) struct Handles {
    /// The descriptor for reads through the page cache.
    pub(super) buffered: PosixFile,
    /// The descriptor for reads past the page cache, if they are possible.
    pub(super) direct: Option<PosixFile>,
}

/// `RWF_DONTCACHE` of Linux 6.14, which rustix does not name.
const DONTCACHE: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

impl Handles {
    /// Reads up to `piece.len()` bytes at `offset`.
    pub(super) fn read(&self, how: How, offset: u64, piece: &mut [u8]) -> Result<usize, Errno> {
        match (how, &self.direct) {
            (How::Direct(_), Some(direct)) => {
                retry_on_intr(|| rustix::io::pread(direct, &mut *piece, offset))
            }
            (How::Direct(_), None) => Err(Errno::OPNOTSUPP),
            (How::Uncached, _) => retry_on_intr(|| {
                let pieces = &mut [IoSliceMut::new(piece)];
                rustix::io::preadv2(&self.buffered, pieces, offset, DONTCACHE)
            }),
            (How::Buffered, _) => {
                retry_on_intr(|| rustix::io::pread(&self.buffered, &mut *piece, offset))
            }
        }
    }
}
