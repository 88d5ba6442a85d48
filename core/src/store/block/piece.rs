//! Blocks, and the pieces of reads and writes in them.

use crate::store::usize_to_u64;
use core::num::NonZeroU64;
use core::ops::Range;

/// The length of a block. A length that is not a power of two from 512 to 4096 does not compile.
pub(super) const fn block_len<const B: usize>() -> NonZeroU64 {
    const { assert!(B.is_power_of_two() && B >= 512 && B <= 4096) }
    match B {
        512 => NonZeroU64::MIN.saturating_add(511),
        1024 => NonZeroU64::MIN.saturating_add(1023),
        2048 => NonZeroU64::MIN.saturating_add(2047),
        _ => NonZeroU64::MIN.saturating_add(4095),
    }
}

/// The offset of a block that the device has.
pub(super) const fn offset_of<const B: usize>(number: u64) -> u64 {
    number.saturating_mul(block_len::<B>().get())
}

/// A part of a read or write: whole blocks, or a part of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// The block in which it begins, counted from the start of the partition.
    pub(super) number: u64,
    /// Its place in the block.
    pub(super) within: usize,
    pub(super) len: usize,
    pub(super) is_whole: bool,
}

impl Piece {
    /// The first piece of `len` bytes at `offset`.
    pub(super) fn first<const B: usize>(offset: u64, len: usize) -> Self {
        let within = offset % block_len::<B>();
        let within = usize::try_from(within).unwrap_or(0);
        let number = offset / block_len::<B>();
        match within == 0 && len >= B {
            true => {
                let rest = usize_to_u64(len) % block_len::<B>();
                let len = len.saturating_sub(usize::try_from(rest).unwrap_or(0));
                Self { number, within, len, is_whole: true }
            }
            false => {
                let len = B.saturating_sub(within).min(len);
                Self { number, within, len, is_whole: false }
            }
        }
    }

    /// Its bytes of the block.
    pub(super) fn range(&self) -> Range<usize> {
        self.within..self.within.saturating_add(self.len)
    }
}
