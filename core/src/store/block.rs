//! Stores made of devices that are read and written in whole blocks.

mod cache;
mod device;
mod error;
mod piece;

pub use cache::Cached;
#[twin(BlockDevice)]
pub use device::BlockDevice;
pub use device::StoreBlocks;
pub use error::BlockStoreError;

use super::usize_to_u64;
#[twin(ReadAt, WriteAt)]
use super::{ReadAt, WriteAt};
use cache::Cache;
use core::cell::RefCell;
use core::ops::Range;
use piece::{Piece, offset_of};
use striae_twin::twin;

/// A store made of the blocks of a device, or of a partition of it, with a write-back cache.
///
/// Writes go to the cache. [`sync`](WriteAt::sync) writes all changed blocks and then
/// [flushes](BlockDevice::flush) the device, so a writer's order of writes and syncs holds on the
/// device. What is not synced when the power goes may be lost in part. Before the store is dropped,
/// it must be synced, as all writers do when they commit or close.
///
/// `memory` is the cache: `[Cached::EMPTY; 1]`, or a longer array, or a borrowed slice. One block
/// is enough for a logger. Each further block saves reads. Whole blocks that are read or written at
/// once do not go through the cache.
///
/// The size of the store is fixed.
///
/// ```
/// use striae_core::gsd::{Attributes, ChunkType, Logger};
/// use striae_core::store::{BlockStore, Cached};
/// # use striae_core::store::StoreBlocks;
/// # let mut bytes = vec![0xFF_u8; 1 << 20];
/// # let card = StoreBlocks(bytes.as_mut_slice());
/// let store = BlockStore::<_, _>::partition(card, [Cached::EMPTY; 1], 64..2048)?;
/// let about = Attributes { application: "probe 1.0", align: 512, ..Attributes::default() };
/// let mut log = Logger::<_, 4>::open_or_create(store, &about)?;
/// let temperature = log.name("temperature")?;
/// log.chunk(temperature, ChunkType::F32, 1, &21.5_f32.to_le_bytes())?;
/// log.end_frame()?; // it is safe
/// # assert_eq!(bytes[64 * 512..][..8], *b"\xDF\x65\xDF\x65\xDF\x65\xDF\x65");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BlockStore<D, M, const B: usize = 512>(RefCell<Blocks<D, M, B>>);

#[derive(Debug)]
struct Blocks<D, M, const B: usize> {
    device: D,
    cache: Cache<M, B>,
    /// The first block of the partition.
    first: u64,
    /// The number of blocks of the partition.
    count: u64,
}

impl<D, M: AsMut<[Cached<B>]>, const B: usize> BlockStore<D, M, B> {
    /// The store of `range` of a device that has `blocks` blocks.
    fn of<E>(
        device: D,
        mut memory: M,
        range: Range<u64>,
        blocks: u64,
    ) -> Result<Self, BlockStoreError<E>> {
        if memory.as_mut().is_empty() {
            return Err(BlockStoreError::NoCache);
        }
        if range.end > blocks || range.start > range.end {
            let end = range.end.max(range.start);
            return Err(BlockStoreError::Outside { end, blocks });
        }
        memory.as_mut().fill(Cached::EMPTY);
        let (first, count) = (range.start, range.end.saturating_sub(range.start));
        let cache = Cache { memory, time: 0 };
        Ok(Self(RefCell::new(Blocks { device, cache, first, count })))
    }

    /// Returns the device. What was not synced is lost: blocks in memory that could not be written
    /// to one card are not written to the next one.
    #[must_use]
    pub fn into_inner(self) -> D {
        self.0.into_inner().device
    }

    /// The device, for questions that the store does not ask, such as whether a card is present,
    /// before a log has the store or after it. Its blocks must not be written.
    #[must_use]
    pub fn device(&mut self) -> &mut D {
        &mut self.0.get_mut().device
    }
}

#[twin(BlockDevice)]
impl<D: BlockDevice<B>, M: AsMut<[Cached<B>]>, const B: usize> BlockStore<D, M, B> {
    /// Makes a store of all blocks of `device`.
    ///
    /// # Errors
    /// [`BlockStoreError::NoCache`], [`BlockStoreError::Device`].
    pub async fn new(mut device: D, memory: M) -> Result<Self, BlockStoreError<D::Error>> {
        let blocks = device.blocks().await.map_err(BlockStoreError::Device)?;
        Self::of(device, memory, 0..blocks, blocks)
    }

    /// Makes a store of a range of the blocks of `device`.
    ///
    /// # Errors
    /// [`BlockStoreError::Outside`], [`BlockStoreError::NoCache`], [`BlockStoreError::Device`].
    pub async fn partition(
        mut device: D,
        memory: M,
        range: Range<u64>,
    ) -> Result<Self, BlockStoreError<D::Error>> {
        let blocks = device.blocks().await.map_err(BlockStoreError::Device)?;
        Self::of(device, memory, range, blocks)
    }
}

impl<D, M, const B: usize> Blocks<D, M, B> {
    /// The length in bytes.
    const fn len(&self) -> u64 {
        offset_of::<B>(self.count)
    }

    /// Refuses a write that ends after the end.
    fn check_end<E>(&self, offset: u64, len: usize) -> Result<(), BlockStoreError<E>> {
        let wanted = offset.saturating_add(usize_to_u64(len));
        match wanted <= self.len() {
            true => Ok(()),
            false => Err(BlockStoreError::FixedSize { len: self.len(), wanted }),
        }
    }

