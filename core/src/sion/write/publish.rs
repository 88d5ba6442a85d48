//! [`Desk`]: a [`Book`] at work in a store. It commits, closes and enters blocks.
//!
//! A commit never touches bytes that the last commit made visible, nor a block that any task has
//! entered (`spec/sion.md#commits`). If the last commit is in the way, it is moved first. If it is
//! not known whether the last commit is visible, it is made visible first.

use super::book::{Ahead, Book, Enter};
#[twin(write_all)]
use super::tables::write_all;
use super::tables::{Pieces, WINDOW, check_window};
use super::visible::Outcome;
#[twin(complete, show)]
use super::visible::{complete, show};
use crate::integrity::{Checksum, crc32c};
use crate::sion::disk::varheader::Varheader;
use crate::sion::error::Error;
#[twin(WriteError = AsyncError)]
use crate::sion::error::WriteError;
use crate::step::DriveError;
#[twin(WriteAt)]
use crate::store::WriteAt;
use embedded_io::{Error as _, ErrorKind};
use striae_twin::twin;

/// Parameters of a publication.
///
/// A later version may add fields: end a literal with `..Default::default()`.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// The number of free blocks before META2; a close leaves none.
    pub ahead: Ahead,
    /// The function that computes CRC-32C; an adapter may have a faster one.
    pub checksum: Checksum,
    /// The number of the [commit of the whole set](Varheader::set_number) that a commit or a close
    /// is part of, at most 2^31 - 1; 0 if the file is committed by itself.
    pub set_number: u32,
}

impl Default for Terms {
    /// No blocks ahead, of a file that is committed by itself.
    fn default() -> Self {
        Self { ahead: Ahead::NONE, checksum: crc32c, set_number: 0 }
    }
}

impl Terms {
    /// This place with the number of the commit.
    fn numbered(&self, place: Varheader) -> Varheader {
        place.with_set_number(self.set_number).unwrap_or(place)
    }
}

/// A Book at work in a store.
///
/// After an error, or if a future is dropped, the Book says what the file may be; the same call or
/// any other can be made again.
#[derive(Debug)]
pub struct Desk<'d, S> {
    pub(in crate::sion) book: &'d mut Book,
    pub(in crate::sion) store: &'d mut S,
    pub(in crate::sion) terms: Terms,
    pub(in crate::sion) window: &'d mut [u8],
}

impl<'d, S> Desk<'d, S> {
    /// Puts `book` to work in `store`. `window` needs [`WINDOW`](super::tables::WINDOW) bytes; a
    /// larger window makes fewer and larger writes.
    ///
    /// # Errors
    /// [`Error::Window`] if the window is too small.
    pub fn new(
        book: &'d mut Book,
        store: &'d mut S,
        terms: Terms,
        window: &'d mut [u8],
    ) -> Result<Self, Error> {
        check_window(window, WINDOW)?;
        Ok(Self { book, store, terms, window })
    }
}

