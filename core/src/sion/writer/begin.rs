//! Creating and reopening a file with [`Writer`].

use super::desk::Desk;
use super::memory::Tasks;
use super::{Memory, Options, WINDOW, WriteError, Writer};
use crate::field::FieldId;
use crate::sion::book::{Ahead, Book};
use crate::sion::create::{Create, TaskTable};
use crate::sion::cursor::Cursor;
use crate::sion::error::Error;
use crate::sion::layout::{Blocks, Chunks};
use crate::sion::locate::Task;
use crate::sion::mapping::Mapping;
use crate::sion::meta1::{Attributes, MAX_TASKS, Meta1};
use crate::sion::open::Head;
use crate::sion::pen::Pen;
use crate::sion::raw;
use crate::sion::reader::{Opened, Physical};
use crate::sion::seal::{Seal, SealState};
use crate::sion::varheader::Varheader;
use crate::step::{DriveError, Machine, Step, drive};
use crate::store::{Disk, WriteAt, usize_to_u64};

impl<'m, S: WriteAt> Writer<'m, S> {
    /// Creates a file in `store`, which is emptied first. When this returns, the file exists and is
    /// unclosed.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] and [`Error::PrefixTooLong`] for values that no file can hold;
    /// [`Error::FileFull`] if the chunks are so large that META2 has no place after block 0;
    /// [`Error::Window`] if the window is too small; [`Error::Pens`] if there are fewer Pens than
    /// tasks. After these errors the store is unchanged. The store's own error: the old content may
    /// be gone then.
    pub fn create(
        mut store: S,
        attributes: &Attributes,
        prefix: &[u8],
        tasks: &(impl TaskTable + ?Sized),
        memory: Memory<'m>,
        options: Options<'m>,
    ) -> Result<Self, WriteError<S>> {
        let mut new =
            NewFile::new(attributes, tasks, memory, options).map_err(DriveError::Format)?;
        let (mut create, book, buf) = new.create(prefix, tasks).map_err(DriveError::Format)?;
        let meta1_crc = drive(&mut create, &mut store, buf).map_err(DriveError::infallible)?;
        Ok(Self { disk: Disk::new(store), desk: new.desk(tasks, book.with_meta1_crc(meta1_crc)) })
    }

    /// Reopens a closed or committed file to append to its streams. Bytes after the last commit are
    /// lost. The seal and the mapping stay as they are in the file, whatever `options` say: a
    /// sealed file stays sealed, a file without a seal gets none.
    ///
    /// # Errors
    /// [`Error::NotClosed`] if there was never a commit; [`Error`] if the file or its seal is
    /// damaged (a seal covers all metadata); [`Error::Window`] if the window is too small;
    /// [`Error::Pens`] if there are fewer Pens than tasks; the store's own error. Nothing is
    /// written before an error.
    pub fn reopen(
        mut store: S,
        memory: Memory<'m>,
        options: Options<'m>,
    ) -> Result<Self, WriteError<S>> {
        let mut old = OldFile::new(memory, options).map_err(DriveError::Format)?;
        // A program that was killed may have left a commit that is seen and not yet durable. What
        // is durable, and would be seen after a power cut, must not be taken for free space.
        store.sync().map_err(DriveError::Store)?;
        let file = closed(Physical::open(store, old.window)?).map_err(DriveError::Format)?;
        old.set_tasks(file.meta1()).map_err(DriveError::Format)?;
        let mapping = file.mapping()?;
        if let SealState::Sealed(seal) = file.seal()? {
            // Else the next commit would seal the damage.
            let checksum = old.options.checksum;
            let meta1_crc = seal.check_metadata(file.store(), checksum, old.window)?;
            old.seal = Some((seal, meta1_crc));
        }
        let published = old.published(file.head(), mapping).map_err(DriveError::Format)?;
        let OldFile { kept, window, seal, .. } = &mut old;
        for task in file.tasks(&mut **window)? {
            let task = task?.task;
            let last = task.blockcount.saturating_sub(1);
            let used = file.chunk_len(&task, last)?;
            let crc = match seal {
                Some((seal, _)) => Some(file.sealed_crc(seal, task.local, last)?),
                None => None,
            };
            resume(kept, &task, used, crc).map_err(DriveError::Format)?;
        }
        let desk = old.desk(file.meta1(), published);
        Ok(Self { disk: Disk::new(file.into_store()), desk })
    }
}

