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

macro_rules! elements {
    ($($T:ty = $Kind:ident),+; |$value:ident| $swapped:expr) => { $(
        impl sealed::Sealed for $T {}

        impl Element for $T {
            const KIND: ChunkType = ChunkType::$Kind;

            #[inline]
            fn swap_to_file(self) -> Self {
                let $value = self;
                $swapped
            }
        }
    )+ };
}

elements!(
    u8 = U8, u16 = U16, u32 = U32, u64 = U64, i8 = I8, i16 = I16, i32 = I32, i64 = I64;
    |value| value.to_le()
);
elements!(f32 = F32, f64 = F64; |value| Self::from_bits(value.to_bits().to_le()));

/// Whether values are in memory as they are in a file.
pub(super) const fn is_file_order<T: Element>() -> bool {
    cfg!(target_endian = "little") || size_of::<T>() == 1
}

/// Values that are put into the order of a file together: at most 64 bytes.
pub(super) const TOGETHER: usize = 8;

/// The bytes of up to [`TOGETHER`] values in the order of a file.
pub(super) fn to_file<'s, T: Element>(values: &[T], swapped: &'s mut [T; TOGETHER]) -> &'s [u8] {
    for (value, swapped) in values.iter().zip(&mut *swapped) {
        *swapped = value.swap_to_file();
    }
    swapped.get(..values.len()).unwrap_or_default().as_bytes()
}
