//! [`Writer`] writes one physical file.
//!
//! Nothing allocates: the caller lends a [`Pen`] for each task, a ledger for the chunks that were
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
use crate::store::{Disk, ReadAt, WriteAt, usize_to_u64};
use desk::Desk;
use put::{Next, Put};
use zerocopy::IntoBytes;

/// Why writing to a store `S` failed.
pub type WriteError<S> = super::ReadError<S>;

/// The bytes that a writer's window needs.
pub const WINDOW: usize = Meta1::MAX_LEN;

/// Options of a [`Writer`].
#[derive(Debug, Clone, Copy)]
pub struct Options<'m> {
    /// For the first file of several: the physical file and the local rank of each global rank.
    pub mapping: &'m [(u32, u32)],
    /// Whether commits seal the file.
    pub sealed: bool,
    /// The number of blocks that a commit leaves free before META2. With 0, a task that enters a
    /// new block first moves META2 after that block. With more, META2 moves less often, and the
    /// file is longer until it is closed.
    pub ahead: u32,
    /// The function that computes CRC-32C; an adapter may have a faster one.
    pub checksum: Checksum,
}

impl Default for Options<'_> {
    /// No mapping, no seal, no blocks ahead.
    fn default() -> Self {
        Self { mapping: &[], sealed: false, ahead: 0, checksum: crc32c }
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

    /// Returns the store. What was written since the last commit or close is not part of the file.
    #[must_use]
    pub fn into_store(self) -> S {
        self.disk.into_store()
    }
}

impl<'m, S: WriteAt> Writer<'m, S> {
    /// Writes `bytes` to the plain stream of task `local`, filling one chunk after another.
    ///
    /// # Errors
    /// [`Error::NoTask`] if there is no such task; [`Error::OnlyKeyval`] if streams are key-value
    /// records; [`Error::RecordTooLong`] if the task's chunksize is 0; [`Error::FileFull`] if the
    /// file has no place for another chunk; [`Error::LedgerFull`] if the ledger has no room; the
    /// store's own error. After an error, none of `bytes` is in the stream. In a sealed file, bytes
    /// that fill more chunks than the ledger holds can only be written by [`Writer::write_some`],
    /// with commits in between.
    pub fn write(&mut self, local: u32, bytes: &[u8]) -> Result<(), WriteError<S>> {
        run(self.desk.put(local, bytes), &mut self.disk).map(drop)
    }

    /// Writes the first of `bytes` to the plain stream of task `local`: as many as fit into its
    /// chunk, or into the next chunk if that one is full. Returns how many; 0 only if `bytes` is
    /// empty.
    ///
    /// # Errors
    /// See [`Writer::write`].
    pub fn write_some(&mut self, local: u32, bytes: &[u8]) -> Result<usize, WriteError<S>> {
        run(self.desk.put(local, bytes).map(Put::some), &mut self.disk)
    }

    /// Writes `record` to the plain stream of task `local`, all of it into one chunk, as SIONlib's
    /// `sion_fwrite` does. If the record does not fit into the rest of the chunk, the rest is
    /// skipped.
    ///
    /// # Errors
    /// See [`Writer::write`]; [`Error::RecordTooLong`] if the record is longer than the task's
    /// chunksize. After an error, none of the record is in the stream and nothing is skipped.
    pub fn write_record(&mut self, local: u32, record: &[u8]) -> Result<(), WriteError<S>> {
        let put = self.desk.put(local, record);
        let put = put.map(|put| put.fitting(usize_to_u64(record.len())));
        run(put, &mut self.disk).map(drop)
    }

    /// Skips the rest of the task's chunk unless `len` bytes fit into it, as
    /// `sion_ensure_free_space` does.
    ///
    /// # Errors
    /// See [`Writer::write_record`].
    pub fn ensure_free_space(&mut self, local: u32, len: u64) -> Result<(), WriteError<S>> {
        run(self.desk.put(local, &[]).map(|put| put.fitting(len)), &mut self.disk).map(drop)
    }

    /// Writes a key-value record to the stream of task `local`. A record may cross the ends of
    /// chunks.
    ///
    /// # Errors
    /// [`Error::NoKeyval`] if streams are plain; else see [`Writer::write`].
    pub fn write_key(&mut self, local: u32, key: u64, value: &[u8]) -> Result<(), WriteError<S>> {
        let header = self.desk.header(key, value).map_err(DriveError::Format)?;
        let put = Put::new(&mut self.desk, local, [header.as_bytes(), value]);
        run(put, &mut self.disk).map(drop)
    }

    /// The plain stream of task `local` as `embedded_io::Write`.
    ///
    /// # Errors
    /// [`Error::NoTask`] if there is no such task; [`Error::OnlyKeyval`] if streams are key-value
    /// records.
    pub fn task(&mut self, local: u32) -> Result<TaskWriter<'_, 'm, S>, WriteError<S>> {
        self.desk.check_plain().map_err(DriveError::Format)?;
        self.cursor(local).map_err(DriveError::Format)?;
        Ok(TaskWriter { writer: self, local })
    }

    /// Commits: makes all that was written a durable part of the file, for every reader.
    ///
    /// # Errors
    /// The store's own error. The file is then as the last commit left it; if the last step of this
    /// commit failed, it may be as this commit leaves it. No written bytes are lost: the writer can
    /// go on, and the next commit covers them, if the store's next `sync` makes durable what this
    /// one did not.
    pub fn commit(&mut self) -> Result<(), WriteError<S>> {
        self.disk.recognise(&self.desk.book)?;
        let file_len = self.disk.size().map_err(DriveError::Store)?;
        let (commit, buf) = self.desk.commit(file_len).map_err(DriveError::Format)?;
        commit.run(&mut self.disk, buf)?;
        self.desk.committed();
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
    pub fn close(&mut self) -> Result<(), WriteError<S>> {
        self.disk.recognise(&self.desk.book)?;
        let file_len = self.disk.size().map_err(DriveError::Store)?;
        let (close, buf) = self.desk.close(file_len).map_err(DriveError::Format)?;
        let closed = close.run(&mut self.disk, buf);
        self.desk.closed(closed)
    }
}

/// Runs `put` on `disk`. After an error, the stream is as before the call.
fn run<S: WriteAt>(
    put: Result<Put<'_, '_, '_>, Error>,
    disk: &mut Disk<S>,
) -> Result<usize, WriteError<S>> {
    let mut put = put.map_err(DriveError::Format)?;
    disk.recognise(put.book())?;
    loop {
        match put.poll().map_err(DriveError::Format)? {
            Next::Enter(block) => {
                let file_len = disk.size().map_err(DriveError::Store)?;
                let (enter, buf) = put.enter(block, file_len).map_err(DriveError::Format)?;
                enter.run(disk, buf)?;
            }
            Next::Write { offset, bytes } => {
                disk.put(offset, bytes).map_err(DriveError::Store)?;
            }
            Next::Done(len) => return Ok(len),
        }
    }
}
