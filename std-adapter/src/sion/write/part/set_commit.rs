//! The part of one physical file in a commit of the whole set (`spec/sion.md#set-commits`).
//!
//! All files first get the tables of the commit, hidden and durable; then each is made visible. So
//! a power cut leaves every file with both this commit and the one before, and recovery brings all
//! of them to one.

use super::{Part, WINDOW, lock};
use crate::error::{Error, ErrorKind};
use crate::posix::PosixFile;
use crate::posix::holes::next_data;
use crate::sion::write::snapshot::Snapshot;
use std::io;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use striae_core::sion::book::Ahead;
use striae_core::sion::pen::Since;
use striae_core::sion::publish::{Desk, Terms};
use striae_core::sion::recover::{Remains, Sparse};
use striae_core::sion::tables::{self, Tables, Unchanged};
use striae_core::sion::{Book, Error as SionError, Varheader};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// What tasks have written to a file up to a commit of the whole set. No other commit of the file
/// begins while this exists.
pub(in crate::sion::write) struct Begun<'p> {
    part: &'p Part,
    granted: MutexGuard<'p, u64>,
    /// The last request for a commit that this one serves.
    wish: u64,
    snapshot: Snapshot<'p>,
    closes: bool,
}

/// The result of a step in the file.
type Written = Result<(), DriveError<io::Error, SionError>>;

/// A commit whose tables are durable and not visible. Nothing moves META2 while this exists.
pub(in crate::sion::write) struct Prepared<'p> {
    begun: Begun<'p>,
    book: MutexGuard<'p, Book>,
    new: Varheader,
}

/// A commit that has ended, after which META2 may be moved.
pub(in crate::sion::write) struct Ended<'p> {
    begun: Begun<'p>,
    is_visible: bool,
    closed: Result<(), Error>,
}

impl Part {
    /// The largest number of a commit of the set that is in the file: a commit that failed may have
    /// left one that nobody sees, and no other commit may have that number.
    pub(in crate::sion::write) fn last_set_number(&self) -> Result<u32, Error> {
        let at = |error: DriveError<io::Error, SionError>| Error::new(&self.path, error);
        let book = *lock(&self.book);
        let Some(published) = book.published() else { return Ok(0) };
        let size = self.file.size().map_err(|error| Error::new(&self.path, error))?;
        if book.is_closed() && published.span().end() == size {
            return Ok(published.set_number()); // the file has no place for another one
        }
        let (store, mut window) = (Holed(&self.file), vec![0; WINDOW]);
        let remains = Remains::read(&store, crc32c::crc32c_append, &mut window).map_err(at)?;
        remains.last_set_number(&store, &mut window).map_err(at)
    }

    /// Begins a commit of the whole set; with `closes`, the last one, before which tasks can write
    /// nothing any more, also after an error.
    pub(in crate::sion::write) fn begin(&self, closes: bool) -> Result<Begun<'_>, Error> {
        let granted = lock(&self.commits);
        if self.is_closed() {
            return Err(Error::new(&self.path, ErrorKind::Closed));
        }
        let wish = self.wishes.load(Ordering::Acquire);
        let snapshot = self.snapshot(closes)?;
        Ok(Begun { part: self, granted, wish, snapshot, closes })
    }

    /// Lets tasks write again after a close that failed.
    pub(in crate::sion::write) fn open_streams(&self, closes: bool) {
        if closes {
            lock(&self.streams).values().for_each(|stream| lock(stream).closed = false);
        }
    }

    /// Makes a commit whose outcome is unknown visible, if there is one.
    fn settle(&self, book: &mut Book) -> Result<(), Error> {
        match book.unsettled().copied() {
            Some(new) => self.show(book, new),
            None => Ok(()),
        }
    }

    fn show(&self, book: &mut Book, new: Varheader) -> Result<(), Error> {
        self.at_desk(book, |desk| desk.show(&new))
    }

    /// Lets the file end with META2, which is visible where a close puts it.
    fn cut(&self, book: &mut Book, last: Varheader) -> Result<(), Error> {
        self.at_desk(book, |desk| desk.cut(&last))
    }

    fn at_desk(
        &self,
        book: &mut Book,
        work: impl FnOnce(&mut Desk<'_, &PosixFile>) -> Written,
    ) -> Result<(), Error> {
        let (mut file, mut window) = (&*self.file, [0; tables::WINDOW]);
        let desk = Desk::new(book, &mut file, Terms::default(), &mut window);
        let done = desk.map_err(DriveError::Format).and_then(|mut desk| work(&mut desk));
        done.map_err(|error| Error::new(&self.path, error))
    }
}

impl<'p> Begun<'p> {
    /// Whether the commit would change anything in this file.
    pub(in crate::sion::write) fn is_needed(&self) -> bool {
        let book = lock(&self.part.book);
        let is_same = book.unsettled().is_none()
            && book.published().is_some_and(|old| old.is_sealed() == book.is_sealed());
        !self.snapshot.pens.is_empty() || !is_same || self.closes && !book.is_closed()
    }

    /// Closes a file as its last commit is, which may have become visible without an answer.
    pub(in crate::sion::write) fn close(mut self) -> Result<(), Error> {
        let part = self.part;
        part.check_name()?;
        let mut book = lock(&part.book);
        part.settle(&mut book)?;
        if let Some(&shown) = book.published() {
            close_shown(part, &mut book, &shown)?;
        }
        part.committed(&self.snapshot);
        part.closed.store(true, Ordering::Release);
        *self.granted = u64::MAX;
        Ok(())
    }

