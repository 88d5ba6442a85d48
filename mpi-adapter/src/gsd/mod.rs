//! A GSD file whose chunks have rows of all ranks.
//!
//! | type | is |
//! |---|---|
//! | [`Builder`], [`Reopen`] | how a file is made, or opened to append to it |
//! | [`FileWriter`] | a file that all ranks write |
//! | [`Rows`] | the rows of a rank for some chunks |
//! | [`File`] | a file that all ranks read |
//!
//! A chunk has the rows of rank 0, then those of rank 1 and so on; a rank may have none. The file
//! is the one that [`striae::gsd`] writes for the same frames, byte for byte, so hoomd's and gsd's
//! programs read it.
//!
//! Rank 0 has the index and the names, and gives places in the file to chunks. Every rank has its
//! own handle of the file and writes its own rows. So the memory of a rank does not grow with the
//! number of ranks, and no rows are sent.
//!
//! ```
//! use striae::gsd::Version;
//! use striae_mpi::gsd::{Builder, Rows};
//! use striae_mpi::{Collective, Error, Threads};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("run.gsd");
//! let simulate = |rank: striae_mpi::threads::Rank| -> Result<(), Error> {
//!     // Each rank has some of the particles.
//!     let position = vec![[rank.rank() as f32, 0.5, 1.5]; 1000 + rank.rank() as usize];
//!     let typeid = vec![0_u32; position.len()];
//!     let is_first = rank.rank() == 0;
//!     let [count] = rank.total(Ok([position.len() as u64]))?;
//!
//!     let version = Version { major: 1, minor: 4 };
//!     let mut file = Builder::new().schema("hoomd", version).create(rank, &path)?;
//!     for step in 0..3_u64 {
//!         let (step, count) = ([step], [count as u32]);
//!         let rows = if is_first { 1 } else { 0 }; // of chunks that are not shared
//!         let whole = Rows::new().chunk("configuration/step", &step[..rows], 1);
//!         let whole = whole.chunk("particles/N", &count[..rows], 1);
//!         let particles = Rows::new()
//!             .chunk("particles/position", position.as_flattened(), 3)
//!             .chunk("particles/typeid", &typeid, 1);
//!         file.write(&[whole, particles])?;
//!         file.end_frame();
//!         file.commit()?; // whatever happens now, these frames are in the file
//!     }
//!     file.close().map(drop)
//! };
//! for done in Threads::new(4).run(simulate) {
//!     done.expect("no rank panicked")?;
//! }
//! let file = striae::gsd::File::open(&path)?;
//! assert_eq!(file.chunk(2, "particles/position")?.n, 4006);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builder;
mod reader;
mod root;
mod rows;
mod writer;

pub use builder::{Builder, Reopen};
pub use reader::{File, Part};
pub use rows::Rows;
pub use writer::FileWriter;

use crate::error::{Code, Failure};
use std::fmt;
use striae_core::gsd::Error as GsdError;
use striae_core::gsd::writer::WriteError;
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// What a chunk is called in messages.
struct Named<'a>(&'a [u8]);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "chunk {}", self.0.escape_ascii())
    }
}

/// A refusal of the format, or a judgement of the file.
fn refused(what: impl fmt::Display, error: GsdError) -> Failure {
    let code = match error {
        GsdError::FileFull { .. } | GsdError::FrameFull { .. } | GsdError::NamesFull => Code::Full,
        error if error.blames_caller() => Code::Refused,
        _ => Code::Damaged,
    };
    Failure::new(code, format_args!("{what}: {error}"))
}

/// An error of core's writer or reader.
fn failed<S: ReadAt<Error = std::io::Error>>(
    what: impl fmt::Display,
    error: WriteError<S>,
) -> Failure {
    match error {
        DriveError::Store(error) => Failure::io(what, &error),
        DriveError::Format(error) => refused(what, error),
        error => Failure::new(Code::Damaged, format_args!("{what}: {error}")),
    }
}

/// An error of striae's files.
fn of_striae(what: impl fmt::Display, error: &striae::Error) -> Failure {
    use striae::error::ErrorKind;
    match error.kind() {
        ErrorKind::Io(io) => Failure::new(Code::of_io(io), format_args!("{what}: {error}")),
        ErrorKind::Exists | ErrorKind::Locked => {
            Failure::new(Code::Refused, format_args!("{what}: {error}"))
        }
        _ => Failure::new(Code::Damaged, format_args!("{what}: {error}")),
    }
}
