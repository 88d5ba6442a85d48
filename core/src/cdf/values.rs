//! [`Values`]: numbers or text in memory, to be stored in a file.

use super::kind::Type;
use crate::endian::ByteOrder;
use crate::store::{copy_front, usize_to_u64};
use zerocopy::{FromBytes, IntoBytes};

/// Values of one type in memory.
///
/// ```
/// use striae_core::cdf::{Type, Values};
/// use striae_core::endian::ByteOrder;
///
/// let values = Values::from(&[1.0_f32, 2.0]);
/// assert_eq!((values.nc_type(), values.nelems()), (Type::Float, Some(2)));
/// let mut stored = [0; 8];
/// values.write_to(0, ByteOrder::Big, &mut stored);
/// assert_eq!(stored, [0x3f, 0x80, 0, 0, 0x40, 0, 0, 0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Values<'a> {
    nc_type: Type,
    order: ByteOrder,
    bytes: &'a [u8],
}

impl<'a> Values<'a> {
    /// The values in `bytes`, which are in `order`. Values in a netCDF file are big-endian.
    #[must_use]
    pub const fn new(nc_type: Type, order: ByteOrder, bytes: &'a [u8]) -> Self {
        Self { nc_type, order, bytes }
    }

    /// Text, of type `char`.
    #[must_use]
    pub const fn text(text: &'a [u8]) -> Self {
        Self::new(Type::Char, ByteOrder::HOST, text)
    }

    /// The type.
    #[must_use]
    pub const fn nc_type(&self) -> Type {
        self.nc_type
    }

    /// The number of bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is no value.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The number of values; `None` if the bytes are not whole values.
    #[must_use]
    pub fn nelems(&self) -> Option<u64> {
        let (len, size) = (usize_to_u64(self.bytes.len()), self.nc_type.size());
        if len.checked_rem(size) == Some(0) { len.checked_div(size) } else { None }
    }

    /// The bytes, if they are in `order` or if each value is one byte.
    #[must_use]
    pub fn stored(&self, order: ByteOrder) -> Option<&'a [u8]> {
        (self.order == order || self.nc_type.size() == 1).then_some(self.bytes)
    }

    /// Writes values in `order` to the front of `buf`, from byte `from` on, which must be the start
    /// of a value. Returns the number of bytes: those of all whole values that fit.
    pub fn write_to(&self, from: usize, order: ByteOrder, buf: &mut [u8]) -> usize {
        let size = usize::try_from(self.nc_type.size()).unwrap_or(1);
        let whole = buf.len().saturating_sub(buf.len().checked_rem(size).unwrap_or(0));
        let front = buf.get_mut(..whole).unwrap_or_default();
        let bytes = self.bytes.get(from..).unwrap_or_default();
        match size {
            _ if self.order == order => copy_front(bytes, front),
            2 => swap_front::<2>(bytes, front),
            4 => swap_front::<4>(bytes, front),
            8 => swap_front::<8>(bytes, front),
            _ => copy_front(bytes, front),
        }
    }
}

/// What becomes of values that nobody writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Fill {
    /// They are fill values: the variable's `_FillValue`, or the default of its type.
    #[default]
    Values,
    /// They are what the store has there: zeros in a file. For callers who write all values. The
    /// store is extended to the length of the file where its last values are not written.
    None,
}

/// Copies as many values of `N` bytes as fit, each in the other byte order. Returns the number of
/// bytes.
fn swap_front<const N: usize>(from: &[u8], to: &mut [u8]) -> usize {
    let (Ok((from, _)), Ok((to, _))) =
        (<[[u8; N]]>::ref_from_prefix(from), <[[u8; N]]>::mut_from_prefix(to))
    else {
        return 0;
    };
    let len = from.len().min(to.len());
    let (from, to) = (from.get(..len).unwrap_or_default(), to.get_mut(..len).unwrap_or_default());
    let reversed = |mut value: [u8; N]| {
        value.reverse();
        value
    };
    // Four in a turn, as the end of the loop costs as much as a value.
    let ((fours, rest), (to_fours, to_rest)) = (from.as_chunks::<4>(), to.as_chunks_mut());
    fours.iter().zip(to_fours).for_each(|(from, to)| *to = from.map(reversed));
    rest.iter().zip(to_rest).for_each(|(from, to)| *to = reversed(*from));
    len.saturating_mul(N)
}

impl<'a> From<&'a str> for Values<'a> {
    fn from(text: &'a str) -> Self {
        Self::text(text.as_bytes())
    }
}

macro_rules! values_of {
    ($($int:ty => $Type:ident),+) => { $(
        impl<'a> From<&'a [$int]> for Values<'a> {
            fn from(values: &'a [$int]) -> Self {
                Self::new(Type::$Type, ByteOrder::HOST, values.as_bytes())
            }
        }

        impl<'a, const N: usize> From<&'a [$int; N]> for Values<'a> {
            fn from(values: &'a [$int; N]) -> Self {
                values.as_slice().into()
            }
        }

        impl<'a> From<&'a $int> for Values<'a> {
            fn from(value: &'a $int) -> Self {
                core::slice::from_ref(value).into()
            }
        }
    )+ };
}

values_of!(
    i8 => Byte, i16 => Short, i32 => Int, f32 => Float, f64 => Double,
    u8 => Ubyte, u16 => Ushort, u32 => Uint, i64 => Int64, u64 => Uint64
);
