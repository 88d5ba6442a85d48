//! One physical file, for people who just want to write.
//!
//! Nothing allocates: the caller lends a [`Pen`] for each task, a ledger for chunks that were
//! finished since the last commit, and a window. Each write goes to the store at once.

mod begin;
mod memory;
mod task;

pub use memory::Memory;
pub use task::TaskWriter;

use super::book::{Ahead, Book};
use super::cursor::Cursor;
use super::error::Error;
use super::meta1::{KeyvalMode, Meta1};
use super::pen::{Pen, Since};
use super::publish::{Publish, Terms};
use super::raw;
use crate::endian::U64;
use crate::integrity::{Checksum, crc32c};
use crate::step::DriveError;
use crate::store::{WriteAt, usize_to_u64};
use embedded_io::{Error as _, ErrorKind};
use zerocopy::IntoBytes;

/// Why writing to a store `S` failed.
pub type WriteError<S> = super::ReadError<S>;

/// Bytes that a writer's window needs.
pub const WINDOW: usize = Meta1::MAX_LEN;

/// How a file is written.
#[derive(Debug, Clone, Copy)]
pub struct Options<'m> {
    /// Of the first file of a set of several: physical file and local rank of each global rank.
    pub mapping: &'m [(u32, u32)],
    /// Whether commits seal the file.
    pub sealed: bool,
    /// Blocks that a commit leaves free for tasks that go on. With 0, a task that enters a new
    /// block first moves META2 behind it; with more, that is rarer, and the file is longer in
    /// between.
    pub ahead: u32,
    /// CRC-32C, if there is a faster one than core's.
    pub checksum: Checksum,
}

impl Default for Options<'_> {
    /// No mapping, no seal, no blocks ahead.
    fn default() -> Self {
        Self { mapping: &[], sealed: false, ahead: 0, checksum: crc32c }
    }
}

/// Writes one physical file: the streams of its tasks, commits, and the close.
///
/// Dropped without a close, the file is as the last commit left it; before the first commit, it
/// reads as unclosed. The same is true whenever the power goes, if the store's `sync` is.
///
/// # On a device
/// A call takes as long as the store does, so the writer belongs into the main loop; an interrupt
/// hands its samples over by a queue. A write is one write of the store, besides the first into a
/// new block behind a commit: that moves META2 out of the way, which costs as much as a commit.
/// With [`Options::ahead`] it is rarer. A commit writes `8 * ntasks * (1 + chunks)` bytes, where
/// `chunks` is how many the longest stream has, and syncs twice: with chunks that are many sectors
/// long it stays short.
///
/// An error of the store costs nothing: what failed is not in the stream, and can be tried again.
/// On [`Error::LedgerFull`], commit and try again.
///
/// [`SeekStore`](crate::store::SeekStore) makes a store of a file on a card. It cannot be cut, so
/// the file must be empty when it is created, and a file that was committed before it is closed keeps
/// bytes behind its end that nobody looks at.
///
/// ```
/// use striae_core::sion::{
///     Attributes, Finished, Memory, Meta1, Opened, Options, Pen, Physical, Writer,
/// };
/// # use striae_core::store::{FixedSize, ReadAt, WriteAt};
/// # #[derive(Default)]
/// # struct Card(Vec<u8>);
/// # impl ReadAt for Card {
/// #     type Error = FixedSize;
/// #     fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
/// #         self.0.as_slice().read_at(offset, buf)
/// #     }
/// #     fn size(&self) -> Result<u64, FixedSize> { self.0.as_slice().size() }
/// # }
/// # impl WriteAt for Card {
/// #     fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), FixedSize> {
/// #         let end = offset as usize + bytes.len();
/// #         self.0.resize(self.0.len().max(end), 0);
/// #         self.0[offset as usize..end].copy_from_slice(bytes);
/// #         Ok(())
/// #     }
/// #     fn set_size(&mut self, n: u64) -> Result<(), FixedSize> { Ok(self.0.resize(n as usize, 0)) }
/// #     fn sync(&mut self) -> Result<(), FixedSize> { Ok(()) }
/// # }
/// # let card = Card::default();
/// // One Pen for each task; a ledger for chunks that are left before a commit; a window.
/// let (mut pens, mut ledger) = ([Pen::EMPTY; 2], [Finished::EMPTY; 8]);
/// let mut window = [0; Meta1::MAX_LEN];
/// let memory = Memory { pens: &mut pens, ledger: &mut ledger, window: &mut window };
///
/// // Two sensors, with 4096 and 512 bytes in each block, and checksums of all.
/// let tasks = [(0, 4096), (1, 512)];
/// let options = Options { sealed: true, ..Options::default() };
/// let attributes = Attributes::default();
/// let mut log = Writer::create(card, &attributes, b"log", &tasks[..], memory, options)?;
/// log.write(0, b"a stream of any length")?;
/// log.write_record(1, b"a record that stays whole")?;
/// log.commit()?; // from here on, whatever happens, this much can be read
/// log.write(0, b", and more")?;
/// log.close()?;
///
/// let Opened::Closed(log) = Physical::open(log.into_store(), &mut window)? else { panic!() };
/// let mut bytes = [0; 32];
/// log.stream(log.task(0, &mut window)?).read_all(&mut bytes)?;
/// assert_eq!(&bytes, b"a stream of any length, and more");
/// # Ok::<(), striae_core::step::DriveError<FixedSize, striae_core::sion::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer<'m, S> {
    store: S,
    book: Book,
    tasks: memory::Tasks<'m>,
    window: &'m mut [u8],
    ahead: Ahead,
    checksum: Checksum,
}

