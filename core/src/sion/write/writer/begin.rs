//! Creating and reopening a file with [`Writer`].

#[twin(WriteError = AsyncError)]
use super::WriteError;
use super::memory::Tasks;
use super::{Memory, Options, WINDOW, Writer, half};
use crate::sion::disk::head::Head;
use crate::sion::disk::meta1::{Attributes, MAX_TASKS, Meta1, within};
use crate::sion::disk::varheader::Varheader;
use crate::sion::error::Error;
use crate::sion::layout::{Blocks, Chunks, MAX_I32};
use crate::sion::raw;
use crate::sion::read::physical::Physical;
use crate::sion::read::reader::Opened;
use crate::sion::read::sealed::SealState;
use crate::sion::write::book::{Ahead, Book};
use crate::sion::write::create::{Front, TaskTable, blocks};
#[twin(empty, write_meta1)]
use crate::sion::write::create::{empty, write_meta1};
use crate::sion::write::cursor::Cursor;
use crate::sion::write::pen::Pen;
use crate::sion::write::publish::Terms;
use crate::sion::write::tables::check_window;
use crate::step::DriveError;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::{Disk, usize_to_u64};
use striae_twin::twin;

#[twin(WriteAt, WriteError = AsyncError)]
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
    pub async fn create(
        mut store: S,
        attributes: &Attributes,
        prefix: &[u8],
        tasks: &(impl TaskTable + ?Sized),
        memory: Memory<'m>,
        options: Options<'m>,
    ) -> Result<Self, WriteError<S>> {
        let Options { mapping, sealed, set_identity, checksum, .. } = options;
        let meta1 = Meta1::new(attributes, tasks.ntasks())?;
        let mut kept = Tasks::new(memory.pens, memory.ledger, mapping);
        kept.limit(meta1.ntasks())?;
        let window = memory.window;
        check_window(window, WINDOW)?;
        let front = Front::new(&meta1, prefix)?;
        let blocks = blocks(&meta1, tasks)?;
        check_mapping(&meta1, mapping)?;
        let book = Book::create(&meta1, &blocks, usize_to_u64(mapping.len()), sealed)?;
        let book = book.with_set_identity(set_identity);

        empty(&mut store).await.map_err(DriveError::Store)?;
        let checksum = sealed.then_some(checksum);
        let meta1_crc = write_meta1(&front, tasks, checksum, &mut store, half(window)).await?;
        start(kept.pens(), tasks, &blocks, sealed);
        let (disk, book) = (Disk::new(store), book.with_meta1_crc(meta1_crc));
        Ok(Self { disk, book, tasks: kept, window, terms: terms(&options) })
    }

    /// Reopens a closed or committed file to append to its streams. Bytes after the last commit are
    /// lost. The seal, with the identity of the set, and the mapping stay as they are in the file,
    /// whatever `options` say: a sealed file stays sealed, a file without a seal gets none.
    ///
    /// # Errors
    /// [`Error::NotClosed`] if there was never a commit; [`Error`] if the file or its seal is
    /// damaged (a seal covers all metadata); [`Error::Window`] if the window is too small;
    /// [`Error::Pens`] if there are fewer Pens than tasks; the store's own error. Nothing is
    /// written before an error.
    #[allow(clippy::while_let_on_iterator, reason = "one text in two forms")]
    pub async fn reopen(
        mut store: S,
        memory: Memory<'m>,
        options: Options<'m>,
    ) -> Result<Self, WriteError<S>> {
        // The mapping stays as the last commit has it.
        let mut kept = Tasks::new(memory.pens, memory.ledger, &[]);
        let window = memory.window;
        check_window(window, WINDOW)?;
        // A program that was killed may have left a commit that is seen and not yet durable. What
        // is durable, and would be seen after a power cut, must not be taken for free space.
        store.sync().await.map_err(DriveError::Store)?;
        let file = closed(Physical::open(store, window).await?)?;
        kept.limit(file.meta1().ntasks())?;
        let mapping = file.mapping().await?;
        let (published, seal, meta1_crc) = match file.seal().await? {
            SealState::Sealed(seal) => {
                // Else the next commit would seal the damage.
                let checked = seal.check_metadata(file.store(), options.checksum, window).await?;
                (Some(*seal.varheader()), Some(seal), checked)
            }
            _ => (Varheader::of(file.head(), mapping.as_ref()), None, 0),
        };
        let published = published.ok_or_else(|| not_closed(file.head()))?;
        let mut tasks = file.tasks(&mut *window).await?;
        while let Some(task) = tasks.next().await {
            let task = task?.task;
            let last = task.blockcount.saturating_sub(1);
            let used = file.chunk_len(&task, last).await?;
            let crc = match &seal {
                Some(seal) => Some(file.sealed_crc(seal, task.local, last).await?),
                None => None,
            };
            let cursor = Cursor::resume(task.chunks, last, used)?;
            *kept.pen_mut(task.local)? = Pen::resume(task.local, cursor, crc);
        }
        let chunksizes = kept.pens().iter().map(|pen| pen.cursor().chunksize());
        let globalskip = chunksizes.fold(0, u64::saturating_add);
        let blocks = Blocks { first: file.meta1().layout().first_chunk(), globalskip };
        let book = Book::reopen(file.meta1(), &blocks, published, seal.is_some());
        let (disk, book) = (Disk::new(file.into_store()), book.with_meta1_crc(meta1_crc));
        Ok(Self { disk, book, tasks: kept, window, terms: terms(&options) })
    }
}

const fn terms(options: &Options<'_>) -> Terms {
    let Options { ahead, checksum, .. } = *options;
    Terms { ahead: Ahead::Blocks(ahead), checksum, set_number: 0 }
}

/// Puts the Pens of `tasks` at the starts of their streams.
fn start(pens: &mut [Pen], tasks: &(impl TaskTable + ?Sized), blocks: &Blocks, sealed: bool) {
    let Blocks { first: mut start, globalskip } = *blocks;
    for (pen, local) in pens.iter_mut().zip(0..) {
        let chunksize = tasks.chunksize(local);
        let chunks = Chunks { start, chunksize, globalskip: Some(globalskip) };
        *pen = Pen::new(local, chunks, sealed);
        start = start.saturating_add(chunksize);
    }
}

/// Refuses a file that was never closed.
fn closed<S>(file: Opened<S>) -> Result<Physical<S>, Error> {
    match file {
        Opened::Closed(file) => Ok(file),
        Opened::Unclosed(file) => Err(not_closed(file.head())),
    }
}

fn not_closed(head: &Head) -> Error {
    Error::NotClosed { offset: head.meta1.layout().commit_fields().offset() }
}

/// Checks that a file can hold each entry of the mapping, if the file has one.
fn check_mapping(meta1: &Meta1, mapping: &[(u32, u32)]) -> Result<(), Error> {
    if !meta1.is_first_of_several() {
        return Ok(());
    }
    let entries = usize_to_u64(mapping.len());
    within(entries, 0, MAX_I32, raw::MappingSize::mapping_size)?;
    let (last_file, last_task) = (meta1.nfiles().saturating_sub(1), MAX_TASKS.saturating_sub(1));
    for (filenumber, lrank) in mapping {
        within((*filenumber).into(), 0, last_file, raw::MappingEntry::filenumber)?;
        within((*lrank).into(), 0, last_task, raw::MappingEntry::lrank)?;
    }
    Ok(())
}
