//! Versions of the format, and types of the values of a chunk.

use crate::words::types;
use core::num::NonZeroU64;
use zerocopy::FromZeros;

/// A version of the file layer or of a schema (`spec/gsd.md#versions`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, FromZeros)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Version {
    /// Layouts of different major versions differ.
    pub major: u16,
    /// A larger minor version only adds features.
    pub minor: u16,
}

impl Version {
    /// The layer of new files: names of any length, a sorted index, text.
    pub const LAYER: Self = Self { major: 2, minor: 1 };

    /// The version that is stored as `number`.
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        let [minor, minor_high, major, major_high] = number.to_le_bytes();
        Self {
            major: u16::from_le_bytes([major, major_high]),
            minor: u16::from_le_bytes([minor, minor_high]),
        }
    }

    /// The stored number, `major << 16 | minor`.
    #[must_use]
    pub const fn number(self) -> u32 {
        let ([minor, minor_high], [major, major_high]) =
            (self.minor.to_le_bytes(), self.major.to_le_bytes());
        u32::from_le_bytes([minor, minor_high, major, major_high])
    }

    /// Whether a file of this layer can be read.
    #[must_use]
    pub const fn is_readable(self) -> bool {
        matches!((self.major, self.minor), (1 | 2, _) | (0, 3))
    }

    /// Whether the index of this layer is sorted by frame and id, and names are packed.
    #[must_use]
    pub const fn is_sorted(self) -> bool {
        self.major >= 2
    }
}

impl core::fmt::Display for Version {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

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
