//! Writing to an asynchronous store. [`Book`](crate::gsd::book::Book) decides what is written, and
//! in which order.

use super::{Attributes, Before, Book, Chunk, ChunkType, ChunkWriter, Disk, DriveError};
use super::{Slot, Start, Writer, book, checksums};
use crate::gsd::AsyncError;
use crate::gsd::open::Open;
use crate::integrity::crc32c;
use crate::step::{drive_async, drive_read_async};
use crate::store::{AsyncReadAt, AsyncWriteAt, usize_to_u64};

/// # Dropping a future
/// Dropping a future before it is ready counts as a failed call: the file is as the last commit
/// left it. If the last step of a commit was dropped, the file may be as this commit leaves it. The
/// writer can go on at once: the same call can be repeated, and the next commit includes all ended
/// frames. [`create_async`](Writer::create_async) and [`open_async`](Writer::open_async) return no
/// writer then, drop the store if they own it, and after `create_async` there may be no file.
///
/// The store must keep the rules of [`AsyncWriteAt`].
impl<S: AsyncWriteAt, B: AsMut<[Slot]>> Writer<S, B> {
    /// [`Writer::create`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::create`].
    pub async fn create_async(
        store: S,
        attributes: &Attributes<'_>,
        memory: B,
    ) -> Result<Self, AsyncError<S>> {
        let mut writer = Self::unopened(store, memory, crc32c);
        writer.start_async(Start::Create(attributes)).await?;
        Ok(writer)
    }

    /// [`Writer::open`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::open`].
    pub async fn open_async(store: S, memory: B) -> Result<Self, AsyncError<S>> {
        let mut writer = Self::unopened(store, memory, crc32c);
        writer.start_async(Start::Open).await?;
        Ok(writer)
    }

    /// Opens the file or makes it.
    pub(in crate::gsd) async fn start_async(
        &mut self,
        start: Start<'_>,
    ) -> Result<(), AsyncError<S>> {
        let store_len = self.disk.size().await.map_err(DriveError::Store)?;
        let mut begin = self.book.start(start, store_len);
        let begun = drive_async(&mut begin, &mut self.disk, &mut [0; Open::WINDOW]).await?;
        begun.and_then(|()| self.book.open_memory()).map_err(DriveError::Format)?;
        self.book.begin().run_async(&mut self.disk).await?;
        if self.book.has_checksums() {
            self.find_name_async(checksums::NAME).await?; // so that no other chunk takes it
        }
        Ok(())
    }

    /// [`known`](Writer::known) for an asynchronous store.
    async fn known_async(&mut self) -> Result<(&mut Disk<S>, &mut Book<B>), AsyncError<S>> {
        self.disk.recognise_async(&self.book).await?;
        Ok((&mut self.disk, &mut self.book))
    }

    /// [`Writer::name`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::name`].
    pub async fn name_async(&mut self, name: &[u8]) -> Result<u16, AsyncError<S>> {
        match self.find_name_async(name).await? {
            Some(id) => Ok(id),
            None => self.add_name_async(name).await,
        }
    }

    /// [`Writer::find_name`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::find_name`].
    pub async fn find_name_async(&mut self, name: &[u8]) -> Result<Option<u16>, AsyncError<S>> {
        let (disk, book) = self.known_async().await?;
        let id = drive_read_async(&mut book.find_name(name), disk, &mut [0; 64]).await?;
        Ok(book.found_name(name, id))
    }

    /// [`Writer::add_name`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::add_name`].
    pub async fn add_name_async(&mut self, name: &[u8]) -> Result<u16, AsyncError<S>> {
        let (disk, book) = self.known_async().await?;
        let id = book.next_id();
        book.add_name(name).run_async(disk).await?;
        Ok(id)
    }

    /// [`Writer::write_chunk`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::write_chunk`].
    pub async fn write_chunk_async(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<Chunk, AsyncError<S>> {
        let n = book::count_rows(kind, m, usize_to_u64(bytes.len())).map_err(DriveError::Format)?;
        let chunk = self.place_async(id, kind, n, m).await?;
        self.disk.put_async(chunk.span.offset(), bytes).await.map_err(DriveError::Store)?;
        self.book.add_bytes(chunk, bytes);
        Ok(chunk)
    }

    /// [`Writer::begin_chunk`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::begin_chunk`].
    pub async fn begin_chunk_async(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
    ) -> Result<ChunkWriter<'_, S, B>, AsyncError<S>> {
        book::count_rows(kind, m, 0).map_err(DriveError::Format)?;
        let chunk = self.place_async(id, kind, 1, m).await?;
        Ok(ChunkWriter::new(&mut self.disk, &mut self.book, chunk))
    }

    /// The place of the next chunk.
    async fn place_async(
        &mut self,
        id: u16,
        kind: ChunkType,
        n: u64,
        m: u32,
    ) -> Result<Chunk, AsyncError<S>> {
        let (disk, book) = self.known_async().await?;
        if let Some(placed) = book.place_at_once(id, kind, n, m) {
            return placed.map_err(DriveError::Format);
        }
        book.make_ready().run_async(disk).await?;
        book.next_place(id, kind, n, m).map_err(DriveError::Format)
    }

    /// [`Writer::end_frame`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::end_frame`].
    pub async fn end_frame_async(&mut self) -> Result<u64, AsyncError<S>> {
        let frame = self.book.frames();
        if !self.book.has_ended_frame() {
            let (disk, book) = self.known_async().await?;
            book.end_frame().run_async(disk).await?;
        }
        Ok(frame)
    }

    /// [`Writer::discard_frame`] for an asynchronous store, which is only asked for its size, and
    /// may not know it.
    pub async fn discard_frame_async(&mut self) {
        self.book.discard_frame();
        if let Ok(len) = self.disk.size().await {
            self.book.set_store_len(len);
        }
    }

    /// [`Writer::commit`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::commit`].
    pub async fn commit_async(&mut self) -> Result<(), AsyncError<S>> {
        let (disk, book) = self.known_async().await?;
        book.commit().run_async(disk).await
    }

    /// [`Writer::close`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::close`].
    pub async fn close_async(&mut self) -> Result<(), AsyncError<S>> {
        self.book.check_no_open_frame().map_err(DriveError::Format)?;
        self.commit_async().await?;
        let store_len = self.disk.size().await.map_err(DriveError::Store)?;
        let (disk, book) = self.known_async().await?;
        book.cut(store_len).run_async(disk).await
    }

    /// [`Writer::upgrade`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::upgrade`].
    pub async fn upgrade_async(&mut self) -> Result<(), AsyncError<S>> {
        let (mut before, (disk, book)) = (Before::NONE, self.known_async().await?);
        book.upgrade(&mut before).run_async(disk).await
    }

    /// [`Writer::truncate`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::truncate`].
    pub async fn truncate_async(&mut self) -> Result<(), AsyncError<S>> {
        let (mut before, (disk, book)) = (Before::NONE, self.known_async().await?);
        book.truncate(&mut before).run_async(disk).await
    }
}
