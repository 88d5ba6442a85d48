//! [`Writer`] writes a GSD file.
//!
//! Nothing allocates: entries that wait for the end of a frame are in memory that the caller lends,
//! a slot of 40 bytes for each chunk. Bytes of chunks go to the store at once.

mod facts;

use super::book::{self, Book, Start};
use super::create::Attributes;
use super::stream::ChunkWriter;
use crate::gsd::disk::checksums;
use crate::gsd::disk::chunk::Chunk;
use crate::gsd::disk::header::Version;
#[cfg(feature = "async")]
use crate::gsd::error::AsyncError;
use crate::gsd::error::Error;
use crate::gsd::kind::ChunkType;
use crate::gsd::read::open::Open;
use crate::integrity::{Checksum, crc32c};
use crate::step::DriveError;
#[twin(drive_read)]
use crate::step::drive_read;
use crate::store::{Disk, usize_to_u64};
#[twin(ReadAt, WriteAt)]
use crate::store::{ReadAt, WriteAt};
use striae_twin::twin;

pub use super::book::Slot;
pub use crate::gsd::error::WriteError;

/// Writes a GSD file: chunks, frames, commits.
///
/// [`commit`](Self::commit) makes all ended frames durable and visible to every reader in one step.
/// Until it succeeds, and also if it is interrupted, the file is as the last commit left it: new
/// bytes are written where no reader looks. If the writer is dropped, everything since the last
/// commit is lost.
///
/// After an error of the store, the failed call had no effect, earlier calls are unaffected, and
/// the call can be repeated. To write a whole unfinished frame again, call
/// [`discard_frame`](Self::discard_frame) first: else the chunks that succeeded are in the frame
/// already. After a failed commit, the ended frames still wait for the next commit and must not be
/// written again. Before it writes again, the writer looks whether the store still has the file:
/// if not, the error is [`Error::Swapped`].
///
/// Only one writer may be open at a time. Readers may read the file while it is written.
///
/// # Dropping a future
///
/// With the feature `async`, each function that works in the store has a form for an asynchronous
/// store, whose name ends in `_async`. Dropping its future before it is ready counts as a failed
/// call: the file is as the last commit left it. If the last step of a commit was dropped, the file
/// may be as this commit leaves it. The writer can go on at once: the same call can be repeated,
/// and the next commit includes all ended frames. A future of `create_async` or `open_async` leaves
/// no writer then and drops the store if it owns it, and after `create_async` there may be no file.
///
/// # Example
///
/// ```
/// use striae_core::gsd::{Attributes, ChunkType, Reader, Slot, Writer};
/// # let mut card = vec![0; 16384];
/// # let card = card.as_mut_slice();
/// let about = Attributes { application: "logger 1.0", schema: "probe", ..Attributes::default() };
/// let mut file = Writer::create(card, &about, [Slot::EMPTY; 8])?;
/// let position = file.name(b"position")?;
/// let points = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let bytes: Vec<u8> = points.iter().flat_map(|x| x.to_le_bytes()).collect();
/// file.write_chunk(position, ChunkType::F32, 3, &bytes)?; // 2 rows of 3
/// file.end_frame()?;
/// file.commit()?; // from here on, whatever happens, the frame can be read
///
/// let mut window = [0; 4096];
/// let file = Reader::open(file.into_store(), &mut window)?;
/// let chunk = file.find(0, position, &mut window)?.expect("it was committed");
/// assert_eq!((chunk.n, chunk.m), (2, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer<S, B> {
    disk: Disk<S>,
    book: Book<B>,
}

#[twin(WriteAt, WriteError = AsyncError)]
impl<S: WriteAt, B: AsMut<[Slot]>> Writer<S, B> {
    /// Creates an empty file in `store` and opens it for writing. The old content of the store is
    /// lost.
    ///
    /// `memory` needs a slot for each chunk of the largest frame, and one more with checksums.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] and [`Error::Layer`] for attributes that no file can have;
    /// [`Error::Memory`] if `memory` is too small; the store's own error.
    pub async fn create(
        store: S,
        attributes: &Attributes<'_>,
        memory: B,
    ) -> Result<Self, WriteError<S>> {
        let mut writer = Self::unopened(store, memory, crc32c);
        writer.start(Start::Create(attributes), &mut [0; Open::WINDOW]).await?;
        Ok(writer)
    }

