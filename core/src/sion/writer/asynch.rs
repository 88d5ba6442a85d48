//! [`Writer`] for asynchronous stores. What is written, and in which order, is decided in the other
//! modules.

use super::begin::{NewFile, OldFile, closed, resume};
use super::put::{Next, Put};
use super::{Memory, Options, Writer};
use crate::sion::AsyncError;
use crate::sion::create::TaskTable;
use crate::sion::error::Error;
use crate::sion::meta1::Attributes;
use crate::sion::reader::Physical;
use crate::sion::seal::SealState;
use crate::step::{DriveError, drive_async};
use crate::store::{AsyncReadAt, AsyncWriteAt, Disk, usize_to_u64};
use zerocopy::IntoBytes;

/// Writing to an asynchronous store.
///
/// # Dropping a future
/// Dropping a future before it is ready, as `select` and timeouts do, is a failed call. None of its
/// bytes are in a stream, and the file is as the last commit left it. If the last step of a commit
/// was dropped, the file may be as this commit leaves it. Nothing else is lost: the writer can go
/// on at once with any call, and the next commit covers all written bytes. Only
/// [`create_async`](Writer::create_async) and [`reopen_async`](Writer::reopen_async) return no
/// writer then, and after `create_async` there may be no file. To keep the store, pass it by
/// reference.
///
/// The store must keep the rules of [`AsyncWriteAt`].
impl<'m, S: AsyncWriteAt> Writer<'m, S> {
    /// [`Writer::create`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::create`].
    pub async fn create_async(
        mut store: S,
        attributes: &Attributes,
        prefix: &[u8],
        tasks: &(impl TaskTable + ?Sized),
        memory: Memory<'m>,
        options: Options<'m>,
    ) -> Result<Self, AsyncError<S>> {
        let mut new =
            NewFile::new(attributes, tasks, memory, options).map_err(DriveError::Format)?;
        let (mut create, book, buf) = new.create(prefix, tasks).map_err(DriveError::Format)?;
        let created = drive_async(&mut create, &mut store, buf).await;
        let book = book.with_meta1_crc(created.map_err(DriveError::infallible)?);
        Ok(Self { disk: Disk::new(store), desk: new.desk(tasks, book) })
    }

    /// [`Writer::reopen`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::reopen`].
    pub async fn reopen_async(
        mut store: S,
        memory: Memory<'m>,
        options: Options<'m>,
    ) -> Result<Self, AsyncError<S>> {
        let mut old = OldFile::new(memory, options).map_err(DriveError::Format)?;
        store.sync().await.map_err(DriveError::Store)?; // see `reopen`
        let file = Physical::open_async(store, old.window).await?;
        let file = closed(file).map_err(DriveError::Format)?;
        old.set_tasks(file.meta1()).map_err(DriveError::Format)?;
        let mapping = file.mapping_async().await?;
        if let SealState::Sealed(seal) = file.seal_async().await? {
            let checksum = old.options.checksum;
            let checked = seal.check_metadata_async(file.store(), checksum, old.window);
            old.seal = Some((seal, checked.await?));
        }
        let published = old.published(file.head(), mapping).map_err(DriveError::Format)?;
        let OldFile { kept, window, seal, .. } = &mut old;
        let mut tasks = file.tasks_async(&mut **window).await?;
        while let Some(task) = tasks.next_async().await {
            let task = task?.task;
            let last = task.blockcount.saturating_sub(1);
            let used = file.chunk_len_async(&task, last).await?;
            let crc = match seal {
                Some((seal, _)) => Some(file.sealed_crc_async(seal, task.local, last).await?),
                None => None,
            };
            resume(kept, &task, used, crc).map_err(DriveError::Format)?;
        }
        let desk = old.desk(file.meta1(), published);
        Ok(Self { disk: Disk::new(file.into_store()), desk })
    }

    /// [`Writer::write`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::write`].
    pub async fn write_async(&mut self, local: u32, bytes: &[u8]) -> Result<(), AsyncError<S>> {
        run(self.desk.put(local, bytes), &mut self.disk).await.map(drop)
    }

    /// [`Writer::write_some`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::write`].
    pub async fn write_some_async(
        &mut self,
        local: u32,
        bytes: &[u8],
    ) -> Result<usize, AsyncError<S>> {
        run(self.desk.put(local, bytes).map(Put::some), &mut self.disk).await
    }

    /// [`Writer::write_record`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::write_record`].
    pub async fn write_record_async(
        &mut self,
        local: u32,
        record: &[u8],
    ) -> Result<(), AsyncError<S>> {
        let put = self.desk.put(local, record);
        let put = put.map(|put| put.fitting(usize_to_u64(record.len())));
        run(put, &mut self.disk).await.map(drop)
    }

    /// [`Writer::ensure_free_space`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::write_record`].
    pub async fn ensure_free_space_async(
        &mut self,
        local: u32,
        len: u64,
    ) -> Result<(), AsyncError<S>> {
        let put = self.desk.put(local, &[]).map(|put| put.fitting(len));
        run(put, &mut self.disk).await.map(drop)
    }

    /// [`Writer::write_key`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::write_key`].
    pub async fn write_key_async(
        &mut self,
        local: u32,
        key: u64,
        value: &[u8],
    ) -> Result<(), AsyncError<S>> {
        let header = self.desk.header(key, value).map_err(DriveError::Format)?;
        let put = Put::new(&mut self.desk, local, [header.as_bytes(), value]);
        run(put, &mut self.disk).await.map(drop)
    }

    /// [`Writer::commit`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::commit`].
    pub async fn commit_async(&mut self) -> Result<(), AsyncError<S>> {
        self.disk.recognise_async(&self.desk.book).await?;
        let file_len = self.disk.size().await.map_err(DriveError::Store)?;
        let (commit, buf) = self.desk.commit(file_len).map_err(DriveError::Format)?;
        commit.run_async(&mut self.disk, buf).await?;
        self.desk.committed();
        Ok(())
    }

    /// [`Writer::close`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::close`].
    pub async fn close_async(&mut self) -> Result<(), AsyncError<S>> {
        self.disk.recognise_async(&self.desk.book).await?;
        let file_len = self.disk.size().await.map_err(DriveError::Store)?;
        let (close, buf) = self.desk.close(file_len).map_err(DriveError::Format)?;
        let closed = close.run_async(&mut self.disk, buf).await;
        self.desk.closed(closed)
    }
}

/// Runs `put` on `disk`. After an error, or if the future is dropped, the stream is as before the
/// call.
async fn run<S: AsyncWriteAt>(
    put: Result<Put<'_, '_, '_>, Error>,
    disk: &mut Disk<S>,
) -> Result<usize, AsyncError<S>> {
    let mut put = put.map_err(DriveError::Format)?;
    disk.recognise_async(put.book()).await?;
    loop {
        match put.poll().map_err(DriveError::Format)? {
            Next::Enter(block) => {
                let file_len = disk.size().await.map_err(DriveError::Store)?;
                let (enter, buf) = put.enter(block, file_len).map_err(DriveError::Format)?;
                enter.run_async(disk, buf).await?;
            }
            Next::Write { offset, bytes } => {
                disk.put_async(offset, bytes).await.map_err(DriveError::Store)?;
            }
            Next::Done(len) => return Ok(len),
        }
    }
}
