//! Types of values in memory.

use alloc::vec::Vec;
use sealed::Stored;
use striae_core::gsd::ChunkType;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A type of values in memory: `u8` to `u64`, `i8` to `i64`, `f32`, `f64`.
///
/// Files are little-endian; values in memory are in the byte order of the host.
pub trait Element: Stored {
    /// The type of such values in a file.
    const KIND: ChunkType;
}

mod sealed {
    use super::{FromBytes, Immutable, IntoBytes};

    /// The conversions between a value and its bytes in a file.
    #[allow(unnameable_types, reason = "sealed: no other types are elements")]
    pub trait Stored: FromBytes + IntoBytes + Immutable + Copy + Send + Sync + 'static {
        /// Converts a value whose bytes are little-endian to the byte order of the host.
        fn of_little_endian(self) -> Self;
    }
}

macro_rules! integers {
    ($($T:ty = $Kind:ident),+) => { $(
        impl Stored for $T {
            #[inline]
            fn of_little_endian(self) -> Self {
                <$T>::from_le(self)
            }
        }
        impl Element for $T {
            const KIND: ChunkType = ChunkType::$Kind;
        }
    )+ };
}

macro_rules! floats {
    ($($T:ty = $Kind:ident of $Bits:ty),+) => { $(
        impl Stored for $T {
            #[inline]
            fn of_little_endian(self) -> Self {
                <$T>::from_bits(<$Bits>::from_le(self.to_bits()))
            }
        }
        impl Element for $T {
            const KIND: ChunkType = ChunkType::$Kind;
        }
    )+ };
}

integers!(u8 = U8, u16 = U16, u32 = U32, u64 = U64, i8 = I8, i16 = I16, i32 = I32, i64 = I64);
floats!(f32 = F32 of u32, f64 = F64 of u64);

/// Converts values from the byte order of the file to that of the host, in place.
pub fn to_host<T: Element>(values: &mut [T]) {
    if cfg!(target_endian = "big") {
        for value in values {
            *value = value.of_little_endian();
        }
    }
}

/// The bytes of values in the byte order of a file.
pub fn little_endian<T: Element>(values: &[T]) -> Vec<u8> {
    let mut values = values.to_vec();
    to_host(&mut values); // swaps, or does not, both ways
    values.as_bytes().to_vec()
}