    /// Opens the file in `store` to append to it. The rest of an interrupted commit is cleared
    /// first; committed frames, and frames that gsd wrote, are kept.
    ///
    /// # Errors
    /// See [`Reader::open`](crate::gsd::Reader::open); [`Error::Memory`] if `memory` is too small.
    pub async fn open(store: S, memory: B) -> Result<Self, WriteError<S>> {
        let mut writer = Self::unopened(store, memory, crc32c);
        writer.start(Start::Open, &mut [0; Open::WINDOW]).await?;
        Ok(writer)
    }

    /// Opens the file or makes it.
    #[inline(never)]
    pub(in crate::gsd) async fn start(
        &mut self,
        start: Start<'_>,
        window: &mut [u8],
    ) -> Result<(), WriteError<S>> {
        let store_len = self.store_len().await?;
        self.book.start(start, store_len, &mut self.disk, window).await?;
        self.book.begin(&mut self.disk).await?;
        if self.book.has_checksums() {
            self.find_name(checksums::NAME).await?; // so that no other chunk takes it
        }
        Ok(())
    }

    async fn store_len(&self) -> Result<u64, WriteError<S>> {
        let store = &self.disk;
        store.size().await.map_err(DriveError::Store)
    }

    pub(in crate::gsd) async fn frames_left(
        &self,
        chunks: u16,
        bytes: u64,
    ) -> Result<u64, WriteError<S>> {
        Ok(self.book.frames_left(chunks, bytes, self.store_len().await?))
    }

    /// The store, after the file was recognised in it, and the book.
    #[inline]
    pub(in crate::gsd) async fn known(
        &mut self,
    ) -> Result<(&mut Disk<S>, &mut Book<B>), WriteError<S>> {
        self.disk.recognise(&self.book).await?;
        Ok((&mut self.disk, &mut self.book))
    }

    /// The id of a name. A new name is added to the file; the next commit includes it.
    ///
    /// This reads the name list: call it once for each name and keep the id.
    ///
    /// # Errors
    /// [`Error::BadName`] if no file can have the name; [`Error::NamesFull`] if the file has 65535
    /// names; [`Error::FileFull`] if a new name list has no place in the file; the store's own
    /// error.
    pub async fn name(&mut self, name: &[u8]) -> Result<u16, WriteError<S>> {
        match self.find_name(name).await? {
            Some(id) => Ok(id),
            None => self.add_name(name).await,
        }
    }

    /// The id of a name, or `None` if the file does not have it.
    ///
    /// # Errors
    /// The store's own error.
    pub async fn find_name(&mut self, name: &[u8]) -> Result<Option<u16>, WriteError<S>> {
        let (disk, book) = self.known().await?;
        let id = drive_read(&mut book.find_name(name), disk, &mut [0; 64]).await?;
        Ok(book.found_name(name, id))
    }

    /// Adds a name that the file does not have, without a check. For callers that have their own
    /// table of names.
    ///
    /// # Errors
    /// See [`name`](Self::name).
    #[inline(never)]
    pub async fn add_name(&mut self, name: &[u8]) -> Result<u16, WriteError<S>> {
        let (disk, book) = self.known().await?;
        let id = book.next_id();
        book.add_name(name, disk).await?;
        Ok(id)
    }

    /// Adds a chunk to the current frame: rows of `m` values in row-major order, little-endian.
    ///
    /// # Errors
    /// [`Error::NoColumns`] if `m` is 0; [`Error::Rows`] if the bytes are not whole rows;
    /// [`Error::NoName`] if no name has this id; [`Error::Duplicate`] if the frame has a chunk of
    /// this name; [`Error::Layer`] for a type that the file layer does not have;
    /// [`Error::FrameFull`] if the memory has no slot for another chunk; [`Error::FileFull`] if the
    /// chunk has no place in the file; the store's own error.
    #[inline]
    pub async fn write_chunk(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<Chunk, WriteError<S>> {
        let len = usize_to_u64(bytes.len());
        let n = book::count_rows(kind, m, len)?;
        let drafted = self.book.draft(id, kind, (n, m), len);
        let Some(chunk) = drafted.filter(|_| !self.disk.is_doubted()) else {
            return self.write_unchecked(id, kind, (n, m), bytes).await;
        };
        self.disk.put(chunk.span.offset(), bytes).await.map_err(DriveError::Store)?;
        self.book.add_drafted(&chunk);
        Ok(chunk)
    }

    #[cfg_attr(not(target_os = "none"), inline(never))]
    #[cfg_attr(target_os = "none", inline)] // all chunks of a device
    async fn write_unchecked(
        &mut self,
        id: u16,
        kind: ChunkType,
        (n, m): (u64, u32),
        bytes: &[u8],
    ) -> Result<Chunk, WriteError<S>> {
        let chunk = self.place(id, kind, n, m).await?;
        self.disk.put(chunk.span.offset(), bytes).await.map_err(DriveError::Store)?;
        self.book.add_bytes(&chunk, bytes);
        self.book.note_checks();
        Ok(chunk)
    }

    /// Begins a chunk with an unknown number of rows. Nothing else can be written until it is
    /// finished. If it is dropped, there is no chunk.
    ///
    /// # Errors
    /// See [`write_chunk`](Self::write_chunk).
    pub async fn begin_chunk(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
    ) -> Result<ChunkWriter<'_, S, B>, WriteError<S>> {
        book::count_rows(kind, m, 0)?;
        let chunk = self.place(id, kind, 1, m).await?;
        Ok(ChunkWriter::new(&mut self.disk, &mut self.book, chunk))
    }

