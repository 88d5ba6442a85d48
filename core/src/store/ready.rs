//! [`Ready`]: blocking stores and devices as asynchronous ones.

use super::block::{AsyncBlockDevice, BlockDevice};
use super::{AsyncReadAt, AsyncWriteAt, ReadAt, WriteAt};
use crate::span::Stride;
use embedded_io::ReadExactError;

/// An asynchronous store made of a blocking one, such as memory. Its futures are ready at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ready<S: ?Sized>(pub S);

impl<S: ReadAt + ?Sized> AsyncReadAt for Ready<S> {
    type Error = S::Error;

    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        self.0.read_at(offset, buf)
    }

    async fn reread_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        self.0.reread_at(offset, buf)
    }

    async fn size(&self) -> Result<u64, Self::Error> {
        self.0.size()
    }

    async fn read_spans_at(
        &self,
        spans: &[Stride],
        buf: &mut [u8],
    ) -> Result<(), ReadExactError<Self::Error>> {
        self.0.read_spans_at(spans, buf)
    }

    async fn will_read(&self, spans: &[Stride]) {
        self.0.will_read(spans);
    }
}

impl<S: WriteAt + ?Sized> AsyncWriteAt for Ready<S> {
    async fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Self::Error> {
        self.0.write_all_at(offset, bytes)
    }

    async fn set_size(&mut self, len: u64) -> Result<(), Self::Error> {
        self.0.set_size(len)
    }

    async fn order(&mut self) -> Result<(), Self::Error> {
        self.0.order()
    }

    async fn sync(&mut self) -> Result<(), Self::Error> {
        self.0.sync()
    }
}

impl<const B: usize, D: BlockDevice<B> + ?Sized> AsyncBlockDevice<B> for Ready<D> {
    type Error = D::Error;

    async fn blocks(&mut self) -> Result<u64, D::Error> {
        self.0.blocks()
    }

    async fn read_blocks(&mut self, first: u64, bytes: &mut [u8]) -> Result<(), D::Error> {
        self.0.read_blocks(first, bytes)
    }

    async fn reread_blocks(&mut self, first: u64, bytes: &mut [u8]) -> Result<(), D::Error> {
        self.0.reread_blocks(first, bytes)
    }

    async fn write_blocks(&mut self, first: u64, bytes: &[u8]) -> Result<(), D::Error> {
        self.0.write_blocks(first, bytes)
    }

    async fn flush(&mut self) -> Result<(), D::Error> {
        self.0.flush()
    }
}
