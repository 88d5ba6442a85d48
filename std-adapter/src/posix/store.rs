//! A file as a store.

use super::{MAX_LEN, PosixFile, cache, spans};
use rustix::io::retry_on_intr;
use std::io;
use striae_core::embedded_io::ReadExactError;
use striae_core::span::Stride;
use striae_core::store::{ReadAt, WriteAt};

impl ReadAt for PosixFile {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        // Behind that there is nothing, and no `off_t`.
        let room = usize::try_from(MAX_LEN.saturating_sub(offset)).unwrap_or(usize::MAX);
        let room = room.min(buf.len());
        let buf = match buf.get_mut(..room) {
            Some(buf) if !buf.is_empty() => buf,
            _ => return Ok(0),
        };
        Ok(retry_on_intr(|| rustix::io::pread(&self.fd, &mut *buf, offset))?)
    }

    fn read_spans_at(
        &self,
        spans: &[Stride],
        mut buf: &mut [u8],
    ) -> Result<(), ReadExactError<io::Error>> {
        for span in spans::joined(spans) {
            let len = usize::try_from(span.len()).unwrap_or(usize::MAX);
            let (front, rest) = buf.split_at_mut_checked(len).unwrap_or_default();
            self.read_exact_at(span.offset(), front)?;
            buf = rest;
        }
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        if cfg!(miri) {
            return Ok(rustix::fs::seek(&self.fd, rustix::fs::SeekFrom::End(0))?); // it has no fstat
        }
        Ok(u64::try_from(self.stat()?.st_size).unwrap_or(0)) // never negative: fstat(2)
    }
}

impl WriteAt for PosixFile {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        Self::write_all_at(self, offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        Self::set_size(self, len)
    }

    fn sync(&mut self) -> io::Result<()> {
        Self::sync(self)
    }

    fn cache(&self) -> Option<[u64; 3]> {
        cache::of(self)
    }
}

impl WriteAt for &PosixFile {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        PosixFile::write_all_at(self, offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        PosixFile::set_size(self, len)
    }

    fn sync(&mut self) -> io::Result<()> {
        PosixFile::sync(self)
    }

    fn cache(&self) -> Option<[u64; 3]> {
        cache::of(self)
    }
}