    /// The first piece of a read of `len` bytes at `offset`, and its first block on the device;
    /// `None` if there is nothing to read.
    fn readable(&self, offset: u64, len: usize) -> Option<(Piece, u64)> {
        let left = self.len().saturating_sub(offset);
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(len);
        let piece = Piece::first::<B>(offset, len);
        (len > 0).then_some((piece, self.first.saturating_add(piece.number)))
    }
}

#[twin(BlockDevice)]
impl<const B: usize> Cached<B> {
    /// Writes the block to the device if it was changed.
    async fn write_back<D: BlockDevice<B>>(
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

#[twin(BlockDevice)]
impl<D: BlockDevice<B>, M: AsMut<[Cached<B>]>, const B: usize> Blocks<D, M, B> {
    /// The block of this number on the device, in the cache.
    async fn load(&mut self, number: u64) -> Result<&mut Cached<B>, BlockStoreError<D::Error>> {
        let slot = self.cache.slot(number)?;
        if slot.number != number {
            slot.write_back(&mut self.device).await?;
            slot.forget();
            let read = self.device.read_blocks(number, &mut slot.bytes).await;
            read.map_err(BlockStoreError::Device)?;
            slot.number = number;
        }
        Ok(slot)
    }

    async fn read(
        &mut self,
        offset: u64,
        buf: &mut [u8],
    ) -> Result<usize, BlockStoreError<D::Error>> {
        let Some((piece, number)) = self.readable(offset, buf.len()) else { return Ok(0) };
        if !piece.is_whole {
            return Ok(self.load(number).await?.read(piece, buf));
        }
        let blocks = buf.get_mut(..piece.len).unwrap_or_default();
        self.device.read_blocks(number, blocks).await.map_err(BlockStoreError::Device)?;
        self.cache.overlay(number, blocks);
        Ok(piece.len)
    }

    /// [`reread_at`](ReadAt::reread_at) of the bytes of one block.
    #[cold]
    #[inline(never)] // the block is on the stack
    async fn reread(
        &mut self,
        offset: u64,
        buf: &mut [u8],
    ) -> Result<usize, BlockStoreError<D::Error>> {
        let Some((piece, number)) = self.readable(offset, buf.len()) else { return Ok(0) };
        let piece = Piece { len: piece.len.min(B), ..piece };
        let mut block = Cached { bytes: [0; B], ..Cached::EMPTY };
        let read = self.device.reread_blocks(number, &mut block.bytes).await;
        read.map_err(BlockStoreError::Device)?;
        Ok(block.read(piece, buf))
    }

    /// Writes the first piece of `bytes`; returns its length.
    async fn write(
        &mut self,
        offset: u64,
        bytes: &[u8],
    ) -> Result<usize, BlockStoreError<D::Error>> {
        let piece = Piece::first::<B>(offset, bytes.len());
        let number = self.first.saturating_add(piece.number);
        if !piece.is_whole {
            self.load(number).await?.write(piece, bytes);
            return Ok(piece.len);
        }
        let blocks = bytes.get(..piece.len).unwrap_or_default();
        self.device.write_blocks(number, blocks).await.map_err(BlockStoreError::Device)?;
        self.cache.forget(number, piece.len);
        Ok(piece.len)
    }

    async fn write_all_back(&mut self) -> Result<(), BlockStoreError<D::Error>> {
        for slot in self.cache.memory.as_mut() {
            slot.write_back(&mut self.device).await?;
        }
        Ok(())
    }
}

/// Two futures of one store do not wait for each other: the second one fails with
/// [`BlockStoreError::Busy`].
#[twin(BlockDevice, ReadAt, read, reread)]
#[allow(clippy::await_holding_refcell_ref, reason = "who comes meanwhile is told: Busy")]
impl<D, M, const B: usize> ReadAt for BlockStore<D, M, B>
where
    D: BlockDevice<B>,
    M: AsMut<[Cached<B>]>,
{
    type Error = BlockStoreError<D::Error>;

    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        let mut blocks = self.0.try_borrow_mut().map_err(|_| BlockStoreError::Busy)?;
        blocks.read(offset, buf).await
    }

    async fn reread_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        let mut blocks = self.0.try_borrow_mut().map_err(|_| BlockStoreError::Busy)?;
        blocks.reread(offset, buf).await
    }

    async fn size(&self) -> Result<u64, Self::Error> {
        self.0.try_borrow().map(|blocks| blocks.len()).map_err(|_| BlockStoreError::Busy)
    }
}

#[twin(BlockDevice, WriteAt, write, write_all_back)]
impl<D, M, const B: usize> WriteAt for BlockStore<D, M, B>
where
    D: BlockDevice<B>,
    M: AsMut<[Cached<B>]>,
{
    async fn write_all_at(&mut self, mut offset: u64, mut bytes: &[u8]) -> Result<(), Self::Error> {
        let blocks = self.0.get_mut();
        blocks.check_end(offset, bytes.len())?;
        while !bytes.is_empty() {
            let n = blocks.write(offset, bytes).await?;
            bytes = bytes.get(n..).unwrap_or_default();
            offset = offset.saturating_add(usize_to_u64(n));
        }
        Ok(())
    }

    async fn set_size(&mut self, wanted: u64) -> Result<(), Self::Error> {
        let len = self.0.get_mut().len();
        if wanted == len { Ok(()) } else { Err(BlockStoreError::FixedSize { len, wanted }) }
    }

    /// Writes all changed blocks; the device may still order them as it likes.
    async fn order(&mut self) -> Result<(), Self::Error> {
        self.0.get_mut().write_all_back().await
    }

    async fn sync(&mut self) -> Result<(), Self::Error> {
        let blocks = self.0.get_mut();
        blocks.write_all_back().await?;
        blocks.device.flush().await.map_err(BlockStoreError::Device)
    }
}
