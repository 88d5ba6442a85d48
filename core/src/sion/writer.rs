//! One physical file, for people who just want to write.
//!
//! Nothing allocates: the caller lends a [`Slot`] for each task, a ledger for chunks that were
//! finished since the last commit, and a window. Each write goes to the store at once.

use super::close::Close;
use super::commit::{Commit, Publication, Unchanged};
use super::create::{Create, TaskTable};
use super::cursor::Cursor;
use super::error::Error;
use super::layout::{Blocks, Chunks, Varheader};
use super::meta1::{Attributes, KeyvalMode, Meta1};
use super::raw;
use super::reader::{Opened, Physical};
use super::seal::SealState;
use super::slots::{Finished, Ledger, Since, Slot};
use crate::endian::U64;
use crate::integrity::{Checksum, crc32c};
use crate::step::{DriveError, drive};
use crate::store::{WriteAt, usize_to_u64};
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
    /// Blocks that a commit leaves free for tasks that go on. With 0, a task that enters a new block
    /// first moves META2 behind it; with more, that is rarer, and the file is longer in between.
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
/// Dropped without a close, the file is as the last commit left it.
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
    mapping_len: u64,
}

impl<'m, S: WriteAt> Writer<'m, S> {
    /// Creates a file in `store`, which is emptied. It is there, unclosed, when this returns.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::PrefixTooLong`], [`Error::Window`]; [`Error::Slots`] if
    /// there are fewer slots than tasks; the store's own.
    pub fn create(
        mut store: S,
        attributes: &Attributes,
        prefix: &[u8],
        tasks: &(impl TaskTable + ?Sized),
        memory: Memory<'m>,
        options: Options<'m>,
    ) -> Result<Self, WriteError<S>> {
        let meta1 = Meta1::new(attributes, tasks.ntasks()).map_err(DriveError::Format)?;
        let slots = slots_of(memory.slots, meta1.ntasks()).map_err(DriveError::Format)?;
        let window = window_of(memory.window).map_err(DriveError::Format)?;
        let (front, back) = window.split_at_mut(window.len() >> 1);
        let create = Create::new(&meta1, prefix, tasks, front);
        let (create, blocks) = create.map_err(DriveError::Format)?;
        if store.size().map_err(DriveError::Store)? > 0 {
            store.set_size(0).map_err(DriveError::Store)?;
            // Else a power cut could leave the old size, with old bytes and new ones.
            store.sync().map_err(DriveError::Store)?;
        }
        run(create, &mut store, back)?;

        let mut start = blocks.first;
        for (slot, local) in slots.iter_mut().zip(0..) {
            let chunksize = tasks.chunksize(local);
            let chunks = Chunks { start, chunksize, globalskip: Some(blocks.globalskip) };
            *slot = Slot { cursor: Cursor::new(chunks), ..Slot::EMPTY };
            start = start.saturating_add(chunksize);
        }
        let entries = if meta1.is_first_of_several() { options.mapping.len() } else { 0 };
        let entries_len = usize_to_u64(entries).saturating_mul(raw::MappingEntry::TABLE.len.into());
        let mapping_len = match meta1.has_empty_mapping() || meta1.is_first_of_several() {
            true => u64::from(raw::MappingSize::TABLE.len).saturating_add(entries_len),
            false => 0,
        };
        let ledger = Ledger::new(memory.ledger);
        let published = None;
        Ok(Self { store, meta1, blocks, slots, ledger, window, options, published, mapping_len })
    }

