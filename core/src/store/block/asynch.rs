//! Asynchronous devices of blocks.

use super::BlockDevice;
use crate::store::Ready;

/// An asynchronous device that is read and written in whole blocks of `B` bytes; see
/// [`BlockDevice`].
///
/// Dropping a future is a failed operation, as for [`AsyncWriteAt`](crate::store::AsyncWriteAt):
/// no part of it may happen later.
///
/// Other crates may implement it; a method of a later version has a default.
#[allow(async_fn_in_trait, reason = "whether a future is Send is the device's affair")]
pub trait AsyncBlockDevice<const B: usize = 512> {
    /// The device's own error.
    type Error: embedded_io::Error + 'static;

    /// The number of blocks.
    ///
    /// # Errors
    /// The device's own error.
    async fn blocks(&mut self) -> Result<u64, Self::Error>;

    /// Fills `bytes`, a whole number of blocks, from block `first` on.
    ///
    /// # Errors
    /// The device's own error.
    async fn read_blocks(&mut self, first: u64, bytes: &mut [u8]) -> Result<(), Self::Error>;

    /// Writes `bytes`, a whole number of blocks, from block `first` on; see
    /// [`BlockDevice::write_blocks`].
    ///
    /// # Errors
    /// The device's own error. Some of the blocks may have been written.
    async fn write_blocks(&mut self, first: u64, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Makes all earlier writes durable; see [`BlockDevice::flush`].
    ///
    /// # Errors
    /// The device's own error.
    async fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
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

    async fn write_blocks(&mut self, first: u64, bytes: &[u8]) -> Result<(), D::Error> {
        self.0.write_blocks(first, bytes)
    }

    async fn flush(&mut self) -> Result<(), D::Error> {
        self.0.flush()
    }
}
