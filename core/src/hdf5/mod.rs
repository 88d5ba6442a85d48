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
#[cfg(feature = "async")]
pub use error::AsyncError;
pub use error::{Error, Feature, ReadError};
pub use links::{Link, Links};
pub use object::{Message, Messages};
pub use read::list::Progress;
pub use reader::{Reader, Search};
