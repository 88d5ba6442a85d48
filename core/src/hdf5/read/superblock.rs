//! The start of a file, which leads to the root group.

use crate::hdf5::error::{Error, Feature, Result};
use crate::hdf5::lookup3::lookup3;
use crate::hdf5::raw::UNDEFINED;
use crate::hdf5::raw::{SIGNATURE, Superblock0, Superblock2};
use crate::source::Source;
use crate::span::Span;
use zerocopy::IntoBytes;

/// The address of the object header of the root group (`spec/blob.md#superblock`).
///
/// # Errors
/// [`Error::NotHdf5`]; [`Error::Unsupported`] for a version other than 0, 2 and 3, addresses that
/// are not of 8 bytes, and files inside other files; [`Error::Checksum`].
pub fn root<S: Source + ?Sized>(source: &S) -> Result<u64> {
    let len = source.file_len().min(8);
    let start = source.some(0, usize::try_from(len).unwrap_or(8), len)?;
    let mut magic = [0; 8];
    magic.iter_mut().zip(start).for_each(|(to, byte)| *to = *byte);
    if magic != SIGNATURE {
        return Err(Error::NotHdf5 { magic }.into());
    }
    let (sizes, sizes_at, base, root) = match *source.read::<u8>(8)? {
        0 => {
            let block = source.read::<Superblock0>(0)?;
            let sizes = [block.size_of_offsets, block.size_of_lengths];
            (sizes, 13, block.base_address, block.root.header_address)
        }
        2 | 3 => {
            let block = source.read::<Superblock2>(0)?;
            let bytes = block.as_bytes();
            let summed = bytes.split_last_chunk::<4>().map_or(bytes, |(summed, _)| summed);
            check(44, block.checksum.get(), lookup3(summed))?;
            let sizes = [block.size_of_offsets, block.size_of_lengths];
            (sizes, 9, block.base_address, block.root_address)
        }
        _ => return unsupported(Feature::Superblock, 8),
    };
    if sizes != [8, 8] {
        return unsupported(Feature::AddressSize, sizes_at);
    }
    if base.get() != 0 {
        return unsupported(Feature::BaseAddress, 0);
    }
    Ok(root.get())
}

pub(in crate::hdf5) fn unsupported<T>(feature: Feature, offset: u64) -> Result<T> {
    Err(Error::Unsupported { feature, offset }.into())
}

/// Compares a checksum with that of the bytes.
pub(in crate::hdf5) fn check(offset: u64, stored: u32, computed: u32) -> Result<()> {
    match stored == computed {
        true => Ok(()),
        false => Err(Error::Checksum { offset, stored, computed }.into()),
    }
}

/// Compares a signature with the right one.
pub(in crate::hdf5) fn check_signature(
    offset: u64,
    found: [u8; 4],
    expected: &[u8; 4],
) -> Result<()> {
    match found == *expected {
        true => Ok(()),
        false => Err(Error::Signature { offset, found, expected: *expected }.into()),
    }
}

/// The span of data that the file must have.
pub(in crate::hdf5) fn in_file(offset: u64, len: u64, file_len: u64) -> Result<Span> {
    let span = Span::new(offset, len).filter(|span| span.fits(file_len) && offset != UNDEFINED);
    let end = offset.saturating_add(len);
    Ok(span.ok_or(Error::OutOfFile { offset, end, file_len })?)
}
