//! [`Physical`] and [`Unclosed`]: a physical file in a store, and the lengths of its chunks.

use super::locate::{Locate, Task, check_blocksize};
use super::tasks::Tasks;
use crate::sion::disk::head::Head;
use crate::sion::disk::meta1::{Meta1, Prefix};
use crate::sion::disk::meta2::{Meta2, entry};
use crate::sion::error::Error;
#[twin(ReadError = AsyncError)]
use crate::sion::error::ReadError;
use crate::span::Span;
#[twin(drive_read, read_exact)]
use crate::step::{drive_read, read_exact};
#[twin(ReadAt)]
use crate::store::ReadAt;
use striae_twin::twin;

/// Reads a closed physical file in a store.
#[derive(Debug, Clone, Copy)]
pub struct Physical<S> {
    pub(in crate::sion) store: S,
    pub(in crate::sion) head: Head,
    pub(in crate::sion) meta2: Meta2,
}

/// Reads the metadata of a physical file that was never closed.
#[derive(Debug, Clone, Copy)]
pub struct Unclosed<S> {
    pub(super) store: S,
    pub(super) head: Head,
}

/// The metadata of a file, which is in memory.
macro_rules! keep_metadata {
    ($($File:ident),*) => {$(
        impl<S> $File<S> {
            /// The metadata that opening has read.
            #[must_use]
            pub const fn head(&self) -> &Head {
                &self.head
            }

            /// The store.
            #[must_use]
            pub const fn store(&self) -> &S {
                &self.store
            }
        }
    )*};
}

/// What is read of a file by its metadata, whether it was closed or not.
macro_rules! read_metadata {
    ($($File:ident),*) => {$(
        #[twin(ReadAt, ReadError = AsyncError)]
        impl<S: ReadAt> $File<S> {
            /// Finds the task with local rank `local`: its global rank and the places of its
            /// chunks; of a file that was never closed, of all that it may have used. `window`
            /// needs 8 bytes; a larger window makes fewer and larger reads.
            ///
            /// # Errors
            /// [`Error::NoTask`] if there is no such task; [`Error`] if an entry of the task, or
            /// the chunksize of a task before it, is wrong; the store's own error.
            pub async fn task(&self, local: u32, window: &mut [u8]) -> Result<Task, ReadError<S>> {
                locate(self.store(), self.head(), local, window).await
            }

            /// All tasks in order, with the lengths of their streams if the file was closed.
            /// `window` needs [`TASKS_WINDOW`](crate::sion::TASKS_WINDOW) bytes.
            ///
            /// # Errors
            /// [`Error`] if any chunksize is wrong, as the places of all later tasks depend on it;
            /// the store's own error.
            pub async fn tasks<W: AsMut<[u8]>>(
                &self,
                window: W,
            ) -> Result<Tasks<'_, S, W>, ReadError<S>> {
                Tasks::new(self.store(), self.head(), window).await
            }

            /// The name that the set was created under.
            ///
            /// # Errors
            /// The store's own error.
            pub async fn prefix(&self) -> Result<Prefix, ReadError<S>> {
                prefix(self.store(), self.head()).await
            }
        }
    )*};
}

pub(super) use read_metadata;

keep_metadata!(Physical, Unclosed);
read_metadata!(Physical, Unclosed);

#[twin(ReadAt, ReadError = AsyncError)]
impl<S: ReadAt> Physical<S> {
    /// The bytes that `task` used of chunk `chunk`.
    ///
    /// # Errors
    /// [`Error::NoChunk`] if the task has no such chunk; [`Error`] if the entry is negative, or
    /// more than the chunk or the file holds; the store's own error.
    pub async fn chunk_len(&self, task: &Task, chunk: u64) -> Result<u64, ReadError<S>> {
        let place = self.len_place(task, chunk)?;
        let mut bytes = [0; 8];
        read_exact(&self.store, place.offset(), &mut bytes).await?;
        Ok(self.len_in(task, chunk, &bytes)?)
    }
}

impl<S> Physical<S> {
    /// The fixed part of META1.
    #[must_use]
    pub const fn meta1(&self) -> &Meta1 {
        &self.head.meta1
    }

    /// Where META2 is.
    #[must_use]
    pub const fn meta2(&self) -> &Meta2 {
        &self.meta2
    }

    /// Returns the store.
    #[must_use]
    pub fn into_store(self) -> S {
        self.store
    }

    /// The place in META2 of the bytes that `task` used of chunk `chunk`.
    pub(in crate::sion) fn len_place(&self, task: &Task, chunk: u64) -> Result<Span, Error> {
        let blockcount = task.blockcount;
        let place = self.meta2.blocksizes(chunk).and_then(|row| entry(row, task.local));
        place.filter(|_| chunk < blockcount).ok_or(Error::NoChunk { chunk, blockcount })
    }

    /// The bytes that `task` used of chunk `chunk`, from the bytes at
    /// [`len_place`](Self::len_place).
    pub(in crate::sion) fn len_in(
        &self,
        task: &Task,
        chunk: u64,
        bytes: &[u8],
    ) -> Result<u64, Error> {
        let offset = self.len_place(task, chunk)?.offset();
        let value = self.head.integer_in(bytes);
        check_blocksize(value, offset, task.chunks.chunk(chunk), self.head.file_len)
    }
}

#[twin(ReadAt, ReadError = AsyncError)]
pub(super) async fn prefix<S: ReadAt>(store: &S, head: &Head) -> Result<Prefix, ReadError<S>> {
    let mut bytes = [0; Meta1::MAX_LEN];
    let fixed = head.meta1.layout().fixed().front_of(&mut bytes);
    read_exact(store, 0, fixed).await?;
    Ok(Prefix::new(head.meta1.prefix(fixed)))
}

/// Finds a task of a file that is closed or not.
#[twin(ReadAt, ReadError = AsyncError)]
pub(super) async fn locate<S: ReadAt>(
    store: &S,
    head: &Head,
    local: u32,
    window: &mut [u8],
) -> Result<Task, ReadError<S>> {
    let mut locate = Locate::new(head, local)?;
    store.will_read(&locate.ahead()).await;
    drive_read(&mut locate, store, window).await
}
