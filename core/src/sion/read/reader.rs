//! [`Physical`] reads one physical file: opening it, its tasks, their streams.
//!
//! Nothing allocates: data that grows with the number of tasks passes through a window in the
//! caller's memory.

pub use super::physical::Unclosed;

use super::lengths::{ChunkLens, Walk};
use super::locate::Task;
use super::open::Open;
use super::physical::{Physical, read_metadata};
#[twin(locate, prefix)]
use super::physical::{locate, prefix};
use super::stream::Stream;
use super::tasks::Tasks;
use crate::sion::disk::head::Head;
use crate::sion::disk::mapping::Mapping;
#[cfg(doc)]
use crate::sion::disk::meta1::Meta1;
use crate::sion::disk::meta1::Prefix;
#[cfg(doc)]
use crate::sion::error::Error;
#[twin(ReadError = AsyncError)]
use crate::sion::error::ReadError;
use crate::span::Span;
use crate::step::DriveError;
#[twin(drive_read, read_exact)]
use crate::step::{drive_read, read_exact};
#[twin(ReadAt)]
use crate::store::ReadAt;
use striae_twin::twin;

/// A physical file that was opened: closed or unclosed.
#[derive(Debug, Clone, Copy)]
pub enum Opened<S> {
    /// The file was closed: all of it can be read.
    Closed(Physical<S>),
    /// The file was never closed: META1 and the places of chunks can be read, but not how much of
    /// each chunk is used.
    Unclosed(Unclosed<S>),
}

impl<S> Opened<S> {
    /// The file in `store`, whose metadata was read before: by another rank of a parallel program,
    /// for example. This reads nothing.
    #[must_use]
    pub const fn new(store: S, head: Head) -> Self {
        match head.meta2 {
            Some(meta2) => Self::Closed(Physical { store, head, meta2 }),
            None => Self::Unclosed(Unclosed { store, head }),
        }
    }

    /// The metadata that opening has read.
    #[must_use]
    pub const fn head(&self) -> &Head {
        match self {
            Self::Closed(file) => file.head(),
            Self::Unclosed(file) => file.head(),
        }
    }

    /// The store.
    #[must_use]
    pub const fn store(&self) -> &S {
        match self {
            Self::Closed(file) => file.store(),
            Self::Unclosed(file) => file.store(),
        }
    }
}

read_metadata!(Opened);

/// The bytes that the window of [`Physical::tasks`] needs; a larger window makes fewer reads.
pub const TASKS_WINDOW: usize = super::tasks::NEED;

#[twin(ReadAt, ReadError = AsyncError)]
impl<S: ReadAt> Physical<S> {
    /// Opens the file in `store`: a slice, such as a map of memory; a `BlockStore` of a card; or
    /// another one of [`store`](crate::store). `window` needs [`Meta1::MAX_LEN`] bytes.
    ///
    /// # Errors
    /// [`Error`] if the file is not a SIONlib file or is damaged; the store's own error.
    pub async fn open(store: S, window: &mut [u8]) -> Result<Opened<S>, ReadError<S>> {
        let file_len = store.size().await.map_err(DriveError::Store)?;
        let head = drive_read(&mut Open::new(file_len), &store, window).await?;
        Ok(Opened::new(store, head))
    }

    /// The mapping of global ranks to physical files; `None` if this is not the first of several
    /// files.
    ///
    /// # Errors
    /// [`Error`] if the mapping is damaged or missing; the store's own error.
    pub async fn mapping(&self) -> Result<Option<Mapping>, ReadError<S>> {
        let Some(at) = Mapping::place(&self.head) else { return Ok(None) };
        let left = Span::between(at, self.head.file_len).unwrap_or(Span::ZERO);
        let mut bytes = [0; Mapping::HEAD_LEN];
        let bytes = left.front_of(&mut bytes);
        read_exact(&self.store, at, bytes).await?;
        Ok(Some(Mapping::parse(bytes, at, &self.head)?))
    }
}

impl<S> Physical<S> {
    /// The stream of `task`. It keeps no chunk lengths in memory: each chunk costs a further read
    /// of 8 bytes.
    #[must_use]
    pub const fn stream(&self, task: Task) -> Stream<&S, Walk<'_, S>> {
        Stream::new(&self.store, task.chunks, self.walk(task))
    }

    /// The lengths of the chunks of `task`, each read when it is needed.
    #[must_use]
    pub const fn walk(&self, task: Task) -> Walk<'_, S> {
        Walk::new(self, task)
    }

    /// The lengths of all chunks of `task`, in order. `window` needs 8 bytes.
    #[must_use]
    pub const fn chunk_lens<W: AsMut<[u8]>>(&self, task: Task, window: W) -> ChunkLens<'_, S, W> {
        ChunkLens::new(self, task, window)
    }
}
