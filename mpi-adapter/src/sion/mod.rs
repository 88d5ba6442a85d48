//! SIONlib sets that the ranks of a parallel program write and read.
//!
//! | type | is |
//! |---|---|
//! | [`Builder`] | the options of a new set |
//! | [`FileWriter`] | a set that all ranks write |
//! | [`OpenOptions`] | the options of a set that is read |
//! | [`FileReader`] | a set that all ranks read, by any number of ranks |
//! | [`TaskStream`] | the stream of one task of it, `Read` and `Seek` |

mod builder;
mod part;
mod read;

pub use builder::Builder;
pub use read::{FileReader, KeyReader, OpenOptions, TaskEntry, TaskStream};

use crate::collective::Collective;
use crate::error::{Error, Failure};
use part::Part;
use std::io;
use striae::posix::PosixFile;
use striae_core::store::WriteAt;

/// A set that all ranks write, one physical file for each group of ranks. Each rank has its own
/// handle of its file, `F`.
///
/// [`write`](Self::write) and [`ensure_free_space`](Self::ensure_free_space) are calls of this rank
/// alone. Their errors reach the other ranks at the next [`advance`](Self::advance),
/// [`commit`](Self::commit) or [`close`](Self::close).
#[derive(Debug)]
pub struct FileWriter<C, F = PosixFile> {
    /// The ranks of all files, if there are several.
    whole: Option<C>,
    part: Part<C, F>,
}

impl<C: Collective, F> FileWriter<C, F>
where
    for<'f> &'f F: WriteAt<Error = io::Error>,
{
    /// The communicator of this rank's physical file.
    pub fn comm(&self) -> &C {
        self.part.comm()
    }

    /// The communicator of the set, if it has several files.
    pub fn whole(&self) -> Option<&C> {
        self.whole.as_ref()
    }

    /// Writes `bytes` to the stream of this rank, without the other ranks. The bytes are part of
    /// the next commit. They go to the file at once, so that short records are slow; with
    /// [`Builder::collect`] they wait in a buffer, and this rank opens the file if the buffer is
    /// full.
    ///
    /// # Errors
    /// An error of the operating system; the next collective reports it to all ranks, and the
    /// stream of this rank is unchanged. [`io::ErrorKind::WouldBlock`] if all ranks must
    /// [`advance`](Self::advance) first, which happens only after a commit; then the write can be
    /// tried again.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.part.write(bytes)
    }

    /// Writes a record of each rank; all ranks call this, each with a record of any length, also 0.
    /// A record that fits into a chunk is in one chunk, as with `sion_coll_fwrite`; a longer one
    /// goes on in the next.
    ///
    /// Most calls take no message. With [`Builder::collect`] the ranks meet when a buffer may be
    /// full: what waits goes to the writers, which takes one call of the message layer, and three
    /// if the ranks must [`advance`](Self::advance). All ranks know from the lengths of the records
    /// up to then when they will meet again.
    ///
    /// # Errors
    /// [`Error`] when the ranks meet, at all ranks of this physical file; those of the others learn
    /// of it at the next commit.
    pub fn coll_write(&mut self, record: &[u8]) -> Result<(), Error> {
        self.part.coll_write(record)
    }

    /// Goes to the next chunk if fewer than `len` bytes fit into this one, as
    /// `sion_ensure_free_space` does. So a record of at most a chunk is not split.
    ///
    /// # Errors
    /// [`io::ErrorKind::Other`] if `len` is more than a chunk has; the stream is unchanged.
    pub fn ensure_free_space(&mut self, len: u64) -> io::Result<()> {
        self.part.ensure_free_space(len)
    }

    /// Makes room for `len` more bytes of this rank. All ranks call this, each with its own `len`.
    /// It is needed only after a commit. This takes two calls of the message layer, and one more
    /// for several files.
    ///
    /// # Errors
    /// [`Error`]. The set stays as the last commit left it.
    pub fn advance(&mut self, len: u64) -> Result<(), Error> {
        let done = self.part.advance(len);
        self.all(done)
    }

    /// Makes all data that all ranks wrote part of the set, or none of those of a file. This takes
    /// three calls of the message layer, and one more for several files: each of them commits for
    /// itself, and all ranks learn whether all did.
    ///
    /// # Errors
    /// [`Error`]. A file is that of the last commit; or that of this one, if it was visible before
    /// something failed.
    pub fn commit(&mut self) -> Result<(), Error> {
        let done = self.part.commit();
        self.all(done)
    }

    /// Commits for the last time, with META2 where SIONlib puts it. Returns the communicator that
    /// the set was made with, for the next one. This takes three calls of the message layer, or
    /// five if the META2 of the last commit is in the way; and two more for several files.
    ///
    /// # Errors
    /// The errors of [`commit`](Self::commit).
    pub fn close(self) -> Result<C, Error> {
        let done = self.part.close();
        let Some(whole) = self.whole else { return done };
        agree(Some(&whole), done.and_then(|part| part.free(Ok(()))))?;
        Ok(whole)
    }

    fn all(&self, done: Result<(), Error>) -> Result<(), Error> {
        agree(self.whole.as_ref(), done)
    }
}

/// Tells the ranks of all files the result of one of them.
fn agree<C: Collective, T>(whole: Option<&C>, done: Result<T, Error>) -> Result<T, Error> {
    let Some(whole) = whole else { return done };
    match done {
        Ok(done) => whole.agree(Ok(())).map(|()| done),
        Err(error) => {
            let agreed = whole.agree(Err(Failure::from(error.clone())));
            Err(agreed.err().unwrap_or(error))
        }
    }
}