/// A file that is being created. Its arguments are checked before anything is written.
#[derive(Debug)]
pub(super) struct NewFile<'m> {
    meta1: Meta1,
    kept: Tasks<'m>,
    window: &'m mut [u8],
    options: Options<'m>,
}

impl<'m> NewFile<'m> {
    pub(super) fn new(
        attributes: &Attributes,
        tasks: &(impl TaskTable + ?Sized),
        memory: Memory<'m>,
        options: Options<'m>,
    ) -> Result<Self, Error> {
        let meta1 = Meta1::new(attributes, tasks.ntasks())?;
        let Memory { pens, ledger, window } = memory;
        let kept = Tasks::new(pens, ledger, meta1.ntasks(), options.mapping)?;
        Ok(Self { meta1, kept, window: window_of(window)?, options })
    }

    /// The machine that writes the file into any store; the file's Book, which lacks the machine's
    /// output; and the memory for the machine.
    pub(super) fn create<'w, T: TaskTable>(
        &'w mut self,
        prefix: &[u8],
        tasks: T,
    ) -> Result<Creation<'w, T>, Error> {
        let Options { mapping, sealed, checksum, .. } = self.options;
        let (front, back) = self.window.split_at_mut(self.window.len() >> 1);
        let checksum = sealed.then_some(checksum);
        let (create, blocks) = Create::new(&self.meta1, prefix, tasks, checksum, front)?;
        check_mapping(&self.meta1, mapping)?;
        let book = Book::create(&self.meta1, &blocks, usize_to_u64(mapping.len()), sealed)?;
        Ok((Anew { stage: Stage::Empty, create }, book, back))
    }

    /// The state of the writer when the file is written.
    pub(super) fn desk(mut self, tasks: &(impl TaskTable + ?Sized), book: Book) -> Desk<'m> {
        let Blocks { first: mut start, globalskip } = *book.blocks();
        for (pen, local) in self.kept.pens().iter_mut().zip(0..) {
            let chunksize = tasks.chunksize(local);
            let chunks = Chunks { start, chunksize, globalskip: Some(globalskip) };
            *pen = Pen::new(local, chunks, book.is_sealed());
            start = start.saturating_add(chunksize);
        }
        desk(book, self.kept, self.window, &self.options)
    }
}

/// A machine that creates a file, the file's Book, and the memory for the machine.
pub(super) type Creation<'w, T> = (Anew<Create<'w, T>>, Book, &'w mut [u8]);

/// Empties a store, then creates a file in it.
#[derive(Debug)]
pub(super) struct Anew<C> {
    stage: Stage,
    create: C,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    Empty,
    Sync,
    Create,
}

impl<C: Machine> Machine for Anew<C> {
    type Output = C::Output;
    type Error = C::Error;

    fn poll(&mut self) -> Step<'_, C::Output> {
        match self.stage {
            Stage::Empty => {
                self.stage = Stage::Sync;
                Step::SetSize { len: 0 }
            }
            // Else a power cut could leave an old size, with old bytes and new ones. Also if the
            // store was empty already: a program that was killed may have emptied it.
            Stage::Sync => {
                self.stage = Stage::Create;
                Step::Sync
            }
            Stage::Create => self.create.poll(),
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), C::Error> {
        self.create.feed(bytes)
    }
}

/// A file that is being reopened.
#[derive(Debug)]
pub(super) struct OldFile<'m> {
    pub(super) kept: Tasks<'m>,
    pub(super) window: &'m mut [u8],
    pub(super) options: Options<'m>,
    /// The seal, and the CRC-32C of META1 before the commit fields.
    pub(super) seal: Option<(Seal, u32)>,
}

