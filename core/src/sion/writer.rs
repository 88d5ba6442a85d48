//! One physical file, for people who just want to write.
//!
//! Nothing allocates: the caller lends a [`Slot`] for each task, a ledger for chunks that were
//! finished since the last commit, and a window. Each write goes to the store at once.

mod begin;
mod task;

pub use task::TaskWriter;

use super::close::Close;
use super::commit::{Commit, Outcome, Publication, Unchanged};
use super::cursor::Cursor;
use super::error::Error;
use super::layout::{Blocks, Varheader};
use super::meta1::{KeyvalMode, Meta1};
use super::raw;
use super::slots::{Finished, Ledger, Since, Slot};
use crate::endian::U64;
use crate::integrity::{Checksum, crc32c};
use crate::step::{DriveError, Machine, drive};
use crate::store::{WriteAt, usize_to_u64};
use embedded_io::{Error as _, ErrorKind};
use zerocopy::IntoBytes;

/// Why writing to a store `S` failed.
pub type WriteError<S> = super::ReadError<S>;

/// Bytes that a writer's window needs.
pub const WINDOW: usize = Meta1::MAX_LEN;

/// Memory that a writer works in.
#[derive(Debug)]
pub struct Memory<'m> {
    /// One for each task.
    pub slots: &'m mut [Slot],
    /// Room for chunks that are finished between two commits, besides those that are just full in a
    /// file without a seal.
    pub ledger: &'m mut [Finished],
    /// At least [`WINDOW`] bytes; a larger one makes fewer and larger writes.
    pub window: &'m mut [u8],
}

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
///     Attributes, Finished, Memory, Meta1, Opened, Options, Physical, Slot, Writer,
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
/// // One slot for each task; a ledger for chunks that are left before a commit; a window.
/// let (mut slots, mut ledger) = ([Slot::EMPTY; 2], [Finished::EMPTY; 8]);
/// let mut window = [0; Meta1::MAX_LEN];
/// let memory = Memory { slots: &mut slots, ledger: &mut ledger, window: &mut window };
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
    meta1: Meta1,
    blocks: Blocks,
    slots: &'m mut [Slot],
    ledger: Ledger<'m>,
    window: &'m mut [u8],
    options: Options<'m>,
    /// What the last commit wrote.
    published: Option<Varheader>,
    /// What a commit wrote that failed so late that it may be what readers see.
    unsettled: Option<Varheader>,
    mapping_len: u64,
}

impl<'m, S: WriteAt> Writer<'m, S> {
    /// The fixed part of META1.
    #[must_use]
    pub const fn meta1(&self) -> &Meta1 {
        &self.meta1
    }

    /// Where task `local` writes next.
    ///
    /// # Errors
    /// [`Error::NoTask`].
    pub fn cursor(&self, local: u32) -> Result<&Cursor, Error> {
        let (task, ntasks) = (local.into(), self.meta1.ntasks().into());
        let slot = usize::try_from(local).ok().and_then(|local| self.slots.get(local));
        slot.map(Slot::cursor).ok_or(Error::NoTask { task, ntasks })
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
        if self.meta1.keyval() != KeyvalMode::Inline {
            return Err(DriveError::Format(Error::NoKeyval));
        }
        let (order, len) = (self.meta1.order(), usize_to_u64(value.len()));
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
        self.settle()?;
        let maxchunks = self.maxchunks();
        let new = self.place(self.shape(maxchunks), maxchunks)?;
        let publication = self.publication(new)?;
        let (front, back) = self.window.split_at_mut(self.window.len() >> 1);
        let mapping = self.options.mapping;
        let written = Since { slots: self.slots, ledger: &self.ledger, mapping };
        let commit = Commit::new(publication, written, front);
        let mut commit = commit.map_err(DriveError::Format)?;
        let result = run(&mut commit, &mut self.store, back);
        let outcome = commit.outcome();
        self.conclude(result, outcome)?;
        self.forget();
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
        self.settle()?;
        let maxchunks = self.maxchunks();
        let publication = self.publication(self.shape(maxchunks))?;
        let (front, back) = self.window.split_at_mut(self.window.len() >> 1);
        let mapping = self.options.mapping;
        let written = Since { slots: self.slots, ledger: &self.ledger, mapping };
        let close = Close::new(publication, &self.blocks, written, front);
        let mut close = close.map_err(DriveError::Format)?;
        let result = run(&mut close, &mut self.store, back);
        let outcome = close.outcome();
        let in_place = self.blocks.end(maxchunks.into());
        let is_closed = matches!(outcome, Outcome::Published(at) if Some(at.start) == in_place);
        match self.conclude(result, outcome) {
            // All but the cut was done, and the device has no way to do that.
            Err(DriveError::Store(error))
                if is_closed && error.kind() == ErrorKind::Unsupported => {}
            concluded => concluded?,
        }
        self.forget();
        Ok(())
    }

