//! Types of values in memory.

use super::kind::ChunkType;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A type of values in memory: `u8` to `u64`, `i8` to `i64`, `f32`, `f64`.
///
/// Files are little-endian; values in memory are in the byte order of the host.
///
/// Other crates cannot implement it.
pub trait Element: sealed::Sealed + FromBytes + IntoBytes + Immutable + Copy {
    /// The type of such values in a file.
    const KIND: ChunkType;

    /// Converts a value between the byte order of the host and that of a file, in either direction.
    #[must_use]
    fn swap_to_file(self) -> Self;
}

mod sealed {
    /// No other types are elements.
    #[allow(unnameable_types, reason = "sealed")]
    pub trait Sealed: Send + Sync + 'static {}
}

macro_rules! integers {
    ($($T:ty = $Kind:ident),+) => { $(
        impl sealed::Sealed for $T {}

        impl Element for $T {
            const KIND: ChunkType = ChunkType::$Kind;

            #[inline]
            fn swap_to_file(self) -> Self {
                self.to_le()
            }
        }
    )+ };
}

macro_rules! floats {
    ($($T:ty = $Kind:ident),+) => { $(
        impl sealed::Sealed for $T {}

        impl Element for $T {
            const KIND: ChunkType = ChunkType::$Kind;

            #[inline]
            fn swap_to_file(self) -> Self {
                Self::from_bits(self.to_bits().to_le())
            }
        }
    )+ };
}

integers!(u8 = U8, u16 = U16, u32 = U32, u64 = U64, i8 = I8, i16 = I16, i32 = I32, i64 = I64);
floats!(f32 = F32, f64 = F64);
