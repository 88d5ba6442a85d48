//! [`Reader`] reads a GSD file.
//!
//! Nothing allocates, and no memory grows with the file: index and names stay in the store and pass
//! through a window in the caller's memory.

use super::entries::Chunks;
use super::find::{Find, LowerBound};
use super::names::Names;
use super::open::Open;
use crate::gsd::disk::chunk::{Chunk, Key};
use crate::gsd::disk::names::FindName;
use crate::gsd::error::Error;
#[twin(ReadError = AsyncError)]
use crate::gsd::error::ReadError;
use crate::gsd::verdict::Head;
use crate::span::{Span, Stride};
use crate::step::{DriveError, ReadMachine, ReadStep};
#[twin(drive_read, read_and_feed, read_exact)]
use crate::step::{drive_read, read_and_feed, read_exact};
#[twin(ReadAt)]
use crate::store::ReadAt;
use crate::store::usize_to_u64;
use core::ops::Range;
use striae_twin::twin;

/// Reads a GSD file in a store.
#[derive(Debug, Clone, Copy)]
pub struct Reader<S> {
    store: S,
    head: Head,
}

impl<S> Reader<S> {
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

    /// Returns the store.
    #[must_use]
    pub fn into_store(self) -> S {
        self.store
    }

    /// The number of frames, including frames without chunks.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.head.frames
    }

    /// The names in the order of their ids. `window` needs room for the longest name and its NUL;
    /// in layer 1, 64 bytes.
    pub fn names<W: AsMut<[u8]>>(&self, window: W) -> Names<'_, S, W> {
        Names::new(&self.store, &self.head, window)
    }

    /// All chunks. `window` needs 32 bytes; a larger window makes fewer reads.
    pub fn chunks<W: AsMut<[u8]>>(&self, window: W) -> Chunks<'_, S, W> {
        Chunks::new(&self.store, &self.head, 0, u64::MAX, window)
    }

    /// Checks that `frame` exists.
    ///
    /// # Errors
    /// [`Error::NoFrame`] if there is no such frame.
    pub const fn check_frame(&self, frame: u64) -> Result<(), Error> {
        let frames = self.head.frames;
        if frame < frames { Ok(()) } else { Err(Error::NoFrame { frame, frames }) }
    }
}

#[twin(ReadAt, ReadError = AsyncError)]
impl<S: ReadAt> Reader<S> {
    /// Opens the file in `store`. `window` needs [`Open::WINDOW`] bytes.
    ///
    /// # Errors
    /// [`Error`] if the file is not a GSD file or is damaged; the store's own error.
    pub async fn open(store: S, window: &mut [u8]) -> Result<Self, ReadError<S>> {
        let head = head_of(&store, window).await?;
        Ok(Self { store, head })
    }

    /// Opens the file again: a writer may have committed more. Returns whether the file has
    /// changed. `window` needs the same length as for [`open`](Self::open).
    ///
    /// # Errors
    /// See [`open`](Self::open). After an error, the reader is unchanged.
    pub async fn refresh(&mut self, window: &mut [u8]) -> Result<bool, ReadError<S>> {
        let before = self.head;
        self.head = head_of(&self.store, window).await?;
        Ok(self.head != before)
    }

    /// The id of a name; `None` if the file does not have the name. `window` must not be empty.
    ///
    /// # Errors
    /// The store's own error.
    pub async fn name_id(
        &self,
        name: &[u8],
        window: &mut [u8],
    ) -> Result<Option<u16>, ReadError<S>> {
        let mut find = FindName::new(name, self.head.name_list(), self.head.header.version);
        self.store.will_read(&[Stride::one(self.head.name_list())]).await;
        let found = drive_read(&mut find, &self.store, window).await?;
        Ok(found.filter(|&id| u32::from(id) < self.head.names)) // a list may be damaged
    }

    /// The chunk of name `id` in `frame`: its type, rows, columns and place. `window` needs 32
    /// bytes; with 4096 bytes, an evenly filled index takes one or two reads, whatever its length.
    ///
    /// In an index that is out of order, which is damage, the chunk may not be found:
    /// [`Find::ordered`] makes that an error.
    ///
    /// # Errors
    /// [`Error`] if the entry is wrong; the store's own error.
    pub async fn find(
        &self,
        frame: u64,
        id: u16,
        window: &mut [u8],
    ) -> Result<Option<Chunk>, ReadError<S>> {
        let entries = usize_to_u64(window.len() / 32);
        drive_read(&mut Find::new(&self.head, frame, id, entries), &self.store, window).await
    }

    /// The chunks of a range of frames. `window` needs 32 bytes; a larger window makes fewer reads.
    ///
    /// In an index that is out of order, which is damage, the list may lack some:
    /// [`Chunks::ordered`] makes that an error.
    ///
    /// # Errors
    /// The store's own error.
    pub async fn chunks_of<W: AsMut<[u8]>>(
        &self,
        frames: Range<u64>,
        mut window: W,
    ) -> Result<Chunks<'_, S, W>, ReadError<S>> {
        let buf = window.as_mut();
        let mut first = self.head.index().slots;
        if !frames.is_empty() {
            let key = Key { frame: frames.start, id: 0 };
            let mut search = LowerBound::new(&self.head, key, usize_to_u64(buf.len() / 32));
            first = drive_read(&mut search, &self.store, buf).await?;
        }
        let last_frame = frames.end.saturating_sub(1);
        Ok(Chunks::new(&self.store, &self.head, first, last_frame, window))
    }

    /// Reads the first bytes of `span`, as many as fit into `buf`, and returns how many.
    ///
    /// # Errors
    /// The store's own error; [`DriveError::Ended`] if the store has become shorter.
    pub async fn read(&self, span: Span, buf: &mut [u8]) -> Result<usize, ReadError<S>> {
        let bytes = span.front_of(buf);
        read_exact(&self.store, span.offset(), bytes).await?;
        Ok(bytes.len())
    }
}

/// The head of the file in `store`.
#[twin(ReadAt, ReadError = AsyncError)]
async fn head_of<S: ReadAt>(store: &S, window: &mut [u8]) -> Result<Head, ReadError<S>> {
    let mut open = Open::new(store.size().await.map_err(DriveError::Store)?);
    loop {
        let read = match open.poll() {
            ReadStep::Read { offset, need, want } => (offset, need, want),
            ReadStep::Done(head) => return Ok(head),
        };
        store.will_read(&open.ahead()).await;
        read_and_feed(&mut open, store, window, read).await?;
    }
}