    /// The place of the next chunk.
    #[cfg_attr(target_os = "none", inline(never))] // a device's code is small
    #[cfg_attr(not(target_os = "none"), inline)]
    async fn place(
        &mut self,
        id: u16,
        kind: ChunkType,
        n: u64,
        m: u32,
    ) -> Result<Chunk, WriteError<S>> {
        let (disk, book) = self.known().await?;
        let mut placed = book.next_place(id, kind, n, m);
        if let Err(Error::NotReady | Error::FrameFull { .. }) = placed {
            book.make_ready(disk).await?;
            placed = book.next_place(id, kind, n, m);
        }
        Ok(placed?)
    }

    /// Ends the current frame, also if it has no chunks, and returns its number.
    ///
    /// The next commit includes it. Readers see a frame without chunks only if a frame with chunks
    /// follows.
    ///
    /// # Errors
    /// The store's own error; the frame has not ended then.
    pub async fn end_frame(&mut self) -> Result<u64, WriteError<S>> {
        let frame = self.book.frames();
        if !self.book.has_ended_frame() {
            self.end_by_work().await?;
        }
        Ok(frame)
    }

    // A separate function, so that its memory is not on the stack of whoever calls this.
    #[inline(never)]
    async fn end_by_work(&mut self) -> Result<(), WriteError<S>> {
        let (disk, book) = self.known().await?;
        book.end_frame(disk).await
    }

    /// Discards the chunks of the current frame: the writer is as after the last successful
    /// [`end_frame`](Self::end_frame).
    ///
    /// Ended frames stay, committed or not, and so do names. New chunks overwrite the bytes of the
    /// discarded ones, unless a commit has made their place part of the file. This asks the store
    /// for its length. If that fails, the next call looks whether the store still has the file.
    pub async fn discard_frame(&mut self) {
        self.book.discard_frame();
        // The length is that of this file, or is not taken.
        if self.known().await.is_ok() {
            self.ask_len().await;
        }
    }

    async fn ask_len(&mut self) {
        if let Ok(len) = self.store_len().await {
            self.book.set_store_len(len);
        }
    }

    /// Makes all ended frames durable and visible. This takes two syncs, or one
    /// ([`Attributes::one_sync`]), or none if there is nothing new; the first commit always syncs,
    /// to make an existing file durable.
    ///
    /// The current frame stays open. The commit becomes visible as a whole.
    ///
    /// # Errors
    /// The store's own error: the file is as the last commit left it, or as this one leaves it, and
    /// readers can tell which. The next commit tries again. [`Error::FileFull`] if an index or a
    /// name list has no place in the file.
    #[inline(never)]
    pub async fn commit(&mut self) -> Result<(), WriteError<S>> {
        let (disk, book) = self.known().await?;
        book.commit(disk).await
    }

    /// Commits, and cuts the store after the end of the file, if the store is longer.
    ///
    /// # Errors
    /// See [`commit`](Self::commit); the store's own error; [`Error::OpenFrame`] if the current
    /// frame has chunks: end it, or use [`into_store`](Self::into_store) to drop it.
    pub async fn close(&mut self) -> Result<(), WriteError<S>> {
        self.book.check_no_open_frame()?;
        self.commit().await?;
        let store_len = self.store_len().await?;
        let (disk, book) = self.known().await?;
        book.cut(store_len, disk).await
    }

