//! Stores of bytes, around [`posix`](crate::posix) and [`direct`](crate::direct), which alone read,
//! write and sync files. They know no format.
//!
//! | module | holds |
//! |---|---|
//! | `run` | bytes that wait to be written, and their offset |
//! | `gatherer` | a file whose small writes are gathered into long ones |
//! | [`lock`] | one writer at a time |
//! | [`files`] | a set of files, opened when needed |
//! | `bulk` | a file whose data may be read past the page cache |
//! | `sparse` | a file whose holes are known |
//! | `written` | how a file is written: what survives, who else writes, how much is gathered |
//!
//! Three types write: [`PosixFile`](crate::posix::PosixFile), a gatherer around one, and
//! [`direct::Writer`](crate::direct::Writer), which gathers in aligned memory. The test module
//! `law` covers all of them and fails if another one is added.

pub(crate) mod bulk;
pub mod files;
mod gatherer;
#[cfg(test)]
mod law;
mod run;
mod sparse;
mod subject;
mod written;

pub(crate) use gatherer::Gatherer;
pub(crate) use run::Run;
pub(crate) use sparse::{SparseFile, existing};
pub(crate) use subject::Inspected;
pub use written::{Durability, WriteOptions};
