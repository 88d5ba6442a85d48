//! Types of the values of a chunk.

use crate::words::types;
use core::num::NonZeroU64;

types! {
    /// The type of the values of a chunk, `gsd_type` in gsd.h (`spec/gsd.md#types`). Its name is
    /// that of NumPy, or `character` for text.
    pub enum ChunkType: u8;
    /// Unsigned, 1 byte.
    1: U8 => "uint8";
    /// Unsigned, 2 bytes.
    2: U16 => "uint16";
    /// Unsigned, 4 bytes.
    3: U32 => "uint32";
    /// Unsigned, 8 bytes.
    4: U64 => "uint64";
    /// Signed, 1 byte.
    5: I8 => "int8";
    /// Signed, 2 bytes.
    6: I16 => "int16";
    /// Signed, 4 bytes.
    7: I32 => "int32";
    /// Signed, 8 bytes.
    8: I64 => "int64";
    /// IEEE 754, 4 bytes.
    9: F32 => "float32";
    /// IEEE 754, 8 bytes.
    10: F64 => "float64";
    /// A byte of UTF-8 text; since layer 2.1.
    11: Character => "character";
}

impl ChunkType {
    /// The type with this number on disk, or `None` if there is none.
    #[must_use]
    #[inline]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number.checked_sub(1)?)).copied()
    }

    /// The bytes of a value.
    #[must_use]
    #[inline]
    pub const fn size(self) -> NonZeroU64 {
        const ONE: NonZeroU64 = NonZeroU64::MIN;
        match self {
            Self::U8 | Self::I8 | Self::Character => ONE,
            Self::U16 | Self::I16 => ONE.saturating_add(1),
            Self::U32 | Self::I32 | Self::F32 => ONE.saturating_add(3),
            Self::U64 | Self::I64 | Self::F64 => ONE.saturating_add(7),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_gsd_h() {
        for (number, kind) in (1..).zip(ChunkType::ALL) {
            assert_eq!(kind.number(), number);
            assert_eq!(ChunkType::from_number(number), Some(kind));
        }
        assert_eq!(ChunkType::from_number(0), None);
        assert_eq!(ChunkType::from_number(12), None);
        let sizes = ChunkType::ALL.map(|kind| kind.size().get());
        assert_eq!(sizes, [1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 1]);
    }
}