impl<'m> OldFile<'m> {
    pub(super) fn new(memory: Memory<'m>, options: Options<'m>) -> Result<Self, Error> {
        let Memory { pens, ledger, window } = memory;
        // The mapping stays as the last commit has it.
        let kept = Tasks::all(pens, ledger, &[]);
        Ok(Self { kept, window: window_of(window)?, options, seal: None })
    }

    /// Sets the number of tasks; each needs a Pen.
    pub(super) fn set_tasks(&mut self, meta1: &Meta1) -> Result<(), Error> {
        self.kept.limit(meta1.ntasks())
    }

    /// The place of the last commit.
    pub(super) fn published(
        &self,
        head: &Head,
        mapping: Option<Mapping>,
    ) -> Result<Varheader, Error> {
        match self.seal {
            Some((seal, _)) => Ok(*seal.varheader()),
            None => Varheader::of(head, mapping.as_ref()).ok_or_else(|| not_closed(head)),
        }
    }

    /// The state of the writer when all tasks are resumed.
    pub(super) fn desk(mut self, meta1: &Meta1, published: Varheader) -> Desk<'m> {
        let chunksizes = self.kept.pens().iter().map(|pen| pen.cursor().chunksize());
        let globalskip = chunksizes.fold(0, u64::saturating_add);
        for pen in self.kept.pens() {
            *pen = pen.with_globalskip(globalskip);
        }
        let blocks = Blocks { first: meta1.layout().first_chunk(), globalskip };
        let book = Book::reopen(meta1, &blocks, published, self.seal.is_some());
        let book = book.with_meta1_crc(self.seal.map_or(0, |(_, meta1_crc)| meta1_crc));
        desk(book, self.kept, self.window, &self.options)
    }
}

/// Resumes `task`, which used `used` bytes of its last chunk, with the checksum `crc`.
pub(super) fn resume(
    kept: &mut Tasks<'_>,
    task: &Task,
    used: u64,
    crc: Option<u32>,
) -> Result<(), Error> {
    let last = task.blockcount.saturating_sub(1);
    let cursor = Cursor::resume(task.chunks, last, used)?;
    *kept.pen_mut(task.local)? = Pen::resume(task.local, cursor, crc);
    Ok(())
}

/// Refuses a file that was never closed.
pub(super) fn closed<S>(file: Opened<S>) -> Result<Physical<S>, Error> {
    match file {
        Opened::Closed(file) => Ok(file),
        Opened::Unclosed(file) => Err(not_closed(file.head())),
    }
}

fn not_closed(head: &Head) -> Error {
    Error::NotClosed { offset: head.meta1.layout().commit_fields().offset() }
}

fn desk<'m>(book: Book, tasks: Tasks<'m>, window: &'m mut [u8], options: &Options<'m>) -> Desk<'m> {
    let Options { ahead, checksum, .. } = *options;
    Desk { book, tasks, window, ahead: Ahead::Blocks(ahead), checksum }
}

/// Checks that a file can hold each entry of the mapping, if the file has one.
fn check_mapping(meta1: &Meta1, mapping: &[(u32, u32)]) -> Result<(), Error> {
    if !meta1.is_first_of_several() {
        return Ok(());
    }
    let entries = usize_to_u64(mapping.len());
    within(entries, i32::MAX.unsigned_abs(), raw::MappingSize::mapping_size)?;
    let (last_file, last_task) = (meta1.nfiles().saturating_sub(1), MAX_TASKS.saturating_sub(1));
    for (filenumber, lrank) in mapping {
        within((*filenumber).into(), last_file, raw::MappingEntry::filenumber)?;
        within((*lrank).into(), last_task, raw::MappingEntry::lrank)?;
    }
    Ok(())
}

fn within(value: u64, max: u32, field: FieldId) -> Result<(), Error> {
    if value <= max.into() {
        return Ok(());
    }
    let value = i64::try_from(value).unwrap_or(i64::MAX);
    Err(Error::OutOfRange { field, value, min: 0, max: max.into() })
}

/// Checks that the window is long enough.
fn window_of(window: &mut [u8]) -> Result<&mut [u8], Error> {
    let need = usize_to_u64(WINDOW);
    if window.len() < WINDOW { Err(Error::Window { need }) } else { Ok(window) }
}