#[twin(WriteAt, WriteError = AsyncError)]
impl<S: WriteAt> Desk<'_, S> {
    /// Enters `block`, see [`Book::enter`]. If META2 is in the way, it is moved: `unchanged` is the
    /// tables of the last commit.
    ///
    /// # Errors
    /// [`Error::FileFull`] if bytes in that block could not be committed; the store's own error.
    pub async fn enter<P: Pieces>(
        &mut self,
        block: u32,
        unchanged: &mut P,
    ) -> Result<(), WriteError<S>> {
        let file_len = self.store.size().await.map_err(DriveError::Store)?;
        loop {
            match self.book.enter(block, self.terms.ahead)? {
                Enter::GoOn => return Ok(()),
                Enter::Settle(new) => self.show(&new).await?,
                Enter::Move(new) => self.publish(&new, file_len, unchanged).await?,
            }
        }
    }

    /// Commits `tables`. `maxchunks` is the number of chunks of the longest stream.
    ///
    /// # Errors
    /// [`Error::FileFull`] if META2 has no place in the file; the store's own error.
    pub async fn commit<P: Pieces>(
        &mut self,
        maxchunks: u32,
        tables: &mut P,
    ) -> Result<(), WriteError<S>> {
        let file_len = self.store.size().await.map_err(DriveError::Store)?;
        self.settle().await?;
        let new = self.terms.numbered(self.book.commit(maxchunks, self.terms.ahead)?);
        self.publish(&new, file_len, tables).await
    }

    /// Commits `tables` with META2 where SIONlib puts it, and cuts the file after it.
    ///
    /// # Errors
    /// See [`Desk::commit`].
    pub async fn close<P: Pieces>(
        &mut self,
        maxchunks: u32,
        tables: &mut P,
    ) -> Result<(), WriteError<S>> {
        let file_len = self.store.size().await.map_err(DriveError::Store)?;
        self.settle().await?;
        let mut plan = self.book.close(maxchunks)?;
        while let Some(aside) = plan.aside {
            // The last commit is in the way of this one.
            self.publish(&self.terms.numbered(aside), file_len, tables).await?;
            plan = self.book.close(maxchunks)?;
        }
        let last = self.terms.numbered(plan.last);
        self.publish(&last, file_len, tables).await?;
        match self.cut(&last).await {
            // A device may have no way to cut the file, which is all that is not done then.
            Err(DriveError::Store(error)) if error.kind() == ErrorKind::Unsupported => Ok(()),
            cut => cut,
        }
    }

    /// Lets the file end with the commit at `last`, which is visible, where a close puts it.
    ///
    /// # Errors
    /// The store's own error.
    pub async fn cut(&mut self, last: &Varheader) -> Result<(), WriteError<S>> {
        self.store.set_size(last.span().end()).await.map_err(DriveError::Store)?;
        self.store.sync().await.map_err(DriveError::Store)
    }

    /// Writes `tables` at `new` and makes them durable. No reader sees them before
    /// [`show`](Self::show): in between, several files can wait for each other. Of ranks that have
    /// written the tables already, one passes their [sums](super::tables::TableSums).
    ///
    /// # Errors
    /// The store's own error.
    pub async fn prepare<P: Pieces>(
        &mut self,
        new: &Varheader,
        tables: &mut P,
    ) -> Result<(), WriteError<S>> {
        let file_len = self.store.size().await.map_err(DriveError::Store)?;
        self.complete(new, file_len, tables).await
    }

    /// Publishes `tables` at `new`, where no reader looks before.
    #[inline(never)] // one function for commits and entered blocks: a device's code is small
    async fn publish<P: Pieces>(
        &mut self,
        new: &Varheader,
        file_len: u64,
        tables: &mut P,
    ) -> Result<(), WriteError<S>> {
        self.complete(new, file_len, tables).await?;
        self.show(new).await
    }

    /// Writes `tables` at `new` and makes them durable.
    async fn complete<P: Pieces>(
        &mut self,
        new: &Varheader,
        file_len: u64,
        tables: &mut P,
    ) -> Result<(), WriteError<S>> {
        let publication = self.book.publication(*new, file_len, self.terms.checksum);
        write_all(&publication, tables, self.store, self.window).await?;
        let trailer = tables.trailer(&publication);
        let complete = complete(&publication, trailer, self.store).await;
        complete.map_err(DriveError::Store)
    }

    /// Makes the last commit visible, if that is not known.
    ///
    /// # Errors
    /// The store's own error.
    pub async fn settle(&mut self) -> Result<(), WriteError<S>> {
        match self.book.unsettled().copied() {
            Some(new) => self.show(&new).await,
            None => Ok(()),
        }
    }

    /// Makes the commit at `new` visible, whose tables are durable.
    ///
    /// # Errors
    /// The store's own error.
    pub async fn show(&mut self, new: &Varheader) -> Result<(), WriteError<S>> {
        let is_again = self.book.unsettled().is_some();
        self.book.conclude(Outcome::Unknown(*new)); // from here on, a reader may see it
        let shown = show(self.book.meta1(), new, self.store).await;
        shown.map_err(DriveError::Store)?;
        self.book.shown(*new, is_again);
        Ok(())
    }
}
