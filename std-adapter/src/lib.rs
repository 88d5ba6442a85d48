//! Reads and writes files of many streams on a POSIX system.
//!
//! [`striae_core`] computes where every byte is; this crate opens the files and moves the bytes.
//!
//! ```
//! use std::io::Read;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/doc/m05_np8_3files.sion");
//! let file = striae::sion::File::open(path)?; // and the other two files of the set
//! assert_eq!(file.ntasks(), 8);
//! for task in file.tasks()? {
//!     let task = task?;
//!     let mut bytes = Vec::new();
//!     file.stream(task.task)?.read_to_end(&mut bytes)?;
//!     assert_eq!(bytes.len() as u64, task.bytes);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`address`] | one text for one thing in a file: `task/3`, `frame/9/particles/position` |
//! | [`posix`] | one file, read and written by offset |
//! | [`lock`] | one writer at a time |
//! | [`copy`] | copies spans from file to file and keeps holes |
//! | [`direct`] | reads spans past the page cache; the library does the alignment |
//! | [`finding`] | the results of a check, as values |
//! | [`files`] | a set of files: each is opened when it is needed, and few are open at once |
//! | [`publish`] | output files that get their names only when they are complete |
//! | [`mod@format`] | detects the format of a file |
//! | [`map`] | whose bytes are where, as a picture |
//! | [`verb`] | what files of several formats have done to them, and its options |
//! | [`shown`] | file names as messages show them |
//! | [`sion`] | SIONlib files: open, list, stream, extract, dump, verify; write, pack, convert |
//! | [`gsd`] | GSD files: open, find, list, read, follow a writer |
//! | [`ffrecord`] | ffrecord files: open, list, read; write, pack, extract, verify |
//! | [`cdf`] | classic netCDF files: open, list, read variables and regions of them; write |
//! | [`blob`] | blob files of E3SM-IO: open, read, convert to a netCDF file; decomposition maps |
//! | [`error`] | errors that name the file |
//!
//! # Features
//!
//! `cli` (default): builds the `striae` program, with the dependencies that only the program needs.
#![deny(unsafe_code)]

pub mod address;
pub mod blob;
pub mod cdf;
pub mod copy;
mod crc32;
pub mod direct;
mod each;
pub mod error;
pub mod ffrecord;
pub mod finding;
pub mod format;
mod formats;
pub mod gsd;
pub mod lock;
pub mod map;
pub mod posix;
pub mod publish;
pub mod shown;
pub mod sion;
mod store;
pub mod verb;

pub use address::Address;
pub use error::Error;
pub use formats::Format;
pub use store::files;
pub use striae_core; // what its types need besides those that have a name here
pub use striae_core::span::Span;
pub use striae_core::store::{ReadAt, WriteAt};
pub use striae_hoomd;
pub use striae_inspect;
pub use verb::{Output, Verify};

/// The README's examples compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
