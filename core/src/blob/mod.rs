//! Blob files of E3SM-IO: decomposed arrays in subfiles (`spec/blob.md`).
//!
//! In the order of reading; a module uses only those above it:
//!
//! | room | module | holds |
//! |---|---|---|
//! | | [`raw`] | the structures of a seal as stored |
//! | | [`names`], [`error`] | the names of dimensions, variables and attributes; errors |
//! | | [`layout`] | the places of a blob's elements, in both layouts |
//! | disk | [`tie`], [`seal`] | what makes a subfile one of its set, checksums of blobs |
//! | read | [`walk`] | machine: finds the blobs of a process-centric subfile |
//! | | [`find`] | where elements of the canonical array are: maps, regions |
//! | map | [`map`] | decomposition maps, from which sets are written |
//! | write | [`define`], [`distribute`] | the definition of a subfile's header; subfiles of processes, shares of blobs |
//! | | [`mod@column`], [`form`] | what blobs have of a variable, and which records; the header of a new subfile |
//! | | [`append`] | how records become part of a subfile |
//! | | [`book`] | what every writer of a set computes: maps, checksums |
//! | | [`sealing`] | the seal and the end of a new subfile |
//! | | [`pen`] | what a rank has written, for each writer of a set |
//!
//! Each process of the writing program gives one *blob* for each decomposed variable: its elements,
//! one after another. A *decomposition* says which elements of the canonical array these are: the
//! map of a blob is a list of requests, each an offset in the flattened array and a length. A
//! *subfile* holds the blobs of some processes and a header in the grammar of [`cdf`](crate::cdf).
//! In the variable-centric layout it is a CDF-5 file, and the blobs of a variable follow each
//! other. In the process-centric layout it is an HDF5 file, and so do the variables of a blob.
//!
//! There is no reader of a subfile here. What its tables say of each blob is joined with its header
//! in the package `striae-inspect` (`blob::subfile`), in memory as long as the tables.

mod disk;
pub mod error;
pub mod layout;
pub mod map;
pub mod names;
pub mod raw;
mod read;
mod write;

pub use disk::{seal, tie};
pub use read::{find, walk};
pub use write::{append, book, column, define, distribute, form, pen, sealing};

pub use column::{Column, Held, Records, Refusal};
pub use define::{Decomposition, Group, Partition, Subfile};
pub use distribute::Shares;
pub use error::Error;
pub use find::{Gather, Piece, Place, Run, Runs, Take};
pub use form::Form;
pub use layout::{Content, Fixed, Share, Width};
pub use names::{Name, Part};
pub use pen::Pen;
pub use seal::{FindSeal, Seal};
pub use sealing::Sealing;
pub use tie::{Fingerprint, Tie};
pub use walk::Walk;
