//! Devices of blocks.

use super::piece::{block_len, offset_of};
use crate::step::DriveError;
#[twin(read_exact)]
use crate::step::read_exact;
use crate::store::Again;
#[twin(WriteAt)]
use crate::store::WriteAt;
use core::convert::Infallible;
use striae_twin::twin;

/// A device that is read and written in whole blocks of `B` bytes, such as an SD card.
///
/// A device for [`BlockStore`](super::BlockStore) takes a few lines:
///
/// ```
/// use core::convert::Infallible;
/// use striae_core::store::BlockDevice;
///
/// struct Ram([[u8; 512]; 64]);
///
/// impl BlockDevice for Ram {
///     type Error = Infallible;
///     fn blocks(&mut self) -> Result<u64, Infallible> {
///         Ok(64)
///     }
///     fn read_blocks(&mut self, first: u64, bytes: &mut [u8]) -> Result<(), Infallible> {
///         for (to, from) in bytes.chunks_mut(512).zip(&self.0[first as usize..]) {
///             to.copy_from_slice(from);
///         }
///         Ok(())
///     }
///     fn write_blocks(&mut self, first: u64, bytes: &[u8]) -> Result<(), Infallible> {
///         for (from, to) in bytes.chunks(512).zip(&mut self.0[first as usize..]) {
///             to.copy_from_slice(from);
///         }
///         Ok(())
///     }
/// }
/// ```
///
/// Dropping a future of an asynchronous device is a failed operation, as for a store
/// ([`WriteAt`]): no part of it may happen later.
///
/// Other crates may implement it; a method of a later version has a default.
#[twin(BlockDevice)]
#[allow(async_fn_in_trait, reason = "whether a future is Send is the device's affair")]
pub trait BlockDevice<const B: usize = 512> {
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

    /// As [`read_blocks`](Self::read_blocks), of the medium that is there now: a device with a
    /// cache of its own must not answer from it
    /// ([`ReadAt::reread_at`](crate::store::ReadAt::reread_at)).
    ///
    /// # Errors
    /// The device's own error.
    async fn reread_blocks(&mut self, first: u64, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.read_blocks(first, bytes).await
    }

    /// Writes `bytes`, a whole number of blocks, from block `first` on. No byte of another block
    /// may change, also if the power is cut.
    ///
    /// # Errors
    /// The device's own error. Some of the blocks may have been written.
    async fn write_blocks(&mut self, first: u64, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Makes all earlier writes durable. The default is for devices whose writes are durable when
    /// they return.
    ///
    /// # Errors
    /// The device's own error. A device whose next success would not cover the earlier writes must
    /// keep failing, as [`WriteAt::sync`] says.
    async fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

#[twin(BlockDevice)]
impl<const B: usize, D: BlockDevice<B> + ?Sized> BlockDevice<B> for &mut D {
    type Error = D::Error;

    async fn blocks(&mut self) -> Result<u64, D::Error> {
        (**self).blocks().await
    }

    async fn read_blocks(&mut self, first: u64, bytes: &mut [u8]) -> Result<(), D::Error> {
        (**self).read_blocks(first, bytes).await
    }

    async fn reread_blocks(&mut self, first: u64, bytes: &mut [u8]) -> Result<(), D::Error> {
        (**self).reread_blocks(first, bytes).await
    }

    async fn write_blocks(&mut self, first: u64, bytes: &[u8]) -> Result<(), D::Error> {
        (**self).write_blocks(first, bytes).await
    }

    async fn flush(&mut self) -> Result<(), D::Error> {
        (**self).flush().await
    }
}

/// A store as a device of its whole blocks. A [`BlockStore`](super::BlockStore) of it is a cache
/// for a store whose small writes are expensive, such as a file on a FAT card
/// ([`SeekStore`](crate::store::SeekStore)). The store must have its full length before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreBlocks<S: ?Sized>(pub S);

#[twin(BlockDevice, WriteAt, read_exact)]
impl<const B: usize, S: WriteAt + ?Sized> BlockDevice<B> for StoreBlocks<S> {
    type Error = DriveError<S::Error, Infallible>;

    async fn blocks(&mut self) -> Result<u64, Self::Error> {
        let len = self.0.size().await.map_err(DriveError::Store)?;
        Ok(len / block_len::<B>())
    }

    async fn read_blocks(&mut self, first: u64, bytes: &mut [u8]) -> Result<(), Self::Error> {
        read_exact(&self.0, offset_of::<B>(first), bytes).await
    }

    async fn reread_blocks(&mut self, first: u64, bytes: &mut [u8]) -> Result<(), Self::Error> {
        read_exact(&Again(&self.0), offset_of::<B>(first), bytes).await
    }

    async fn write_blocks(&mut self, first: u64, bytes: &[u8]) -> Result<(), Self::Error> {
        let written = self.0.write_all_at(offset_of::<B>(first), bytes).await;
        written.map_err(DriveError::Store)
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        self.0.sync().await.map_err(DriveError::Store)
    }
}
