//! The store that core's machines write to: a file, as durable as it is to be.

use super::Durability;
use crate::posix::PosixFile;
use std::io;
use striae_core::store::{ReadAt, WriteAt};

/// A file, as durable as it is to be.
#[derive(Debug)]
pub(super) struct Target<'a> {
    file: &'a PosixFile,
    durability: Durability,
}

impl<'a> Target<'a> {
    pub(super) const fn new(file: &'a PosixFile, durability: Durability) -> Self {
        Self { file, durability }
    }
}

impl ReadAt for Target<'_> {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buf)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }
}

impl WriteAt for Target<'_> {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        self.file.set_size(len)
    }

    fn sync(&mut self) -> io::Result<()> {
        match self.durability {
            Durability::None => Ok(()),
            Durability::OnCommit | Durability::EveryRecord => self.file.sync(),
        }
    }
}
