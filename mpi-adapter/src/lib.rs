//! Collective writing and reading of striae's formats by the ranks of a parallel program.
//!
//! | module | holds |
//! |---|---|
//! | [`collective`] | the operations of all ranks |
//! | [`error`] | a rank's failure, and the error that all ranks get for it |
//! | [`comm`] | the rules of all communicators, whatever carries the messages |
//! | [`threads`] | ranks that are threads of one process |
//! | `mpi` | ranks that are processes of MPI, with the feature `mpi` |
//! | [`collect`] | few ranks that write for all |
//! | [`sion`] | SIONlib sets that all ranks write, append to and read |
//! | [`gsd`] | a GSD file whose chunks have rows of all ranks |
//! | [`blob`] | a blob set that all ranks write and read |
//! | [`direct`] | samples that the ranks of a node read past the page cache, each byte once |
//!
//! ```
//! use striae_mpi::sion::Builder;
//! use striae_mpi::{Collective, Error, Threads};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("run.sion");
//! let write = |rank: striae_mpi::threads::Rank| -> Result<(), Error> {
//!     let line = format!("rank {} of {}\n", rank.rank(), rank.size());
//!     let mut file = Builder::new().create(rank, &path)?;
//!     let written = file.write(line.as_bytes()); // this rank alone
//!     file.commit()?; // all ranks: an error of `written` is that of all of them
//!     assert!(written.is_ok());
//!     file.close().map(drop)
//! };
//! for done in Threads::new(4).run(write) {
//!     done.expect("no rank panicked")?;
//! }
//! assert_eq!(striae::sion::File::open(&path)?.task(3)?.bytes, 12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is promised when a rank fails
//!
//! - **Its own work fails**, a full disk for example: all ranks get an equal [`Error`] from the
//!   next collective, with the rank, the reason and its text. If several failed, the lowest rank
//!   counts. The communicator of the file is poisoned; the program's own communicators are not.
//!   A file is that of the last commit; or that of the commit that failed, if it was visible
//!   already.
//! - **It makes another call than the others, or passes another argument where all must pass equal
//!   ones**: all ranks get an equal [`Code::Differ`] from the next collective, with the lowest rank
//!   that differs and what it called, before any of them makes, splits or writes anything. A file
//!   is that of the last commit that all ranks made.
//! - **It panics, dies, hangs or leaves**: threads notice a panic at once. Else the other ranks get
//!   [`Code::Lost`] after the deadline, or the launcher of MPI ends the job before. Without a
//!   deadline they wait for the launcher. A file is that of the last commit, or of the commit that
//!   was going on.
//! - **After [`Code::Lost`]** a rank may go on with the others as the next paragraph says, do work
//!   of its own, and end the process. With MPI,
//!   end it by [`std::process::exit`] without `MPI_Finalize`, which would wait for the lost rank:
//!   the launcher then ends the other ranks.
//! - **The ranks that are left can go on with a SIONlib set**: they get a communicator of their
//!   own, by [`Collective::shrink`] or from MPI, and call [`sion::FileWriter::continue_on`]. What
//!   they wrote is part of the next commit; the tasks of the lost rank stay as the last commit has
//!   them. Where ranks cannot get such a communicator ([`Code::Unsupported`]), and with GSD files
//!   and blob sets, the last commit holds. A rank that is lost but not dead must not write any
//!   more.
//! - Nothing communicates in `Drop`.
#![deny(unsafe_code)]

pub mod blob;
pub mod collect;
pub mod collective;
pub mod comm;
pub mod direct;
pub mod error;
mod file;
pub mod gsd;
#[cfg(feature = "mpi")]
pub mod mpi;
mod operation;
pub mod sion;
pub mod threads;
mod words;

#[cfg(feature = "mpi")]
pub use ::mpi as rsmpi; // communicators and handles of MPI are in the interface of `Mpi`
pub use collect::Collect;
pub use collective::{Collective, Fold, Traffic, even_part};
pub use error::{Code, Error, Failure};
pub use file::SharedFile;
#[cfg(feature = "mpi")]
pub use mpi::Mpi;
pub use operation::Operation;
pub use striae; // what its types need besides those that have a name here
pub use threads::Threads;

/// The examples of the README.
#[cfg(all(doctest, feature = "mpi"))]
#[doc = include_str!("../README.md")]
struct Readme;