    /// Goes on with a closed or committed file. What was not committed is not there any more. The
    /// file stays sealed if it is, whatever `options` say, and is not sealed if it is not.
    ///
    /// # Errors
    /// [`Error::NotClosed`] if there was never a commit; [`Error`] if it is damaged;
    /// [`Error::Window`]; [`Error::Slots`] if there are fewer slots than tasks; the store's own.
    pub fn reopen(
        store: S,
        memory: Memory<'m>,
        options: Options<'m>,
    ) -> Result<Self, WriteError<S>> {
        let window = window_of(memory.window).map_err(DriveError::Format)?;
        let file = match Physical::open(store, window)? {
            Opened::Closed(file) => file,
            Opened::Unclosed(file) => {
                let offset = file.head().meta1.layout().commit_fields().offset();
                return Err(DriveError::Format(Error::NotClosed { offset }));
            }
        };
        let meta1 = *file.meta1();
        let slots = slots_of(memory.slots, meta1.ntasks()).map_err(DriveError::Format)?;
        let mapping = file.mapping()?;
        let varheader = Varheader::of(file.head(), mapping.as_ref());
        let seal = match file.seal() {
            Ok(SealState::Sealed(seal)) => Some(seal),
            Ok(_) | Err(DriveError::Format(_)) => None, // a seal that is wrong is no seal
            Err(error) => return Err(error),
        };
        let published = varheader.map(|at| Varheader { sealed: seal.is_some(), ..at });

        let mut globalskip = 0u64;
        for task in file.tasks(&mut *window)? {
            let task = task?.task;
            globalskip = globalskip.saturating_add(task.chunks.chunksize);
            let last = task.blockcount.saturating_sub(1);
            let used = file.chunk_len(&task, last)?;
            let crc = match seal {
                Some(seal) => file.sealed_crc(&seal, task.local, last)?,
                None => 0,
            };
            let cursor = Cursor::resume(task.chunks, last, used).map_err(DriveError::Format)?;
            let slot = usize::try_from(task.local).ok().and_then(|local| slots.get_mut(local));
            if let Some(slot) = slot {
                *slot = Slot { cursor, since: cursor.chunk(), crc };
            }
        }
        for slot in slots.iter_mut() {
            slot.cursor = slot.cursor.with_globalskip(globalskip);
        }
        let mapping_len = match meta1.has_empty_mapping() {
            true => raw::MappingSize::TABLE.len.into(),
            false => varheader.map_or(0, |varheader| varheader.mapping_len),
        };
        let blocks = Blocks { first: meta1.layout().first_chunk(), globalskip };
        let options = Options { sealed: seal.is_some(), ..options };
        let ledger = Ledger::new(memory.ledger);
        let store = file.into_store();
        Ok(Self { store, meta1, blocks, slots, ledger, window, options, published, mapping_len })
    }

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
    /// [`Error::NoTask`], [`Error::OnlyKeyval`], [`Error::RecordTooLong`] if the task has no room at
    /// all, [`Error::FileFull`], [`Error::LedgerFull`]; the store's own. What was written before the
    /// error stays in the stream.
    pub fn write(&mut self, local: u32, bytes: &[u8]) -> Result<(), WriteError<S>> {
        self.check_plain()?;
        self.fill_chunks(local, bytes)
    }

    /// Writes `record` to the plain stream of task `local`, all of it into one chunk, as SIONlib's
    /// `sion_fwrite` does: if it does not fit into what is left of the chunk, that is skipped.
    ///
    /// # Errors
    /// As [`Writer::write`]; [`Error::RecordTooLong`] if it fits into no chunk. Nothing of it is in
    /// the stream then.
    pub fn write_record(&mut self, local: u32, record: &[u8]) -> Result<(), WriteError<S>> {
        self.ensure_free_space(local, usize_to_u64(record.len()))?;
        self.put(local, record)
    }

