//! [`Head`]: the metadata of a physical file that opening reads.

use super::meta1::Meta1;
use super::meta2::Meta2;
use crate::endian::I64;
use crate::span::{Span, Stride};
use zerocopy::FromBytes;

/// The head of a physical file: all metadata whose size does not grow with the number of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Head {
    /// The length of the physical file in bytes.
    pub file_len: u64,
    /// The fixed part of META1.
    pub meta1: Meta1,
    /// Where META2 is; `None` if the file was never closed.
    pub meta2: Option<Meta2>,
}

impl Head {
    /// All tables that have entries of tasks: those of META1, and META2.
    #[inline(always)] // nothing is left of it where a store does not listen
    pub(in crate::sion) fn tables(&self) -> [Stride; 2] {
        let layout = self.meta1.layout();
        let (first, last) = (layout.globalranks(), layout.chunksizes());
        let meta1 = first.joined(last).unwrap_or(last);
        let meta2 = self.meta2.and_then(|meta2| Span::between(meta2.start(), meta2.end()));
        [Stride::one(meta1), Stride::one(meta2.unwrap_or(Span::ZERO))]
    }

    /// The integer at the start of `bytes`, in the byte order of the file; 0 if they are too few.
    pub(in crate::sion) fn integer_in(&self, bytes: &[u8]) -> i64 {
        I64::read_from_prefix(bytes).map_or(0, |(value, _)| value.get(self.meta1.order()))
    }
}
