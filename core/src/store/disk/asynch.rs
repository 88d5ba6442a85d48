//! A writer's asynchronous store.

use super::Disk;
use crate::store::{AsyncReadAt, AsyncWriteAt, usize_to_u64};
use core::sync::atomic::Ordering;

impl<S> Disk<S> {
    /// Notes that an operation begins; returns what [`end`](Self::end) needs. A future that is
    /// dropped does not end, and counts as a failure.
    fn begin(&self) -> bool {
        let was_doubted = self.is_doubted();
        self.is_doubted.store(true, Ordering::Relaxed);
        was_doubted
    }

    /// Notes the result of the operation.
    fn end<T, E>(&self, was_doubted: bool, done: Result<T, E>) -> Result<T, E> {
        self.is_doubted.store(was_doubted, Ordering::Relaxed);
        self.note(done)
    }
}

impl<S: AsyncReadAt> AsyncReadAt for Disk<S> {
    type Error = S::Error;

    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, S::Error> {
        let was_doubted = self.begin();
        let done = self.store.read_at(offset, buf).await;
        let done = self.end(was_doubted, done);
        self.note_read(buf.len(), done)
    }

    async fn size(&self) -> Result<u64, S::Error> {
        let was_doubted = self.begin();
        let done = self.store.size().await;
        self.end(was_doubted, done)
    }
}

impl<S: AsyncWriteAt> AsyncWriteAt for Disk<S> {
    async fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), S::Error> {
        self.forget_within(offset, offset.saturating_add(usize_to_u64(bytes.len())));
        let was_doubted = self.begin();
        let done = self.store.write_all_at(offset, bytes).await;
        self.end(was_doubted, done)
    }

    async fn set_size(&mut self, len: u64) -> Result<(), S::Error> {
        self.forget_within(len, u64::MAX);
        let was_doubted = self.begin();
        let done = self.store.set_size(len).await;
        self.end(was_doubted, done)
    }

    async fn order(&mut self) -> Result<(), S::Error> {
        let was_doubted = self.begin();
        let done = self.store.order().await;
        self.end(was_doubted, done)
    }

    async fn sync(&mut self) -> Result<(), S::Error> {
        let was_doubted = self.begin();
        let done = self.store.sync().await;
        self.end(was_doubted, done)?;
        self.sync_was();
        Ok(())
    }
}
