//! Classic netCDF files, CDF-1, CDF-2 and CDF-5: named arrays (`spec/cdf.md`).
//!
//! | module | holds |
//! |---|---|
//! | [`raw`] | the structures as they are stored |
//! | [`kind`] | versions of the format, types of values |
//! | [`error`] | errors |
//! | [`layout`] | the places of the values of variables |
//! | [`cursor`] | a header, item by item |
//! | [`open`] | machine: scan a header; the metadata that opening collects |
//! | [`reader`] | read a file ([`Reader`]) |
//!
//! These are the files that netCDF-C and PnetCDF write. A header's lists may be of any length and
//! stay in the file: opening keeps the lengths of the dimensions in the caller's memory, and
//! nothing else.

pub mod cursor;
pub mod error;
pub mod kind;
pub mod layout;
pub mod open;
pub mod raw;
pub mod reader;

pub use cursor::{Attr, Cursor, Dim, Item, ListKind, Var};
pub use error::Error;
pub use kind::{Type, Version};
pub use layout::{Layout, Region, Slab};
pub use open::{Head, Scan, Survey, Variable};
pub use reader::Reader;

/// Why reading from a store `S` failed: the store, the file or the caller's buffer.
pub type ReadError<S> = crate::step::DriveError<<S as crate::store::ReadAt>::Error, Error>;

/// Why reading from an asynchronous store `S` failed.
#[cfg(feature = "async")]
pub type AsyncError<S> = crate::step::DriveError<<S as crate::store::AsyncReadAt>::Error, Error>;
