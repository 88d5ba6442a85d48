//! Classic netCDF files, CDF-1, CDF-2 and CDF-5: named arrays (`spec/cdf.md`).
//!
//! In the order of reading; a module uses only those above it:
//!
//! | room | module | holds |
//! |---|---|---|
//! | | [`raw`] | the structures as they are stored |
//! | | [`kind`] | versions of the format, types of values |
//! | | [`error`], [`layout`] | errors; the places of the values of variables |
//! | | [`values`] | values in memory |
//! | read | [`cursor`] | a header, item by item |
//! | | [`open`] | machine: scan a header; the metadata that opening collects |
//! | | [`reader`] | read a file ([`Reader`]) |
//! | write | [`define`], [`plan`] | definitions of new files, the places of their values |
//! | | [`encode`] | a header as bytes, which begins a new file |
//! | | [`book`] | what a writer knows, and the steps of putting, ending and committing |
//! | | [`writer`] | write a file ([`Writer`]) |
//!
//! These are the files that netCDF-C and PnetCDF write. A header's lists may be of any length and
//! stay in the file: opening keeps the lengths of the dimensions in the caller's memory, and
//! nothing else.

pub mod error;
pub mod kind;
pub mod layout;
pub mod raw;
mod read;
pub mod values;
mod write;

pub use read::{cursor, open, reader};
pub use write::{book, define, encode, plan, writer};

pub use book::{Book, Slot};
pub use cursor::{Attr, Cursor, Dim, Item, Var};
pub use define::{AttrDef, Define, Definition, DimDef, VarDef};
pub use encode::Encode;
#[cfg(feature = "async")]
pub use error::AsyncError;
pub use error::{Error, Flaw, ReadError};
pub use kind::{ListKind, Type, Version};
pub use layout::{Layout, Region, Slab};
pub use open::{Head, Measured, Scan, Survey, Variable};
pub use plan::{Alignment, Plan};
pub use reader::Reader;
pub use values::{Fill, Values};
pub use writer::Writer;
