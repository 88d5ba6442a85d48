//! A rank's file as a store.

use super::super::runs::LARGE;
use super::{Handle, MOST_PLACES};
use crate::collective::Collective;
use crate::file::SharedFile;
use std::io;
use striae_core::embedded_io::ReadExactError;
use striae_core::span::Stride;
use striae_core::store::{ReadAt, WriteAt};

/// The bytes of a file; what is written may wait.
#[derive(Debug)]
pub(crate) struct Io<'a, C, F>(pub(super) &'a Handle<C, F>);

impl<C: Collective, F: SharedFile> ReadAt for Io<'_, C, F> {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.0.written()?.io().read_at(offset, buf)
    }

    fn read_spans_at(
        &self,
        spans: &[Stride],
        buf: &mut [u8],
    ) -> Result<(), ReadExactError<io::Error>> {
        self.0.written().map_err(ReadExactError::Other)?.io().read_spans_at(spans, buf)
    }

    fn size(&self) -> io::Result<u64> {
        self.0.written()?.io().size()
    }
}

impl<C: Collective, F: SharedFile> WriteAt for Io<'_, C, F> {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.0.is_kept() {
            return self.0.put(offset, bytes);
        }
        let (len, pieces) = {
            let waiting = self.0.waiting.borrow();
            (waiting.len(), waiting.places().len())
        };
        let is_full = len.saturating_add(bytes.len()) > self.0.limit || pieces >= MOST_PLACES;
        // A copy of long bytes would gain nothing, unless a thread writes it.
        let can_wait = bytes.len() < LARGE || self.0.start.is_some() || self.0.own().is_none();
        if can_wait && bytes.len() <= self.0.limit {
            if is_full {
                self.0.spill()?;
            }
            if self.0.waiting.borrow_mut().push(offset, bytes) {
                return Ok(());
            }
        }
        self.0.written()?.io().write_all_at(offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        self.0.written()?.io().set_size(len)
    }

    fn order(&mut self) -> io::Result<()> {
        self.0.written()?.io().order()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.written()?.io().sync()
    }
}