    /// Skips the rest of the task's chunk unless `len` bytes fit into it, as `sion_ensure_free_space`
    /// does.
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
    /// [`Error::NoKeyval`] if streams are plain; else as [`Writer::write`]. A record that was written
    /// in part makes the stream a damaged one if it is committed.
    pub fn write_key(&mut self, local: u32, key: u64, value: &[u8]) -> Result<(), WriteError<S>> {
        if self.meta1.keyval() != KeyvalMode::Inline {
            return Err(DriveError::Format(Error::NoKeyval));
        }
        let (order, len) = (self.meta1.order(), usize_to_u64(value.len()));
        let header = raw::RecordHeader { key: U64::new(key, order), len: U64::new(len, order) };
        self.fill_chunks(local, header.as_bytes())?;
        self.fill_chunks(local, value)
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
    /// [`Error::FileFull`] if META2 has no place in a file; the store's own. The last commit holds
    /// then, and this one can be tried again.
    pub fn commit(&mut self) -> Result<(), WriteError<S>> {
        let maxchunks = self.maxchunks();
        let reach = u64::from(maxchunks).saturating_add(self.options.ahead.into());
        let new = self.varheader(maxchunks, reach)?;
        let publication = self.publication(new);
        let (front, back) = self.window.split_at_mut(self.window.len() >> 1);
        let mapping = self.options.mapping;
        let written = Since { slots: self.slots, ledger: &self.ledger, mapping };
        let commit = Commit::new(publication, written, front).map_err(DriveError::Format)?;
        self.published = Some(run(commit, &mut self.store, back)?);
        self.forget();
        Ok(())
    }

    /// Commits for the last time, with META2 where SIONlib puts it and nothing behind it. The writer
    /// may go on after that, as if the file had been reopened.
    ///
    /// # Errors
    /// As [`Writer::commit`].
    pub fn close(&mut self) -> Result<(), WriteError<S>> {
        let maxchunks = self.maxchunks();
        let publication = self.publication(self.shape(maxchunks));
        let (front, back) = self.window.split_at_mut(self.window.len() >> 1);
        let mapping = self.options.mapping;
        let written = Since { slots: self.slots, ledger: &self.ledger, mapping };
        let close = Close::new(publication, &self.blocks, written, front);
        self.published = Some(run(close.map_err(DriveError::Format)?, &mut self.store, back)?);
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

    /// Writes `bytes` over as many chunks as it takes.
    fn fill_chunks(&mut self, local: u32, mut bytes: &[u8]) -> Result<(), WriteError<S>> {
        while !bytes.is_empty() {
            let mut room = self.cursor(local).map_err(DriveError::Format)?.room();
            if room == 0 {
                self.leave_chunk(local)?;
                room = self.cursor(local).map_err(DriveError::Format)?.room();
            }
            let len = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
            let (now, later) = bytes.split_at_checked(len).unwrap_or((bytes, &[]));
            self.put(local, now)?;
            bytes = later;
        }
        Ok(())
    }

    /// Writes `bytes`, which fit into what is left of the task's chunk.
    fn put(&mut self, local: u32, bytes: &[u8]) -> Result<(), WriteError<S>> {
        let cursor = *self.cursor(local).map_err(DriveError::Format)?;
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
        let reach = u64::from(chunk).saturating_add(1).saturating_add(self.options.ahead.into());
        let full = DriveError::Format(Error::FileFull { chunk: reach });
        let new = old.aside(&self.blocks, reach, Some(&old)).ok_or(full)?;
        let publication = self.publication(new);
        let (front, back) = self.window.split_at_mut(self.window.len() >> 1);
        let commit = Commit::new(publication, Unchanged, front).map_err(DriveError::Format)?;
        self.published = Some(run(commit, &mut self.store, back)?);
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

    fn varheader(&self, maxchunks: u32, reach: u64) -> Result<Varheader, WriteError<S>> {
        let place = self.shape(maxchunks).aside(&self.blocks, reach, self.published.as_ref());
        place.ok_or(DriveError::Format(Error::FileFull { chunk: reach }))
    }

    const fn publication(&self, new: Varheader) -> Publication {
        let (meta1, old, checksum) = (self.meta1, self.published, self.options.checksum);
        Publication { meta1, old, new, checksum }
    }

    /// All that was written has been committed.
    fn forget(&mut self) {
        self.ledger.clear();
        for slot in self.slots.iter_mut() {
            slot.since = slot.cursor.chunk();
        }
    }
}

/// The slots of `ntasks` tasks.
fn slots_of(slots: &mut [Slot], ntasks: u32) -> Result<&mut [Slot], Error> {
    let have = usize_to_u64(slots.len());
    let count = usize::try_from(ntasks).unwrap_or(usize::MAX);
    slots.get_mut(..count).ok_or(Error::Slots { ntasks: ntasks.into(), have })
}

/// A window that is long enough.
fn window_of(window: &mut [u8]) -> Result<&mut [u8], Error> {
    let need = usize_to_u64(WINDOW);
    if window.len() < WINDOW { Err(Error::Window { need }) } else { Ok(window) }
}

/// Runs a machine whose own error cannot occur.
fn run<M, S: WriteAt>(
    mut machine: M,
    store: &mut S,
    buf: &mut [u8],
) -> Result<M::Output, WriteError<S>>
where
    M: crate::step::Machine<Error = core::convert::Infallible>,
{
    drive(&mut machine, store, buf).map_err(DriveError::infallible)
}

/// A task's plain stream as `embedded_io::Write`; nothing is buffered.
#[derive(Debug)]
pub struct TaskWriter<'a, 'm, S> {
    writer: &'a mut Writer<'m, S>,
    local: u32,
}

impl<S: WriteAt> embedded_io::ErrorType for TaskWriter<'_, '_, S> {
    type Error = WriteError<S>;
}

impl<S: WriteAt> embedded_io::Write for TaskWriter<'_, '_, S> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error> {
        self.writer.write(self.local, bytes)?;
        Ok(bytes.len())
    }

    /// Does nothing: nothing is buffered. [`Writer::commit`] makes durable.
    fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
