//! One physical file, for people who just want to write.
//!
//! Nothing allocates: the caller lends a [`Pen`] for each task, a ledger for chunks that were
//! finished since the last commit, and a window. Each write goes to the store at once.

#[cfg(feature = "async")]
mod asynch;
mod begin;
mod desk;
mod memory;
mod put;
mod task;

pub use memory::Memory;
pub use task::TaskWriter;

use super::cursor::Cursor;
use super::error::Error;
use super::meta1::Meta1;
use super::pen::Pen;
use crate::integrity::{Checksum, crc32c};
use crate::step::DriveError;
use crate::store::{WriteAt, usize_to_u64};
use desk::Desk;
use put::{Next, Put};
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
/// the file must be empty when it is created, and a file that was committed before it is closed
/// keeps bytes behind its end that nobody looks at.
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
    desk: Desk<'m>,
}

impl<S> Writer<'_, S> {
    /// The fixed part of META1.
    #[must_use]
    pub const fn meta1(&self) -> &Meta1 {
        self.desk.meta1()
    }

    /// Where task `local` writes next.
    ///
    /// # Errors
    /// [`Error::NoTask`].
    pub fn cursor(&self, local: u32) -> Result<&Cursor, Error> {
        self.desk.tasks.pen(local).map(Pen::cursor)
    }

    /// The store. What was written since the last commit or close is not part of the file.
    #[must_use]
    pub fn into_store(self) -> S {
        self.store
    }
}

impl<'m, S: WriteAt> Writer<'m, S> {
    /// Writes `bytes` to the plain stream of task `local`, filling one chunk after another.
    ///
    /// # Errors
    /// [`Error::NoTask`], [`Error::OnlyKeyval`], [`Error::RecordTooLong`] if the task has no room
    /// at all, [`Error::FileFull`], [`Error::LedgerFull`]; the store's own. Nothing of `bytes` is
    /// in the stream then. What fills more chunks of a sealed file than the ledger holds can only
    /// be written by [`Writer::write_some`], with commits in between.
    pub fn write(&mut self, local: u32, bytes: &[u8]) -> Result<(), WriteError<S>> {
        run(self.desk.put(local, bytes), &mut self.store).map(drop)
    }

    /// Writes the first of `bytes` to the plain stream of task `local`: as many as fit into its
    /// chunk, or into its next one if that is full. Returns how many; 0 only if `bytes` is empty.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn write_some(&mut self, local: u32, bytes: &[u8]) -> Result<usize, WriteError<S>> {
        run(self.desk.put(local, bytes).map(Put::some), &mut self.store)
    }

    /// Writes `record` to the plain stream of task `local`, all of it into one chunk, as SIONlib's
    /// `sion_fwrite` does: if it does not fit into what is left of the chunk, that is skipped.
    ///
    /// # Errors
    /// As [`Writer::write`]; [`Error::RecordTooLong`] if it fits into no chunk. Nothing of it is in
    /// the stream then, and nothing is skipped.
    pub fn write_record(&mut self, local: u32, record: &[u8]) -> Result<(), WriteError<S>> {
        let put = self.desk.put(local, record);
        let put = put.map(|put| put.fitting(usize_to_u64(record.len())));
        run(put, &mut self.store).map(drop)
    }

    /// Skips the rest of the task's chunk unless `len` bytes fit into it, as
    /// `sion_ensure_free_space` does.
    ///
    /// # Errors
    /// As [`Writer::write_record`].
    pub fn ensure_free_space(&mut self, local: u32, len: u64) -> Result<(), WriteError<S>> {
        run(self.desk.put(local, &[]).map(|put| put.fitting(len)), &mut self.store).map(drop)
    }

    /// Writes a key-value record to the stream of task `local`; its parts flow over chunks.
    ///
    /// # Errors
    /// [`Error::NoKeyval`] if streams are plain; else as [`Writer::write`].
    pub fn write_key(&mut self, local: u32, key: u64, value: &[u8]) -> Result<(), WriteError<S>> {
        let header = self.desk.header(key, value).map_err(DriveError::Format)?;
        let put = Put::new(&mut self.desk, local, [header.as_bytes(), value]);
        run(put, &mut self.store).map(drop)
    }

    /// Task `local` as `embedded_io::Write`.
    ///
    /// # Errors
    /// [`Error::NoTask`], [`Error::OnlyKeyval`].
    pub fn task(&mut self, local: u32) -> Result<TaskWriter<'_, 'm, S>, WriteError<S>> {
        self.desk.check_plain().map_err(DriveError::Format)?;
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
        let file_len = self.store.size().map_err(DriveError::Store)?;
        let (commit, buf) = self.desk.commit(file_len).map_err(DriveError::Format)?;
        commit.run(&mut self.store, buf)?;
        self.desk.committed();
        Ok(())
    }

    /// Commits for the last time, with META2 where SIONlib puts it and nothing behind it. The
    /// writer may go on after that, as if the file had been reopened.
    ///
    /// # Errors
    /// As [`Writer::commit`]; [`Error::FileFull`] if the last commit is in the way and cannot be
    /// moved. On a store that cannot be cut ([`ErrorKind::Unsupported`](embedded_io::ErrorKind))
    /// bytes without a meaning are left behind META2, which is no error.
    pub fn close(&mut self) -> Result<(), WriteError<S>> {
        let file_len = self.store.size().map_err(DriveError::Store)?;
        let (close, buf) = self.desk.close(file_len).map_err(DriveError::Format)?;
        let closed = close.run(&mut self.store, buf);
        self.desk.closed(closed)
    }
}

/// Does what `put` says. If that fails, the stream is what it was.
fn run<S: WriteAt>(
    put: Result<Put<'_, '_, '_>, Error>,
    store: &mut S,
) -> Result<usize, WriteError<S>> {
    let mut put = put.map_err(DriveError::Format)?;
    loop {
        match put.poll().map_err(DriveError::Format)? {
            Next::Enter(block) => {
                let file_len = store.size().map_err(DriveError::Store)?;
                let (enter, buf) = put.enter(block, file_len).map_err(DriveError::Format)?;
                enter.run(store, buf)?;
            }
            Next::Write { offset, bytes } => {
                store.write_all_at(offset, bytes).map_err(DriveError::Store)?;
            }
            Next::Done(len) => return Ok(len),
        }
    }
}
