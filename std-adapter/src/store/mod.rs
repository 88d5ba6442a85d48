//! Where the bytes of files are: the only place that reads, writes and syncs them, but for
//! [`direct`](crate::direct). Nothing here knows a format.
//!
//! | module | holds |
//! |---|---|
//! | [`posix`] | one file, and whether its syncs ask the disk |
//! | `syncs` | what the disk said: a failed sync stays failed |
//! | `run` | bytes that wait to be written, and where they belong |
//! | `gatherer` | a file whose small writes are gathered into long ones |
//! | [`files`] | a set of files, opened when needed |
//! | `bulk` | a file whose data are read past the page cache, if that is wanted |
//! | `sparse` | a file whose holes are known |
//!
//! What writes is a [`PosixFile`](posix::PosixFile), a gatherer of one, or a
//! [`direct::Writer`](crate::direct::Writer), which gathers in memory that a device takes: `law`
//! has all of them, and finds out if there is another one.

pub(crate) mod bulk;
pub mod files;
mod gatherer;
#[cfg(test)]
mod law;
pub mod posix;
mod run;
mod sparse;
mod subject;
mod syncs;

pub(crate) use gatherer::Gatherer;
pub(crate) use run::Run;
pub(crate) use sparse::SparseFile;
pub(crate) use subject::Inspected;
