//! A file that is durable only if that is asked for.

use std::io;
use striae::posix::PosixFile;
use striae_core::store::{ReadAt, WriteAt};

#[derive(Debug)]
pub(super) struct Maybe {
    pub(super) file: PosixFile,
    pub(super) syncs: bool,
}

impl ReadAt for &Maybe {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buf)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }
}

impl WriteAt for &Maybe {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        self.file.set_size(len)
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.syncs { self.file.sync() } else { Ok(()) }
    }
}
