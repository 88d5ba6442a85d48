//! [`Publish`], the machine that carries out a [`Book`]'s plan: commit, close, enter a block.
//!
//! A commit never touches bytes that the last commit made visible, nor a block that any task has
//! entered (`spec/sion.md#commits`). If the last commit is in the way, it is moved first. If it is
//! not known whether the last commit is visible, it is made visible first.

use super::ReadError;
use super::book::{Ahead, Book, ClosePlan, Enter};
use super::error::Error;
use super::tables::{Emit, Publication, Tables, Unchanged, Written};
use super::varheader::Varheader;
use super::visible::Visible;
use crate::integrity::{Checksum, crc32c};
use crate::step::{DriveError, Machine, Step, drive};
use crate::store::WriteAt;
use core::convert::Infallible;

/// Parameters of a publication.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// The number of free blocks before META2; a close leaves none.
    pub ahead: Ahead,
    /// The length of the file in bytes, which may contain tables of an older commit.
    pub file_len: u64,
    /// The function that computes CRC-32C; an adapter may have a faster one.
    pub checksum: Checksum,
    /// The number of the [commit of the whole set](Varheader::set_number) that a commit or a close
    /// is part of, at most 2^31 - 1; 0 if the file is committed by itself.
    pub set_number: u32,
}

impl Default for Terms {
    /// No blocks ahead, of a new file that is committed by itself.
    fn default() -> Self {
        Self { ahead: Ahead::NONE, file_len: 0, checksum: crc32c, set_number: 0 }
    }
}

impl Terms {
    /// This place with the number of the commit.
    fn numbered(&self, place: Varheader) -> Varheader {
        place.with_set_number(self.set_number).unwrap_or(place)
    }

    /// The publication of `book` at `new`.
    const fn publication(&self, book: &Book, new: Varheader) -> Publication {
        book.publication(new, self.file_len, self.checksum)
    }
}

/// Carries out a [`Book`]'s plan and passes the outcome to [`Book::conclude`], also if this machine
/// is dropped because the store failed.
///
/// The output is an error if the file has no place for META2; nothing was written for it then.
/// `M` is the machine that writes the tables: [`Tables`].
#[derive(Debug)]
pub struct Publish<'b, M: Emit> {
    book: &'b mut Book,
    goal: Goal,
    terms: Terms,
    tables: M,
    state: State,
}

/// The purpose of a publication.
#[derive(Debug, Clone, Copy)]
pub(super) enum Goal {
    /// Enter this block.
    Enter(u32),
    /// Commit this number of rows.
    Commit(u32),
    /// Close with this number of rows. A program that only commits does not link the plan.
    Close(u32, fn(&Book, u32) -> Result<ClosePlan, Error>),
}

#[derive(Debug)]
enum State {
    /// The Book returns the next action.
    Ask,
    /// The tables of `new` are written; with `last`, they are those of the goal.
    Tables {
        new: Varheader,
        last: bool,
    },
    Visible {
        visible: Visible,
        last: bool,
    },
    Cut,
    SyncCut,
    Done(Result<(), Error>),
}

impl<'b, 'w> Publish<'b, Tables<'w, Unchanged>> {
    /// Makes a machine that enters `block`, see [`Book::enter`]. `window` needs
    /// [`WINDOW`](super::tables::WINDOW) bytes; a larger window makes fewer and larger writes.
    ///
    /// # Errors
    /// [`Error::Window`] if the window is too small.
    pub fn enter(
        book: &'b mut Book,
        block: u32,
        terms: Terms,
        window: &'w mut [u8],
    ) -> Result<Self, Error> {
        Ok(Self::new(book, Goal::Enter(block), terms, Tables::idle(Unchanged, window)?))
    }
}

impl<'b, 'w, T: Written> Publish<'b, Tables<'w, Option<T>>> {
    /// [`enter`](Publish::enter) with the machine that also commits: a program needs only one.
    pub(super) fn enter_too(
        book: &'b mut Book,
        block: u32,
        terms: Terms,
        window: &'w mut [u8],
    ) -> Result<Self, Error> {
        Ok(Self::new(book, Goal::Enter(block), terms, Tables::idle(None, window)?))
    }
}

impl<'b, 'w, T: Written> Publish<'b, Tables<'w, T>> {
    /// Makes a machine that commits `written`. `maxchunks` is the number of chunks of the longest
    /// stream.
    ///
    /// # Errors
    /// See [`Publish::enter`].
    pub fn commit(
        book: &'b mut Book,
        maxchunks: u32,
        written: T,
        terms: Terms,
        window: &'w mut [u8],
    ) -> Result<Self, Error> {
        Ok(Self::new(book, Goal::Commit(maxchunks), terms, Tables::idle(written, window)?))
    }

