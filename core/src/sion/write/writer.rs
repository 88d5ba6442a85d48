//! [`Writer`] writes one physical file.
//!
//! Nothing allocates: the caller lends a [`Pen`] for each task, a ledger for the chunks that were
//! finished since the last commit, and a window. Each write goes to the store at once.

mod begin;
mod memory;
mod task;

pub use crate::sion::error::WriteError;
pub use memory::Memory;
pub use task::TaskWriter;

use super::book::Book;
use super::cursor::Cursor;
use super::pen::{Pen, Since};
use super::publish::{Desk, Terms};
use super::tables::Tables;
use crate::endian::U64;
use crate::integrity::{Checksum, crc32c};
use crate::sion::disk::meta1::Meta1;
#[cfg(feature = "async")]
use crate::sion::error::AsyncError;
use crate::sion::error::Error;
use crate::sion::raw::RecordHeader;
use crate::step::DriveError;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::{Disk, usize_to_u64};
use memory::{Draft, Tasks};
use striae_twin::twin;
use zerocopy::IntoBytes;

/// The bytes that a writer's window needs.
pub const WINDOW: usize = Meta1::MAX_LEN;

/// Options of a [`Writer`].
///
/// A later version may add fields: end a literal with `..Default::default()`.
#[derive(Debug, Clone, Copy)]
pub struct Options<'m> {
    /// For the first file of several: the physical file and the local rank of each global rank.
    pub mapping: &'m [(u32, u32)],
    /// Whether commits seal the file.
    pub sealed: bool,
    /// The identity of the set of which this is one of several files, for its seal: equal in all
    /// files of the set, and another one in each set, such as a random number. A file of another
    /// set is then found out. With 0 there is none.
    pub set_identity: u32,
    /// The number of blocks that a commit leaves free before META2. With 0, a task that enters a
    /// new block first moves META2 after that block. With more, META2 moves less often, and the
    /// file is longer until it is closed.
    pub ahead: u32,
    /// The function that computes CRC-32C; an adapter may have a faster one.
    pub checksum: Checksum,
}

impl Default for Options<'_> {
    /// No mapping, no seal, no identity, no blocks ahead.
    fn default() -> Self {
        Self { mapping: &[], sealed: false, set_identity: 0, ahead: 0, checksum: crc32c }
    }
}

/// Writes one physical file: streams of tasks, commits and the close.
///
/// If the writer is dropped without a close, the file is as the last commit left it; before the
/// first commit, it reads as unclosed. A power cut leaves the file in the same state, if the
/// store's `sync` makes writes durable.
///
/// # On a device
/// A call takes as long as the store does, so the writer belongs in the main loop; an interrupt
/// passes its samples through a queue. A write is one write of the store, except for the first
/// write into a new block after a commit: that one moves META2, which costs as much as a commit.
/// With [`Options::ahead`] this is rarer. A commit writes `8 * ntasks * (1 + chunks)` bytes, where
/// `chunks` is the number of chunks of the longest stream, and syncs twice. It stays short if
/// chunks are many sectors long.
///
/// After an error of the store, the bytes of the failed call are not in the stream, and the call
/// can be repeated. Before it writes again, the writer looks whether the store still has the file:
/// if not, the error is [`Error::Swapped`]. On [`Error::LedgerFull`], commit and repeat the call.
///
/// [`SeekStore`](crate::store::SeekStore) makes a store of a file on a card. It cannot cut the
/// file. So the file must be empty when it is created, and a file that was committed before its
/// close keeps bytes after its end that no reader uses.
///
/// # Asynchronous stores
/// Each function that waits for the store has a second form, such as `commit_async`, for a store
/// that keeps the rules of `AsyncWriteAt`. Dropping a future before it is ready, as `select` and
/// timeouts do, is a failed call. None of its bytes are in a stream, and the file is as the last
/// commit left it. If the last step of a commit was dropped, the file may be as this commit leaves
/// it. Nothing else is lost: the writer can go on at once with any call, and the next commit covers
/// all written bytes. Only `create_async` and `reopen_async` return no writer then, and after
/// `create_async` there may be no file. To keep the store, pass it by reference.
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
    disk: Disk<S>,
    book: Book,
    tasks: Tasks<'m>,
    window: &'m mut [u8],
    terms: Terms,
}

