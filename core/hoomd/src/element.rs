//! Types of values in memory.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use zerocopy::IntoBytes;

pub use striae_core::gsd::Element;

/// Converts values from the byte order of the file to that of the host, in place.
pub fn to_host<T: Element>(values: &mut [T]) {
    if cfg!(target_endian = "big") {
        for value in values {
            *value = value.swap_to_file();
        }
    }
}

/// The bytes of values in the byte order of a file.
pub fn little_endian<T: Element>(values: &[T]) -> Vec<u8> {
    let mut values = values.to_vec();
    to_host(&mut values); // swaps, or does not, both ways
    values.as_bytes().to_vec()
}

/// The bytes of values in a file.
pub(crate) fn raw<T: Element>(values: &[T]) -> Cow<'_, [u8]> {
    match cfg!(target_endian = "little") {
        true => Cow::Borrowed(values.as_bytes()),
        false => Cow::Owned(little_endian(values)),
    }
}
