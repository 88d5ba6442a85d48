//! Asynchronous devices of blocks.

use super::{BlockDevice, BlockStore, BlockStoreError, Blocks, Cached, Piece, StoreBlocks};
use super::{block_len, offset_of};
use crate::step::{DriveError, read_exact_async};
use crate::store::{AsyncReadAt, AsyncWriteAt, Ready, usize_to_u64};
use core::convert::Infallible;
use core::ops::Range;

/// An asynchronous device that is read and written in whole blocks of `B` bytes; see
/// [`BlockDevice`].
///
/// Dropping a future is a failed operation, as for [`AsyncWriteAt`]: no part of it may happen
/// later.
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

impl<const B: usize, D: AsyncBlockDevice<B> + ?Sized> AsyncBlockDevice<B> for &mut D {
    type Error = D::Error;

    async fn blocks(&mut self) -> Result<u64, D::Error> {
        (**self).blocks().await
    }

    async fn read_blocks(&mut self, first: u64, bytes: &mut [u8]) -> Result<(), D::Error> {
        (**self).read_blocks(first, bytes).await
    }

    async fn write_blocks(&mut self, first: u64, bytes: &[u8]) -> Result<(), D::Error> {
        (**self).write_blocks(first, bytes).await
    }

    async fn flush(&mut self) -> Result<(), D::Error> {
        (**self).flush().await
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

impl<const B: usize, S: AsyncWriteAt + ?Sized> AsyncBlockDevice<B> for StoreBlocks<S> {
    type Error = DriveError<S::Error, Infallible>;

    async fn blocks(&mut self) -> Result<u64, Self::Error> {
        let len = self.0.size().await.map_err(DriveError::Store)?;
        Ok(len / block_len::<B>())
    }

    async fn read_blocks(&mut self, first: u64, bytes: &mut [u8]) -> Result<(), Self::Error> {
        read_exact_async(&self.0, offset_of::<B>(first), bytes).await
    }

    async fn write_blocks(&mut self, first: u64, bytes: &[u8]) -> Result<(), Self::Error> {
        let written = self.0.write_all_at(offset_of::<B>(first), bytes).await;
        written.map_err(DriveError::Store)
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        self.0.sync().await.map_err(DriveError::Store)
    }
}

impl<D: AsyncBlockDevice<B>, M: AsMut<[Cached<B>]>, const B: usize> BlockStore<D, M, B> {
    /// [`BlockStore::new`] for an asynchronous device.
    ///
    /// # Errors
    /// See [`BlockStore::new`].
    pub async fn new_async(mut device: D, memory: M) -> Result<Self, BlockStoreError<D::Error>> {
        let blocks = device.blocks().await.map_err(BlockStoreError::Device)?;
        Self::of(device, memory, 0..blocks, blocks)
    }

    /// [`BlockStore::partition`] for an asynchronous device.
    ///
    /// # Errors
    /// See [`BlockStore::partition`].
    pub async fn partition_async(
        mut device: D,
        memory: M,
        range: Range<u64>,
    ) -> Result<Self, BlockStoreError<D::Error>> {
        let blocks = device.blocks().await.map_err(BlockStoreError::Device)?;
        Self::of(device, memory, range, blocks)
    }
}

impl<const B: usize> Cached<B> {
    /// Writes the block to the device if it was changed.
    async fn write_back_async<D: AsyncBlockDevice<B>>(
        &mut self,
        device: &mut D,
    ) -> Result<(), BlockStoreError<D::Error>> {
        if self.is_dirty {
            let written = device.write_blocks(self.number, &self.bytes).await;
            written.map_err(BlockStoreError::Device)?;
            self.is_dirty = false;
        }
        Ok(())
    }
}

impl<D: AsyncBlockDevice<B>, M: AsMut<[Cached<B>]>, const B: usize> Blocks<D, M, B> {
    /// The block of this number on the device, in the cache.
    async fn load_async(
        &mut self,
        number: u64,
    ) -> Result<&mut Cached<B>, BlockStoreError<D::Error>> {
        let slot = self.cache.slot(number)?;
        if slot.number != number {
            slot.write_back_async(&mut self.device).await?;
            slot.forget();
            let read = self.device.read_blocks(number, &mut slot.bytes).await;
            read.map_err(BlockStoreError::Device)?;
            slot.number = number;
        }
        Ok(slot)
    }

    async fn read_async(
        &mut self,
        offset: u64,
        buf: &mut [u8],
    ) -> Result<usize, BlockStoreError<D::Error>> {
        let Some((piece, number)) = self.readable(offset, buf.len()) else { return Ok(0) };
        if !piece.is_whole {
            return Ok(self.load_async(number).await?.read(piece, buf));
        }
        let blocks = buf.get_mut(..piece.len).unwrap_or_default();
        self.device.read_blocks(number, blocks).await.map_err(BlockStoreError::Device)?;
        self.cache.overlay(number, blocks);
        Ok(piece.len)
    }

    /// [`reread_at`](AsyncReadAt::reread_at) of the bytes of one block.
    async fn reread_async(
        &mut self,
        offset: u64,
        buf: &mut [u8],
    ) -> Result<usize, BlockStoreError<D::Error>> {
        let Some((piece, number)) = self.rereadable(offset, buf.len()) else { return Ok(0) };
        let mut block = Cached { bytes: [0; B], ..Cached::EMPTY };
        let read = self.device.read_blocks(number, &mut block.bytes).await;
        read.map_err(BlockStoreError::Device)?;
        Ok(block.read(piece, buf))
    }

    async fn write_async(
        &mut self,
        offset: u64,
        bytes: &[u8],
    ) -> Result<usize, BlockStoreError<D::Error>> {
        let piece = Piece::first::<B>(offset, bytes.len());
        let number = self.first.saturating_add(piece.number);
        if !piece.is_whole {
            self.load_async(number).await?.write(piece, bytes);
            return Ok(piece.len);
        }
        let blocks = bytes.get(..piece.len).unwrap_or_default();
        self.device.write_blocks(number, blocks).await.map_err(BlockStoreError::Device)?;
        self.cache.forget(number, piece.len);
        Ok(piece.len)
    }

    async fn write_all_back_async(&mut self) -> Result<(), BlockStoreError<D::Error>> {
        for slot in self.cache.memory.as_mut() {
            slot.write_back_async(&mut self.device).await?;
        }
        Ok(())
    }
}

/// Two futures of one store do not wait for each other: the second one fails with
/// [`BlockStoreError::Busy`].
#[allow(clippy::await_holding_refcell_ref, reason = "who comes meanwhile is told: Busy")]
impl<D, M, const B: usize> AsyncReadAt for BlockStore<D, M, B>
where
    D: AsyncBlockDevice<B>,
    M: AsMut<[Cached<B>]>,
{
    type Error = BlockStoreError<D::Error>;

    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        let mut blocks = self.0.try_borrow_mut().map_err(|_| BlockStoreError::Busy)?;
        blocks.read_async(offset, buf).await
    }

    async fn reread_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        let mut blocks = self.0.try_borrow_mut().map_err(|_| BlockStoreError::Busy)?;
        blocks.reread_async(offset, buf).await
    }