impl<'m, S> Writer<'m, S> {
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

    /// Returns the store. What was written since the last commit or close is not part of the file.
    #[must_use]
    pub fn into_store(self) -> S {
        self.disk.into_store()
    }

    /// Checks that streams are plain.
    fn check_plain(&self) -> Result<(), Error> {
        if self.meta1().is_keyval() { Err(Error::OnlyKeyval) } else { Ok(()) }
    }

    /// The header of a key-value record.
    fn header(&self, key: u64, value: &[u8]) -> Result<RecordHeader, Error> {
        if !self.meta1().is_keyval() {
            return Err(Error::NoKeyval);
        }
        let (order, len) = (self.meta1().order(), usize_to_u64(value.len()));
        Ok(RecordHeader { key: U64::new(key, order), len: U64::new(len, order) })
    }

    /// The Book at work, and the tasks.
    fn desk(&mut self) -> (Desk<'_, Disk<S>>, &Tasks<'m>) {
        let Self { disk, book, tasks, window, terms } = self;
        let window = half(window);
        (Desk { book, store: disk, terms: *terms, window }, tasks)
    }
}

/// The part of a window that tables are written through: pieces are as long as ever.
fn half(window: &mut [u8]) -> &mut [u8] {
    let len = window.len() >> 1;
    window.get_mut(..len).unwrap_or_default()
}