    /// The store. What was written since the last commit or close is not part of the file.
    #[must_use]
    pub fn into_store(self) -> S {
        self.store
    }

    fn check_plain(&self) -> Result<(), WriteError<S>> {
        match self.meta1.keyval() {
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
        let (before, finished) = (self.slot(local).map(|slot| *slot), self.ledger.len());
        let result = work(self);
        if let (Err(_), Some(before), Some(slot)) = (&result, before, self.slot(local)) {
            *slot = before;
            self.ledger.truncate(finished);
        }
        result
    }

    /// Writes `bytes` over as many chunks as it takes.
    fn fill_chunks(&mut self, local: u32, mut bytes: &[u8]) -> Result<(), WriteError<S>> {
        self.cursor(local).map_err(DriveError::Format)?; // also if there is nothing to write
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
        let cursor = *self.cursor(local).map_err(DriveError::Format)?;
        self.settle()?;
        self.reach_block(cursor.chunk())?;
        let span = cursor.place(usize_to_u64(bytes.len())).map_err(DriveError::Format)?;
        self.store.write_all_at(span.offset(), bytes).map_err(DriveError::Store)?;
        let (sealed, checksum) = (self.options.sealed, self.options.checksum);
        if let Some(slot) = self.slot(local) {
            slot.cursor.advance(span.len());
            if sealed {
                slot.crc = checksum(slot.crc, bytes);
            }
        }
        Ok(())
    }

    fn slot(&mut self, local: u32) -> Option<&mut Slot> {
        usize::try_from(local).ok().and_then(|local| self.slots.get_mut(local))
    }

    /// Goes to the start of the task's next chunk.
    fn leave_chunk(&mut self, local: u32) -> Result<(), WriteError<S>> {
        let next = self.cursor(local).and_then(Cursor::next_chunk).map_err(DriveError::Format)?;
        // Else what is written there could never be committed.
        let shape = self.shape(next.chunk().saturating_add(1));
        check_places(&shape, &self.blocks).map_err(DriveError::Format)?;
        let (sealed, is_full) = (self.options.sealed, self.ledger.is_full());
        let capacity = usize_to_u64(self.ledger.capacity());
        let Some(slot) = usize::try_from(local).ok().and_then(|local| self.slots.get_mut(local))
        else {
            return Ok(());
        };
        if sealed || slot.cursor.room() > 0 {
            if is_full {
                return Err(DriveError::Format(Error::LedgerFull { capacity }));
            }
            self.ledger.push(local, slot);
        }
        slot.cursor = next;
        slot.crc = 0;
        Ok(())
    }

    /// Makes sure that block `chunk` may be written to: that the last commit is behind it.
    fn reach_block(&mut self, chunk: u32) -> Result<(), WriteError<S>> {
        let Some(old) = self.published else { return Ok(()) };
        if u64::from(chunk) < self.blocks.before(old.start) {
            return Ok(());
        }
        // Behind all blocks in use: those of a file that was reopened can be behind its META2.
        let new = self.place(old, chunk.saturating_add(1).max(self.maxchunks()))?;
        let publication = self.publication(new)?;
        let (front, back) = self.window.split_at_mut(self.window.len() >> 1);
        let commit = Commit::new(publication, Unchanged, front);
        let mut commit = commit.map_err(DriveError::Format)?;
        let result = run(&mut commit, &mut self.store, back);
        let outcome = commit.outcome();
        self.conclude(result, outcome)
    }

    /// Remembers what the file is now, after a machine's end or its failure.
    fn conclude(
        &mut self,
        result: Result<Varheader, WriteError<S>>,
        outcome: Outcome,
    ) -> Result<(), WriteError<S>> {
        match (&result, outcome) {
            (Ok(new), _) => self.published = Some(*new),
            (Err(_), Outcome::Published(new)) => self.published = Some(new),
            (Err(_), Outcome::Unknown(new)) => self.unsettled = Some(new),
            (Err(_), Outcome::Unchanged) => {}
        }
        result.map(|_| ())
    }

    /// Makes sure which META2 is visible, before anything is written that could hit it.
    fn settle(&mut self) -> Result<(), WriteError<S>> {
        if let Some(new) = self.unsettled {
            let mut commit = Commit::settle(&self.meta1, new);
            self.published = Some(run(&mut commit, &mut self.store, &mut [])?);
            self.unsettled = None;
        }
        Ok(())
    }

    /// Chunks of the task that has most.
    fn maxchunks(&self) -> u32 {
        let used = self.slots.iter().map(|slot| slot.cursor.chunk().saturating_add(1));
        let published = self.published.map_or(1, |old| old.maxchunks);
        used.fold(published, u32::max)
    }

    fn shape(&self, maxchunks: u32) -> Varheader {
        let (ntasks, mapping_len) = (self.meta1.ntasks(), self.mapping_len);
        Varheader { start: 0, ntasks, maxchunks, mapping_len, sealed: self.options.sealed }
    }

    /// The same behind the first `blocks` and those that are to stay free, if there is a place.
    fn place(&self, shape: Varheader, blocks: u32) -> Result<Varheader, WriteError<S>> {
        let ahead = u64::from(blocks).saturating_add(self.options.ahead.into());
        let aside = |reach| shape.aside(&self.blocks, reach, self.published.as_ref());
        let full = DriveError::Format(Error::FileFull { chunk: blocks.into() });
        aside(ahead).or_else(|| aside(blocks.into())).ok_or(full)
    }

    fn publication(&self, new: Varheader) -> Result<Publication, WriteError<S>> {
        let (meta1, old, checksum) = (self.meta1, self.published, self.options.checksum);
        let file_len = self.store.size().map_err(DriveError::Store)?;
        Ok(Publication { meta1, old, new, file_len, checksum })
    }

    /// All that was written has been committed.
    fn forget(&mut self) {
        self.ledger.truncate(0);
        for slot in self.slots.iter_mut() {
            slot.since = slot.cursor.chunk();
        }
    }
}

/// Checks that META2 has a place behind its blocks, wherever the one before it and that of a close
/// are.
fn check_places(shape: &Varheader, blocks: &Blocks) -> Result<(), Error> {
    let full = Error::FileFull { chunk: shape.maxchunks.saturating_sub(1).into() };
    if shape.has_places(blocks) { Ok(()) } else { Err(full) }
}

/// Runs a machine whose own error cannot occur.
fn run<M, S: WriteAt>(
    machine: &mut M,
    store: &mut S,
    buf: &mut [u8],
) -> Result<M::Output, WriteError<S>>
where
    M: Machine<Error = core::convert::Infallible>,
{
    drive(machine, store, buf).map_err(DriveError::infallible)
}