    async fn size(&self) -> Result<u64, Self::Error> {
        self.0.try_borrow().map(|blocks| blocks.len()).map_err(|_| BlockStoreError::Busy)
    }
}

impl<D, M, const B: usize> AsyncWriteAt for BlockStore<D, M, B>
where
    D: AsyncBlockDevice<B>,
    M: AsMut<[Cached<B>]>,
{
    async fn write_all_at(&mut self, mut offset: u64, mut bytes: &[u8]) -> Result<(), Self::Error> {
        let blocks = self.0.get_mut();
        blocks.check_end(offset, bytes.len())?;
        while !bytes.is_empty() {
            let n = blocks.write_async(offset, bytes).await?;
            bytes = bytes.get(n..).unwrap_or_default();
            offset = offset.saturating_add(usize_to_u64(n));
        }
        Ok(())
    }

    async fn set_size(&mut self, len: u64) -> Result<(), Self::Error> {
        self.0.get_mut().check_size(len)
    }

    async fn order(&mut self) -> Result<(), Self::Error> {
        self.0.get_mut().write_all_back_async().await
    }

    async fn sync(&mut self) -> Result<(), Self::Error> {
        let blocks = self.0.get_mut();
        blocks.write_all_back_async().await?;
        blocks.device.flush().await.map_err(BlockStoreError::Device)
    }
}
