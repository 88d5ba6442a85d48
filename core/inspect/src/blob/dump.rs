//! Lists every metadata field of a subfile, with its offset, bytes and value.

use super::Flaw;
use super::container::{Container, bytes_of, container, datasets};
use super::grammar::order_of;
use crate::cdf;
use crate::dump::{Each, Line};
use crate::subject::Failed;
use striae_core::endian::ByteOrder;
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// Passes each field of a subfile's header to `each`, as [`cdf::dump`] does. In an HDF5 subfile
/// these are the fields of `header_blob`, with their offsets in the file.
///
/// # Errors
/// [`Flaw`] if the header or the container is damaged; the fields before that are passed first. An
/// error of the store; an error of `each`.
pub fn dump<'a, S: ReadAt>(store: &'a S, each: &'a mut Each<'a, S>) -> Result<(), Failed<S, Flaw>> {
    let mut failed = None;
    let mut tell = |line| {
        failed = each(line).err();
        failed.is_none()
    };
    if container(store)? == Container::Cdf {
        cdf::each_line(store, ByteOrder::Big, &mut tell).map_err(Flaw::of_cdf)?;
    } else {
        let (header, _) = datasets(store)?;
        let bytes = bytes_of(store, header)?;
        let done = cdf::each_line(&bytes[..], order_of(&bytes), &mut |mut line| {
            if let Line::Field { offset, .. } = &mut line {
                *offset = offset.saturating_add(header.offset());
            }
            tell(line)
        });
        done.map_err(Flaw::of_cdf).map_err(Flaw::of_memory)?;
    }
    failed.map_or(Ok(()), |error| Err(DriveError::Store(error)))
}
