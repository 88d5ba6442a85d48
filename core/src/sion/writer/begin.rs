//! How a writer begins: with a new file, or with one that is there.

use super::memory::Tasks;
use super::{Memory, Options, WINDOW, WriteError, Writer};
use crate::field::FieldId;
use crate::sion::book::{Ahead, Book};
use crate::sion::create::{Create, TaskTable};
use crate::sion::cursor::Cursor;
use crate::sion::error::Error;
use crate::sion::layout::{Blocks, Chunks};
use crate::sion::meta1::{Attributes, MAX_TASKS, Meta1};
use crate::sion::pen::Pen;
use crate::sion::raw;
use crate::sion::reader::{Opened, Physical};
use crate::sion::seal::SealState;
use crate::sion::varheader::Varheader;
use crate::step::{DriveError, drive};
use crate::store::{WriteAt, usize_to_u64};

impl<'m, S: WriteAt> Writer<'m, S> {
    /// Creates a file in `store`, which is emptied. It is there, unclosed, when this returns.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] and [`Error::PrefixTooLong`] for what no file can hold;
    /// [`Error::FileFull`] if chunks are so large that META2 has no place behind block 0;
    /// [`Error::Window`]; [`Error::Pens`] if there are fewer Pens than tasks. The store is as it
    /// was then. The store's own: then there may be no file any more.
    pub fn create(
        mut store: S,
        attributes: &Attributes,
        prefix: &[u8],
        tasks: &(impl TaskTable + ?Sized),
        memory: Memory<'m>,
        options: Options<'m>,
    ) -> Result<Self, WriteError<S>> {
        let meta1 = Meta1::new(attributes, tasks.ntasks()).map_err(DriveError::Format)?;
        let Memory { pens, ledger, window } = memory;
        let Options { mapping, sealed, ahead, checksum } = options;
        let kept = Tasks::new(pens, ledger, meta1.ntasks(), mapping);
        let mut kept = kept.map_err(DriveError::Format)?;
        let window = window_of(window).map_err(DriveError::Format)?;
        let (front, back) = window.split_at_mut(window.len() >> 1);
        let create = Create::new(&meta1, prefix, tasks, sealed.then_some(checksum), front);
        let (mut create, blocks) = create.map_err(DriveError::Format)?;
        check_mapping(&meta1, mapping).map_err(DriveError::Format)?;
        let book = Book::create(&meta1, &blocks, usize_to_u64(mapping.len()), sealed);
        let book = book.map_err(DriveError::Format)?;
        store.set_size(0).map_err(DriveError::Store)?;
        // Else a power cut could leave an old size, with old bytes and new ones. Also if the store
        // was empty already: a program that was killed may have emptied it.
        store.sync().map_err(DriveError::Store)?;
        let meta1_crc = drive(&mut create, &mut store, back).map_err(DriveError::infallible)?;

        let mut start = blocks.first;
        for (pen, local) in kept.pens().iter_mut().zip(0..) {
            let chunksize = tasks.chunksize(local);
            let chunks = Chunks { start, chunksize, globalskip: Some(blocks.globalskip) };
            *pen = Pen::new(local, chunks, sealed);
            start = start.saturating_add(chunksize);
        }
        let book = book.with_meta1_crc(meta1_crc);
        Ok(Self { store, book, tasks: kept, window, ahead: Ahead::Blocks(ahead), checksum })
    }

    /// Goes on with a closed or committed file. What was not committed is not there any more. The
    /// file stays sealed if it is, whatever `options` say, and is not sealed if it is not. Its
    /// mapping stays, too.
    ///
    /// # Errors
    /// [`Error::NotClosed`] if there was never a commit; [`Error`] if it is damaged, which a seal
    /// tells of all metadata, or if its seal is; nothing was written then.
    /// [`Error::Window`]; [`Error::Pens`] if there are fewer Pens than tasks; the store's own.
    pub fn reopen(
        mut store: S,
        memory: Memory<'m>,
        options: Options<'m>,
    ) -> Result<Self, WriteError<S>> {
        let Memory { pens, ledger, window } = memory;
        let window = window_of(window).map_err(DriveError::Format)?;
        // A program that was killed may have left a commit that is seen and not yet durable. What
        // is durable, and would be seen after a power cut, must not be taken for free space.
        store.sync().map_err(DriveError::Store)?;
        let file = match Physical::open(store, window)? {
            Opened::Closed(file) => file,
            Opened::Unclosed(file) => {
                let offset = file.head().meta1.layout().commit_fields().offset();
                return Err(DriveError::Format(Error::NotClosed { offset }));
            }
        };
        let meta1 = *file.meta1();
        // The mapping stays as the last commit has it.
        let kept = Tasks::new(pens, ledger, meta1.ntasks(), &[]);
        let mut kept = kept.map_err(DriveError::Format)?;
        let mapping = file.mapping()?;
        let seal = match file.seal()? {
            SealState::Sealed(seal) => Some(seal),
            SealState::None | SealState::Stale { .. } => None,
        };
        let Options { ahead, checksum, .. } = options;
        let meta1_crc = match seal {
            // Else the next commit would seal the damage.
            Some(seal) => seal.check_metadata(file.store(), checksum, &mut *window)?,
            None => 0,
        };
        let published = match seal {
            Some(seal) => Some(*seal.varheader()),
            None => Varheader::of(file.head(), mapping.as_ref()),
        };
        let offset = meta1.layout().commit_fields().offset();
        let published = published.ok_or(DriveError::Format(Error::NotClosed { offset }))?;

        let mut globalskip = 0u64;
        for task in file.tasks(&mut *window)? {
            let task = task?.task;
            globalskip = globalskip.saturating_add(task.chunks.chunksize);
            let last = task.blockcount.saturating_sub(1);
            let used = file.chunk_len(&task, last)?;
            let crc = match seal {
                Some(seal) => Some(file.sealed_crc(&seal, task.local, last)?),
                None => None,
            };
            let cursor = Cursor::resume(task.chunks, last, used).map_err(DriveError::Format)?;
            let pen = kept.pen_mut(task.local).map_err(DriveError::Format)?;
            *pen = Pen::resume(task.local, cursor, crc);
        }
        for pen in kept.pens() {
            *pen = pen.with_globalskip(globalskip);
        }
        let blocks = Blocks { first: meta1.layout().first_chunk(), globalskip };
        let book = Book::reopen(&meta1, &blocks, published, seal.is_some());
        let (book, store) = (book.with_meta1_crc(meta1_crc), file.into_store());
        Ok(Self { store, book, tasks: kept, window, ahead: Ahead::Blocks(ahead), checksum })
    }
}

/// Checks that each entry of the mapping, if the file has one, is one that a file can hold.
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

/// A window that is long enough.
fn window_of(window: &mut [u8]) -> Result<&mut [u8], Error> {
    let need = usize_to_u64(WINDOW);
    if window.len() < WINDOW { Err(Error::Window { need }) } else { Ok(window) }
}