#[twin(WriteAt, WriteError = AsyncError)]
impl<S: WriteAt> Writer<'_, S> {
    /// Writes `bytes` to the plain stream of task `local`, filling one chunk after another.
    ///
    /// # Errors
    /// [`Error::NoTask`] if there is no such task; [`Error::OnlyKeyval`] if streams are key-value
    /// records; [`Error::NoRoom`] if the task's chunksize is 0; [`Error::FileFull`] if the
    /// file has no place for another chunk; [`Error::LedgerFull`] if the ledger has no room; the
    /// store's own error. After an error, none of `bytes` is in the stream. In a sealed file, bytes
    /// that fill more chunks than the ledger holds can only be written by [`Writer::write_some`],
    /// with commits in between.
    pub async fn write(&mut self, local: u32, bytes: &[u8]) -> Result<(), WriteError<S>> {
        self.check_plain()?;
        self.put(local, [bytes, &[]], Fit::Any).await.map(drop)
    }

    /// Writes the first of `bytes` to the plain stream of task `local`: as many as fit into its
    /// chunk, or into the next chunk if that one is full. Returns how many; 0 only if `bytes` is
    /// empty.
    ///
    /// # Errors
    /// See [`Writer::write`].
    pub async fn write_some(&mut self, local: u32, bytes: &[u8]) -> Result<usize, WriteError<S>> {
        self.check_plain()?;
        self.put(local, [bytes, &[]], Fit::Some).await
    }

    /// Writes `record` to the plain stream of task `local`, all of it into one chunk, as SIONlib's
    /// `sion_fwrite` does. If the record does not fit into the rest of the chunk, the rest is
    /// skipped.
    ///
    /// # Errors
    /// See [`Writer::write`]; [`Error::RecordTooLong`] if the record is longer than the task's
    /// chunksize. After an error, none of the record is in the stream and nothing is skipped.
    pub async fn write_record(&mut self, local: u32, record: &[u8]) -> Result<(), WriteError<S>> {
        self.check_plain()?;
        let fit = Fit::Whole(usize_to_u64(record.len()));
        self.put(local, [record, &[]], fit).await.map(drop)
    }

    /// Skips the rest of the task's chunk unless `len` bytes fit into it, as
    /// `sion_ensure_free_space` does.
    ///
    /// # Errors
    /// See [`Writer::write_record`].
    pub async fn ensure_free_space(&mut self, local: u32, len: u64) -> Result<(), WriteError<S>> {
        self.check_plain()?;
        self.put(local, [&[]; 2], Fit::Whole(len)).await.map(drop)
    }

    /// Writes a key-value record to the stream of task `local`. A record may cross the ends of
    /// chunks.
    ///
    /// # Errors
    /// [`Error::NoKeyval`] if streams are plain; else see [`Writer::write`].
    pub async fn write_key(
        &mut self,
        local: u32,
        key: u64,
        value: &[u8],
    ) -> Result<(), WriteError<S>> {
        let header = self.header(key, value)?;
        self.put(local, [header.as_bytes(), value], Fit::Any).await.map(drop)
    }

    /// Puts `parts` into the stream of task `local`, chunk after chunk. Returns the number of
    /// bytes. Before this ends, none of them are in the stream: they lie after its end, and will be
    /// overwritten if it fails.
    async fn put(
        &mut self,
        local: u32,
        parts: [&[u8]; 2],
        fit: Fit,
    ) -> Result<usize, WriteError<S>> {
        let mut draft = self.tasks.draft(local)?;
        self.disk.recognise(&self.book).await?;
        if let Fit::Whole(len) = fit
            && !draft.pen.cursor().fits(len)?
        {
            self.leave_chunk(&mut draft).await?;
        }
        let mut put = 0usize;
        for mut left in parts {
            while !left.is_empty() && (put == 0 || fit != Fit::Some) {
                if draft.pen.cursor().room() == 0 {
                    self.leave_chunk(&mut draft).await?;
                }
                // Of a file that was reopened, or after a close that failed, the block may not be
                // entered.
                self.enter(draft.pen.chunk()).await?;
                let room = usize::try_from(draft.pen.cursor().room()).unwrap_or(usize::MAX);
                let (bytes, rest) = left.split_at_checked(room).unwrap_or((left, &[]));
                let len = usize_to_u64(bytes.len());
                let place = draft.pen.cursor().place(len)?;
                let crc = draft.pen.crc_after(bytes, self.terms.checksum);
                self.disk.put(place.offset(), bytes).await.map_err(DriveError::Store)?;
                draft.pen.wrote(len, crc);
                put = put.saturating_add(bytes.len());
                left = rest;
            }
        }
        self.tasks.keep(&draft);
        Ok(put)
    }

    /// Moves to the start of the task's next chunk.
    async fn leave_chunk(&mut self, draft: &mut Draft) -> Result<(), WriteError<S>> {
        let next = draft.pen.cursor().next_chunk()?;
        self.enter(next.chunk()).await?;
        Ok(self.tasks.leave(draft)?)
    }

    /// Enters `block`, which a commit may be in the way of.
    async fn enter(&mut self, block: u32) -> Result<(), WriteError<S>> {
        if u64::from(block) < self.book.entered() {
            return Ok(());
        }
        let (mut desk, _) = self.desk();
        desk.enter(block, &mut Tables::all(NOTHING)).await
    }

    /// Commits: makes all that was written a durable part of the file, for every reader.
    ///
    /// # Errors
    /// The store's own error. The file is then as the last commit left it; if the last step of this
    /// commit failed, it may be as this commit leaves it. No written bytes are lost: the writer can
    /// go on, and the next commit covers them, if the store's next `sync` makes durable what this
    /// one did not.
    pub async fn commit(&mut self) -> Result<(), WriteError<S>> {
        self.disk.recognise(&self.book).await?;
        let (mut desk, tasks) = self.desk();
        desk.commit(tasks.maxchunks(), &mut Tables::all(Some(Since(tasks)))).await?;
        self.tasks.committed();
        Ok(())
    }

    /// Commits with META2 where SIONlib puts it, right after the last block in use, and cuts the
    /// file at the end of this commit. The writer may go on after that, as if the file had been
    /// reopened.
    ///
    /// # Errors
    /// See [`Writer::commit`]; [`Error::FileFull`] if the last commit is in the way and cannot be
    /// moved. A store that cannot be cut ([`ErrorKind::Unsupported`](embedded_io::ErrorKind)) keeps
    /// meaningless bytes after META2; this is not an error.
    pub async fn close(&mut self) -> Result<(), WriteError<S>> {
        self.disk.recognise(&self.book).await?;
        let (mut desk, tasks) = self.desk();
        desk.close(tasks.maxchunks(), &mut Tables::all(Some(Since(tasks)))).await?;
        self.tasks.committed();
        Ok(())
    }
}

/// The bytes that are put into one chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// Any.
    Any,
    /// Only as many as fit into one chunk.
    Some,
    /// This number of bytes: if they do not fit into the chunk, the task goes to its next one.
    Whole(u64),
}

/// No changes, in tables of the type that a commit has: one function for both.
const NOTHING: Option<Since<&Tasks<'_>>> = None;
