//! HDF5 files that hold plain arrays in the root group (`spec/blob.md#hdf5`).
//!
//! In the order of reading; a module uses only those above it:
//!
//! | room | module | holds |
//! |---|---|---|
//! | | [`raw`] | the structures as they are stored |
//! | | [`lookup3`] | the checksum |
//! | | [`error`] | errors, and the parts of HDF5 that are refused |
//! | read | [`superblock`] | the start of a file |
//! | | [`object`] | the messages of an object header |
//! | | [`links`] | the objects of a group by name |
//! | | [`mod@array`] | arrays: datasets and attributes |
//! | | [`reader`] | read a file ([`Reader`]) |
//! | write | [`container`] | write a file with two arrays ([`Container`]) |
//!
//! E3SM-IO's HDF5 files have two such arrays. Each value of an array is at a known place in the
//! file, so that the arrays are read without the HDF5 library. All else of HDF5 is refused by name:
//! chunked arrays, filters, groups with indexes, values in other files.

pub mod container;
pub mod error;
pub mod lookup3;
pub mod raw;
mod read;

pub use read::{array, links, object, reader, superblock};

pub use array::{Array, Attribute, Attributes, Class, Dataset, Element, Shape};
pub use container::Container;
pub use error::{Error, Feature};
pub use links::{Link, Links};
pub use object::{Message, Messages};
pub use reader::{Reader, Search};

use crate::source::{Fault, Source};
use core::ops::ControlFlow::{Break, Continue};

/// Why reading from a store `S` failed: the store, the file or the caller's memory.
pub type ReadError<S> = crate::step::DriveError<<S as crate::store::ReadAt>::Error, Fault<Error>>;

/// Why reading from an asynchronous store `S` failed.
#[cfg(feature = "async")]
pub type AsyncError<S> =
    crate::step::DriveError<<S as crate::store::AsyncReadAt>::Error, Fault<Error>>;

/// The result of a small part of the work on a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Progress<T> {
    /// The next item.
    Found(T),
    /// There is no item yet.
    Working,
    /// There are no more items.
    End,
}

/// The next item of the list whose place is `state`, or `None` after the last one. What is known
/// after each part of the work is kept in `state`.
fn next<S: Source + ?Sized, K: Copy, T>(
    source: &S,
    state: &mut K,
    advance: impl Fn(&mut K, &S) -> Result<Progress<T>>,
) -> Result<Option<T>> {
    let pins = source.pins();
    loop {
        let mut next = *state;
        let progress = advance(&mut next, source)?;
        *state = next;
        match progress {
            Progress::Found(item) => return Ok(Some(item)),
            Progress::Working => source.set_pins(pins),
            Progress::End => return Ok(None),
        }
    }
}

/// The first thing that `pick` makes of an item of the list whose place is `state`.
fn find<S: Source + ?Sized, K: Copy, T, R>(
    source: &S,
    state: &mut K,
    advance: impl Fn(&mut K, &S) -> Result<Progress<T>>,
    pick: impl Fn(&S, T) -> Result<Option<R>>,
) -> Result<Option<R>> {
    source.walk(state, |source, mut next| {
        let found = match advance(&mut next, source)? {
            Progress::Found(item) => pick(source, item)?,
            Progress::Working => None,
            Progress::End => return Ok(Break(None)),
        };
        Ok(found.map_or(Continue(next), |found| Break(Some(found))))
    })
}

type Result<T> = core::result::Result<T, Fault<Error>>;

/// An address that leads nowhere.
const UNDEFINED: u64 = u64::MAX;