    /// Ends a commit that changes nothing.
    pub(in crate::sion::write) fn skip(mut self) -> Result<(), Error> {
        let part = self.part;
        part.check_name()?;
        let last = lock(&part.book).published().copied();
        let at = |error| Error::new(&part.path, error);
        match last.filter(|_| self.closes) {
            Some(last) if part.file.size().map_err(at)? != last.span().end() => {
                part.cut(&mut lock(&part.book), last)?;
            }
            // An earlier writer may not have asked for it.
            _ => part.file.sync().map_err(at)?,
        }
        *self.granted = if self.closes { u64::MAX } else { self.wish };
        part.closed.fetch_or(self.closes, Ordering::AcqRel);
        Ok(())
    }

    /// Writes the tables of commit `number` of the set, hidden, and makes them durable.
    pub(in crate::sion::write) fn prepare(self, number: u32) -> Result<Prepared<'p>, Error> {
        let part = self.part;
        let prepared = part.check_name().and_then(|()| part.check_disk()).and_then(|()| {
            part.leave_rubbish(); // this META2 will be behind data one day, or is a part of one
            let mut book = lock(&part.book);
            part.settle(&mut book)?;
            let new = match self.write_tables(&mut book, number, Ahead::Double) {
                Err(DriveError::Store(error)) if error.kind() == io::ErrorKind::FileTooLarge => {
                    self.write_tables(&mut book, number, Ahead::NONE)
                }
                written => written,
            };
            Ok((new.map_err(|error| Error::new(&part.path, error))?, book))
        });
        prepared.map(|(new, book)| Prepared { begun: self, book, new })
    }

    fn write_tables(
        &self,
        book: &mut Book,
        number: u32,
        ahead: Ahead,
    ) -> Result<Varheader, DriveError<io::Error, SionError>> {
        let (rows, mut file) = (self.snapshot.maxchunks(), &*self.part.file);
        let new = book.prepared(rows, self.closes, ahead)?;
        let new = new.with_set_number(number).unwrap_or(new); // `Numbers` gives no larger one
        let (terms, mut window) = (terms(number), vec![0; WINDOW]);
        let mut desk = Desk::new(book, &mut file, terms, &mut window)?;
        desk.prepare(&new, &mut Tables::all(Since(&self.snapshot)))?;
        Ok(new)
    }
}

impl Prepared<'_> {
    /// Makes the commit visible.
    pub(in crate::sion::write) fn show(&mut self) -> Result<(), Error> {
        let shown = self.begun.part.show(&mut self.book, self.new);
        self.begun.part.entered.store(self.book.entered(), Ordering::Release);
        shown
    }
}

impl<'p> Prepared<'p> {
    /// Ends the commit in this file. If it is visible and the last one, META2 gets to the place
    /// where a close puts it.
    pub(in crate::sion::write) fn end(self) -> Ended<'p> {
        let Self { begun, mut book, new } = self;
        let is_visible = book.published() == Some(&new);
        let closed = match is_visible && begun.closes {
            true => close_shown(begun.part, &mut book, &new),
            false => Ok(()),
        };
        Ended { begun, is_visible, closed }
    }
}

impl Ended<'_> {
    /// Whether the commit is visible in this file.
    pub(in crate::sion::write) const fn is_visible(&self) -> bool {
        self.is_visible
    }

    /// Marks what tasks have written as committed, if it is. With `opens`, tasks may write again.
    pub(in crate::sion::write) fn finish(self, opens: bool) -> Result<(), Error> {
        let Self { begun, is_visible, closed } = self;
        let Begun { part, mut granted, wish, snapshot, closes } = begun;
        part.open_streams(opens);
        if !is_visible {
            return Ok(()); // the error is that of `show`
        }
        part.committed(&snapshot);
        if !closes {
            *granted = wish;
        } else if closed.is_ok() {
            part.closed.store(true, Ordering::Release);
            *granted = u64::MAX; // nothing will be accepted any more
        }
        closed
    }
}

/// Closes a file whose last commit, at `shown`, is visible.
fn close_shown(part: &Part, book: &mut Book, shown: &Varheader) -> Result<(), Error> {
    if book.is_closed() {
        return part.cut(book, *shown);
    }
    let (mut file, mut window) = (&*part.file, vec![0; WINDOW]);
    let desk = Desk::new(book, &mut file, terms(shown.set_number()), &mut window);
    let done = desk
        .map_err(DriveError::Format)
        .and_then(|mut desk| desk.close(shown.maxchunks(), &mut Tables::all(Unchanged)));
    done.map_err(|error| Error::new(&part.path, error))
}

const fn terms(set_number: u32) -> Terms {
    Terms { ahead: Ahead::NONE, checksum: crc32c::crc32c_append, set_number }
}

/// A file whose holes are looked up each time.
pub(in crate::sion::write) struct Holed<'f>(pub(in crate::sion::write) &'f PosixFile);

impl ReadAt for Holed<'_> {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(offset, buf)
    }

    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }
}

impl Sparse for Holed<'_> {
    fn first_data(&self, span: Span) -> io::Result<Option<Span>> {
        let found = next_data(self.0, span.offset(), span.end());
        let found = found.and_then(|(start, end)| Span::between(start, end));
        Ok(found.filter(|found| !found.is_empty()))
    }
}