    /// Upgrades a file of an older layer to layer 2.1; commits first.
    ///
    /// The old index and names stay in place until the new ones are complete, so the file can be
    /// read at any time. If a frame has several chunks with one name, the last one is kept, which
    /// is the one that readers of layer 1 find.
    ///
    /// # Errors
    /// [`Error::OpenFrame`] if the current frame has chunks; [`Error::FrameFull`] if a frame has
    /// more chunks than there is memory for; [`Error::BadName`] if the file has an empty name;
    /// those of [`Chunk::parse`](crate::gsd::Chunk::parse) if a chunk cannot be read;
    /// [`Error::FileFull`] if the new index or names have no place in the file; the store's own
    /// error. The file keeps its layer then, and nothing is lost.
    pub async fn upgrade(&mut self) -> Result<(), WriteError<S>> {
        let (disk, book) = self.known().await?;
        book.upgrade(disk).await
    }

    /// Removes all frames and names, also those that are not committed, and frees their space,
    /// unless the file is shorter than a new one.
    ///
    /// After a crash, the file has all of its old frames and names, or none.
    ///
    /// # Errors
    /// [`Error::FileFull`] if the new index has no place in the file; the store's own error, also
    /// if it cannot be cut: the file is then empty and as long as before.
    pub async fn truncate(&mut self) -> Result<(), WriteError<S>> {
        let (disk, book) = self.known().await?;
        book.truncate(disk).await
    }
}

impl<S: WriteAt, B: AsMut<[Slot]>> Writer<S, B> {
    /// [`create`](Self::create) with another function for CRC-32C, which may be faster.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn create_with(
        store: S,
        attributes: &Attributes<'_>,
        memory: B,
        checksum: Checksum,
    ) -> Result<Self, WriteError<S>> {
        let mut writer = Self::unopened(store, memory, checksum);
        writer.start(Start::Create(attributes), &mut [0; Open::WINDOW])?;
        Ok(writer)
    }

    /// [`open`](Self::open) with another function for CRC-32C, which may be faster, and a window of
    /// at least [`Open::WINDOW`] bytes.
    ///
    /// # Errors
    /// See [`open`](Self::open).
    pub fn open_with(
        store: S,
        memory: B,
        checksum: Checksum,
        window: &mut [u8],
    ) -> Result<Self, WriteError<S>> {
        let mut writer = Self::unopened(store, memory, checksum);
        writer.start(Start::Open, window)?;
        Ok(writer)
    }

    /// Reserves a place for a chunk of the current frame, whose bytes others write to the store:
    /// `n` rows of `m` values. [`add_placed`](Self::add_placed) adds it to the frame.
    ///
    /// A commit may come only when all bytes of the chunks of ended frames are durable.
    ///
    /// # Errors
    /// See [`Book::place`]; the store's own error.
    pub fn place_chunk(
        &mut self,
        id: u16,
        kind: ChunkType,
        n: u64,
        m: u32,
    ) -> Result<Chunk, WriteError<S>> {
        let chunk = self.place(id, kind, n, m)?;
        self.book.give(&chunk);
        self.disk.lend(chunk.span); // for whoever writes the bytes
        Ok(chunk)
    }

    /// Adds a chunk that was [placed](Self::place_chunk) in the current frame. `crc` is the CRC-32C
    /// of its bytes; it is ignored in a file without checksums.
    ///
    /// # Errors
    /// See [`Book::add`].
    pub fn add_placed(&mut self, chunk: Chunk, crc: u32) -> Result<(), Error> {
        self.book.add(chunk, crc)
    }

    /// Removes the chunk of name `id` from the current frame, which may then get another one of
    /// this name; returns whether the frame had it. Its bytes stay in the file unused.
    pub fn discard_chunk(&mut self, id: u16) -> bool {
        self.book.discard_chunk(id)
    }

    /// [`discard_frame`](Self::discard_frame) with a callback: `forget` gets the offset from which
    /// on no byte of the store is needed. A store that keeps bytes that it could not write may drop
    /// them, and may become shorter.
    pub fn discard_frame_with(&mut self, forget: impl FnOnce(&mut S, u64)) {
        self.book.discard_frame();
        let end = self.book.data_end();
        forget(self.disk.lend_from(end), end);
        self.ask_len();
    }
}