    /// Makes a machine that commits `written` where SIONlib puts META2, and cuts the file after it.
    ///
    /// # Errors
    /// See [`Publish::enter`].
    pub fn close(
        book: &'b mut Book,
        maxchunks: u32,
        written: T,
        terms: Terms,
        window: &'w mut [u8],
    ) -> Result<Self, Error> {
        let goal = Goal::Close(maxchunks, Book::close);
        Ok(Self::new(book, goal, terms, Tables::idle(written, window)?))
    }
}

impl<'b, M: Emit> Publish<'b, M> {
    /// Makes a machine for this goal. The Book says where `tables` go, once this is polled.
    pub(super) const fn new(book: &'b mut Book, goal: Goal, terms: Terms, tables: M) -> Self {
        Self { book, goal, terms, tables, state: State::Ask }
    }

    /// Runs the machine on `store`. `buf` is the memory for reads.
    ///
    /// # Errors
    /// [`Error::FileFull`] if META2 has no place in the file; the store's own error.
    pub fn run<S: WriteAt>(mut self, store: &mut S, buf: &mut [u8]) -> Result<(), ReadError<S>> {
        let done = drive(&mut self, store, buf).map_err(DriveError::infallible)?;
        done.map_err(DriveError::Format)
    }

    /// [`run`](Self::run) for an asynchronous store. Dropping the future counts as an error of the
    /// store.
    ///
    /// # Errors
    /// See [`run`](Self::run).
    #[cfg(feature = "async")]
    pub async fn run_async<S: crate::store::AsyncWriteAt>(
        mut self,
        store: &mut S,
        buf: &mut [u8],
    ) -> Result<(), super::AsyncError<S>> {
        let done = crate::step::drive_async(&mut self, store, buf).await;
        done.map_err(DriveError::infallible)?.map_err(DriveError::Format)
    }

    /// Moves to the next state that has a step for the driver.
    fn settle_state(&mut self) {
        loop {
            match &mut self.state {
                State::Ask => {
                    if let Err(error) = self.ask() {
                        self.state = State::Done(Err(error));
                    }
                }
                State::Tables { new, last } => {
                    let (publication, last) = (self.terms.publication(self.book, *new), *last);
                    let Some(visible) = self.tables.visible(&publication) else { return };
                    self.state = State::Visible { visible, last };
                }
                State::Visible { visible, last } => {
                    if !visible.ends() {
                        return;
                    }
                    self.book.conclude(visible.outcome());
                    self.state = match (*last, self.goal) {
                        (true, Goal::Close(..)) => State::Cut,
                        (true, _) => State::Done(Ok(())),
                        (false, _) => State::Ask,
                    };
                }
                State::Cut | State::SyncCut | State::Done(_) => return,
            }
        }
    }

    /// Sets the state that follows from the Book.
    #[inline(never)] // a state is large, and is made in place
    fn ask(&mut self) -> Result<(), Error> {
        let (new, last) = match (self.goal, self.book.unsettled()) {
            (Goal::Enter(block), _) => match self.book.enter(block, self.terms.ahead)? {
                Enter::GoOn => {
                    self.state = State::Done(Ok(()));
                    return Ok(());
                }
                Enter::Settle(new) => {
                    self.settle(new);
                    return Ok(());
                }
                Enter::Move(new) => (new, false),
            },
            (_, Some(&new)) => {
                self.settle(new);
                return Ok(());
            }
            (Goal::Commit(rows), None) => {
                (self.terms.numbered(self.book.commit(rows, self.terms.ahead)?), true)
            }
            (Goal::Close(rows, plan), None) => {
                let plan = plan(self.book, rows)?;
                (self.terms.numbered(plan.aside.unwrap_or(plan.last)), plan.aside.is_none())
            }
        };
        self.tables.restart(&self.terms.publication(self.book, new));
        self.state = State::Tables { new, last };
        Ok(())
    }

    fn settle(&mut self, new: Varheader) {
        let visible = Visible::settle(self.book.meta1(), new);
        self.state = State::Visible { visible, last: false };
    }
}

impl<M: Emit> Machine for Publish<'_, M> {
    type Output = Result<(), Error>;
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, Result<(), Error>> {
        self.settle_state();
        match &mut self.state {
            State::Tables { .. } => self.tables.poll().map(|_| Ok(())),
            State::Visible { visible, .. } => visible.poll().map(|_| Ok(())),
            state @ State::Cut => {
                *state = State::SyncCut;
                let end = self.book.published().map_or(0, |last| last.span().end());
                Step::SetSize { len: end }
            }
            state @ State::SyncCut => {
                *state = State::Done(Ok(()));
                Step::Sync
            }
            State::Done(done) => Step::Done(*done),
            State::Ask => Step::Done(Ok(())), // `settle_state` has left it
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.tables.feed(bytes)
    }
}

impl<M: Emit> Drop for Publish<'_, M> {
    fn drop(&mut self) {
        if let State::Visible { visible, .. } = &self.state {
            self.book.conclude(visible.outcome());
        }
    }
}
