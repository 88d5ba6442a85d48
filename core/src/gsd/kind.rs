//! Types of the values of a chunk.

use core::num::NonZeroU64;

/// The type of the values of a chunk, `gsd_type` in gsd.h (`spec/gsd.md#types`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ChunkType {
    /// Unsigned, 1 byte.
    U8,
    /// Unsigned, 2 bytes.
    U16,
    /// Unsigned, 4 bytes.
    U32,
    /// Unsigned, 8 bytes.
    U64,
    /// Signed, 1 byte.
    I8,
    /// Signed, 2 bytes.
    I16,
    /// Signed, 4 bytes.
    I32,
    /// Signed, 8 bytes.
    I64,
    /// IEEE 754, 4 bytes.
    F32,
    /// IEEE 754, 8 bytes.
    F64,
    /// A byte of UTF-8 text; since layer 2.1.
    Character,
}

impl ChunkType {
    /// All types, in the order of their numbers from 1 on.
    pub const ALL: [Self; 11] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::F32,
        Self::F64,
        Self::Character,
    ];

    /// The type with this number on disk, or `None` if there is none.
    #[must_use]
    #[inline]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number.checked_sub(1)?)).copied()
    }

    /// The number on disk.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 => 3,
            Self::U64 => 4,
            Self::I8 => 5,
            Self::I16 => 6,
            Self::I32 => 7,
            Self::I64 => 8,
            Self::F32 => 9,
            Self::F64 => 10,
            Self::Character => 11,
        }
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

    /// The name: NumPy's name, and `character` for text.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::Character => "character",
        }
    }
}

impl core::fmt::Display for ChunkType {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
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
