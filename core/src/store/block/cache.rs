//! The blocks in memory.

use super::error::BlockStoreError;
use super::piece::{Piece, offset_of};
use crate::store::copy_front;

/// Memory for one block in the cache of a [`BlockStore`](super::BlockStore).
#[derive(Debug, Clone)]
pub struct Cached<const B: usize = 512> {
    /// The number of the block, or [`NOTHING`].
    pub(super) number: u64,
    /// Whether it differs from the block on the device.
    pub(super) is_dirty: bool,
    /// The time of the last use.
    pub(super) used: u32,
    pub(super) bytes: [u8; B],
}

/// The number of no block.
const NOTHING: u64 = u64::MAX;

impl<const B: usize> Cached<B> {
    /// Memory without a block.
    pub const EMPTY: Self = Self { number: NOTHING, is_dirty: false, used: 0, bytes: [0; B] };
}

/// The blocks in memory. Their numbers are those of the device.
#[derive(Debug)]
pub(super) struct Cache<M, const B: usize> {
    pub(super) memory: M,
    /// Uses so far.
    pub(super) time: u32,
}

impl<M: AsMut<[Cached<B>]>, const B: usize> Cache<M, B> {
    /// The block of this number, or the one to replace: an unchanged one if possible, and of those
    /// the one that was not used for the longest time.
    pub(super) fn slot<E>(&mut self, number: u64) -> Result<&mut Cached<B>, BlockStoreError<E>> {
        self.time = self.time.wrapping_add(1);
        let time = self.time;
        let rank = |slot: &Cached<B>| {
            let is_other = slot.number != number;
            let since = time.wrapping_sub(slot.used);
            (is_other, slot.number != NOTHING, slot.is_dirty, u32::MAX.wrapping_sub(since))
        };
        let slot = self.memory.as_mut().iter_mut().min_by_key(|slot| rank(slot));
        let slot = slot.ok_or(BlockStoreError::NoCache)?;
        slot.used = time;
        Ok(slot)
    }

    /// The cached ones of the blocks that `len` bytes from block `first` on cover, and where they
    /// begin in these bytes.
    pub(super) fn among(
        &mut self,
        first: u64,
        len: usize,
    ) -> impl Iterator<Item = (usize, &mut Cached<B>)> {
        self.memory.as_mut().iter_mut().filter_map(move |slot| {
            let skip = slot.number.checked_sub(first).filter(|_| slot.number != NOTHING)?;
            let at = usize::try_from(offset_of::<B>(skip)).ok()?;
            (at < len).then_some((at, slot))
        })
    }

    /// Copies the cached blocks over `bytes`, which were read from block `first` on.
    pub(super) fn overlay(&mut self, first: u64, bytes: &mut [u8]) {
        for (at, slot) in self.among(first, bytes.len()) {
            copy_front(&slot.bytes, bytes.get_mut(at..).unwrap_or_default());
        }
    }

    /// Forgets the blocks that were overwritten on the device.
    pub(super) fn forget(&mut self, first: u64, len: usize) {
        self.among(first, len).for_each(|(_, slot)| slot.forget());
    }
}

impl<const B: usize> Cached<B> {
    pub(super) const fn forget(&mut self) {
        (self.number, self.is_dirty) = (NOTHING, false);
    }

    /// Copies a piece of the block to the front of `buf`; returns its length.
    pub(super) fn read(&self, piece: Piece, buf: &mut [u8]) -> usize {
        copy_front(self.bytes.get(piece.range()).unwrap_or_default(), buf)
    }

    /// Copies the front of `bytes` to a piece of the block.
    pub(super) fn write(&mut self, piece: Piece, bytes: &[u8]) {
        copy_front(bytes, self.bytes.get_mut(piece.range()).unwrap_or_default());
        self.is_dirty = true;
    }
}