impl<'m, S: WriteAt> Writer<'m, S> {
    /// The fixed part of META1.
    #[must_use]
    pub const fn meta1(&self) -> &Meta1 {
        self.book.meta1()
    }

    /// Where task `local` writes next.
    ///
    /// # Errors
    /// [`Error::NoTask`].
    pub fn cursor(&self, local: u32) -> Result<&Cursor, Error> {
        self.tasks.pen(local).map(Pen::cursor)
    }

    /// Writes `bytes` to the plain stream of task `local`, filling one chunk after another.
    ///
    /// # Errors
    /// [`Error::NoTask`], [`Error::OnlyKeyval`], [`Error::RecordTooLong`] if the task has no room
    /// at all, [`Error::FileFull`], [`Error::LedgerFull`]; the store's own. Nothing of `bytes` is
    /// in the stream then. What fills more chunks of a sealed file than the ledger holds can only
    /// be written by [`Writer::write_some`], with commits in between.
    pub fn write(&mut self, local: u32, bytes: &[u8]) -> Result<(), WriteError<S>> {
        self.check_plain()?;
        self.or_take_back(local, |writer| writer.fill_chunks(local, bytes))
    }

    /// Writes the first of `bytes` to the plain stream of task `local`: as many as fit into its
    /// chunk, or into its next one if that is full. Returns how many; 0 only if `bytes` is empty.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn write_some(&mut self, local: u32, bytes: &[u8]) -> Result<usize, WriteError<S>> {
        self.check_plain()?;
        self.or_take_back(local, |writer| writer.put_some(local, bytes))
    }

    /// Writes `record` to the plain stream of task `local`, all of it into one chunk, as SIONlib's
    /// `sion_fwrite` does: if it does not fit into what is left of the chunk, that is skipped.
    ///
    /// # Errors
    /// As [`Writer::write`]; [`Error::RecordTooLong`] if it fits into no chunk. Nothing of it is in
    /// the stream then, and nothing is skipped.
    pub fn write_record(&mut self, local: u32, record: &[u8]) -> Result<(), WriteError<S>> {
        self.or_take_back(local, |writer| {
            writer.ensure_free_space(local, usize_to_u64(record.len()))?;
            writer.put(local, record)
        })
    }

    /// Skips the rest of the task's chunk unless `len` bytes fit into it, as
    /// `sion_ensure_free_space` does.
    ///
    /// # Errors
    /// As [`Writer::write_record`].
    pub fn ensure_free_space(&mut self, local: u32, len: u64) -> Result<(), WriteError<S>> {
        self.check_plain()?;
        let cursor = self.cursor(local).map_err(DriveError::Format)?;
        match cursor.fits(len).map_err(DriveError::Format)? {
            true => Ok(()),
            false => self.leave_chunk(local),
        }
    }

    /// Writes a key-value record to the stream of task `local`; its parts flow over chunks.
    ///
    /// # Errors
    /// [`Error::NoKeyval`] if streams are plain; else as [`Writer::write`].
    pub fn write_key(&mut self, local: u32, key: u64, value: &[u8]) -> Result<(), WriteError<S>> {
        if self.meta1().keyval() != KeyvalMode::Inline {
            return Err(DriveError::Format(Error::NoKeyval));
        }
        let (order, len) = (self.meta1().order(), usize_to_u64(value.len()));
        let header = raw::RecordHeader { key: U64::new(key, order), len: U64::new(len, order) };
        self.or_take_back(local, |writer| {
            writer.fill_chunks(local, header.as_bytes())?;
            writer.fill_chunks(local, value)
        })
    }

    /// Task `local` as `embedded_io::Write`.
    ///
    /// # Errors
    /// [`Error::NoTask`], [`Error::OnlyKeyval`].
    pub fn task(&mut self, local: u32) -> Result<TaskWriter<'_, 'm, S>, WriteError<S>> {
        self.check_plain()?;
        self.cursor(local).map_err(DriveError::Format)?;
        Ok(TaskWriter { writer: self, local })
    }

    /// Makes all that was written part of the file, for every reader, whatever happens after.
    ///
    /// # Errors
    /// The store's own. The file is as the last commit left it then, or, if it was the very end of
    /// this one that failed, as this one does. Nothing is lost: the writer can go on, and the next
    /// commit has it all, provided that the store's next `sync` makes durable what this one did
    /// not.
    pub fn commit(&mut self) -> Result<(), WriteError<S>> {
        let terms = self.terms()?;
        let (front, back) = self.window.split_at_mut(self.window.len() >> 1);
        let (maxchunks, written) = (self.tasks.maxchunks(), Since(&self.tasks));
        let commit = Publish::commit(&mut self.book, maxchunks, written, terms, front);
        commit.map_err(DriveError::Format)?.run(&mut self.store, back)?;
        self.tasks.committed();
        Ok(())
    }

    /// Commits for the last time, with META2 where SIONlib puts it and nothing behind it. The
    /// writer may go on after that, as if the file had been reopened.
    ///
    /// # Errors
    /// As [`Writer::commit`]; [`Error::FileFull`] if the last commit is in the way and cannot be
    /// moved. On a store that cannot be cut ([`ErrorKind::Unsupported`]) bytes without a meaning are
    /// left behind META2, which is no error.
    pub fn close(&mut self) -> Result<(), WriteError<S>> {
        let terms = self.terms()?;
        let (front, back) = self.window.split_at_mut(self.window.len() >> 1);
        let (maxchunks, written) = (self.tasks.maxchunks(), Since(&self.tasks));
        let close = Publish::close(&mut self.book, maxchunks, written, terms, front);
        let closed = close.map_err(DriveError::Format)?.run(&mut self.store, back);
        match closed {
            // All but the cut was done, and the device has no way to do that.
            Err(DriveError::Store(error))
                if error.kind() == ErrorKind::Unsupported && self.book.is_closed() => {}
            closed => closed?,
        }
        self.tasks.committed();
        Ok(())
    }

    /// The store. What was written since the last commit or close is not part of the file.
    #[must_use]
    pub fn into_store(self) -> S {
        self.store
    }

    fn check_plain(&self) -> Result<(), WriteError<S>> {
        match self.meta1().keyval() {
            KeyvalMode::Inline => Err(DriveError::Format(Error::OnlyKeyval)),
            _ => Ok(()),
        }
    }

    /// Does `work` for task `local`. If that fails, its stream is what it was; what was already
    /// written to the store is behind its end, and will be overwritten.
    fn or_take_back<R>(
        &mut self,
        local: u32,
        work: impl FnOnce(&mut Self) -> Result<R, WriteError<S>>,
    ) -> Result<R, WriteError<S>> {
        let mark = *self.tasks.pen(local).map_err(DriveError::Format)?;
        work(self).inspect_err(|_| self.tasks.take_back(&mark))
    }

    /// Writes `bytes` over as many chunks as it takes.
    fn fill_chunks(&mut self, local: u32, mut bytes: &[u8]) -> Result<(), WriteError<S>> {
        while !bytes.is_empty() {
            let len = self.put_some(local, bytes)?;
            bytes = bytes.get(len..).unwrap_or_default();
        }
        Ok(())
    }

    /// Writes as many of `bytes` as go into one chunk.
    fn put_some(&mut self, local: u32, bytes: &[u8]) -> Result<usize, WriteError<S>> {
        let mut room = self.cursor(local).map_err(DriveError::Format)?.room();
        if room == 0 && !bytes.is_empty() {
            self.leave_chunk(local)?;
            room = self.cursor(local).map_err(DriveError::Format)?.room();
        }
        let len = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
        self.put(local, bytes.get(..len).unwrap_or_default())?;
        Ok(len)
    }

    /// Writes `bytes`, which fit into what is left of the task's chunk.
    fn put(&mut self, local: u32, bytes: &[u8]) -> Result<(), WriteError<S>> {
        if bytes.is_empty() {
            return Ok(());
        }
        let pen = *self.tasks.pen(local).map_err(DriveError::Format)?;
        // Of a file that was reopened, or after a close that failed, the block may not be entered.
        self.enter(pen.chunk())?;
        let span = pen.cursor().place(usize_to_u64(bytes.len())).map_err(DriveError::Format)?;
        self.store.write_all_at(span.offset(), bytes).map_err(DriveError::Store)?;
        let crc = pen.crc_after(bytes, self.checksum);
        let pen = self.tasks.pen_mut(local).map_err(DriveError::Format)?;
        pen.wrote(span.len(), crc);
        Ok(())
    }

    /// Goes to the start of the task's next chunk.
    fn leave_chunk(&mut self, local: u32) -> Result<(), WriteError<S>> {
        let next = self.cursor(local).and_then(Cursor::next_chunk).map_err(DriveError::Format)?;
        self.enter(next.chunk())?;
        self.tasks.leave(local).map_err(DriveError::Format)
    }

    /// Makes sure that block `chunk` may be written to: that the last commit is behind it.
    fn enter(&mut self, chunk: u32) -> Result<(), WriteError<S>> {
        if u64::from(chunk) < self.book.entered() {
            return Ok(());
        }
        let terms = self.terms()?;
        let (front, back) = self.window.split_at_mut(self.window.len() >> 1);
        let enter = Publish::enter(&mut self.book, chunk, terms, front);
        enter.map_err(DriveError::Format)?.run(&mut self.store, back)
    }

    fn terms(&self) -> Result<Terms, WriteError<S>> {
        let file_len = self.store.size().map_err(DriveError::Store)?;
        Ok(Terms { ahead: self.ahead, file_len, checksum: self.checksum })
    }
}
