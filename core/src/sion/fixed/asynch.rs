//! Writing to an asynchronous store.

use super::make::Make;
use super::rows::{PIECE, Rows};
use super::{Fault, FixedWriter, Shape};
use crate::sion::publish::Publish;
use crate::step::{DriveError, drive_async};
use crate::store::{AsyncReadAt, AsyncWriteAt};
use zerocopy::IntoBytes;

/// Why writing to an asynchronous store `S` failed.
pub type AsyncFixedError<S> = DriveError<<S as AsyncReadAt>::Error, Fault>;

/// Writing for asynchronous firmware. Dropping a future counts as an error of the store.
impl<S: AsyncWriteAt, const N: usize> FixedWriter<S, N> {
    /// [`FixedWriter::create`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`FixedWriter::create`].
    pub async fn create_async(mut store: S, shape: &Shape<N>) -> Result<Self, AsyncFixedError<S>> {
        let mut make = Make::new(shape.start.as_bytes());
        drive_async(&mut make, &mut store, &mut []).await.map_err(DriveError::infallible)?;
        Ok(Self::new(store, shape))
    }

    /// [`FixedWriter::write`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`FixedWriter::write`].
    pub async fn write_async(
        &mut self,
        local: u32,
        bytes: &[u8],
    ) -> Result<(), AsyncFixedError<S>> {
        let mut put = self.streams.put(local, bytes)?;
        while let Some(block) = put.block()? {
            if self.streams.must_enter(block) {
                let file_len = self.store.size().await.map_err(DriveError::Store)?;
                run(self.streams.enter(block, file_len), &mut self.store).await?;
            }
            let (offset, bytes) = put.part()?;
            self.store.write_all_at(offset, bytes).await.map_err(DriveError::Store)?;
        }
        self.streams.end(&put);
        Ok(())
    }

    /// [`FixedWriter::commit`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`FixedWriter::commit`].
    pub async fn commit_async(&mut self) -> Result<(), AsyncFixedError<S>> {
        let file_len = self.store.size().await.map_err(DriveError::Store)?;
        run(self.streams.commit(file_len), &mut self.store).await
    }

    /// [`FixedWriter::close`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`FixedWriter::close`].
    pub async fn close_async(&mut self) -> Result<(), AsyncFixedError<S>> {
        let file_len = self.store.size().await.map_err(DriveError::Store)?;
        let closed = run(self.streams.close(file_len), &mut self.store).await;
        self.streams.closed(closed)
    }
}

/// Runs `publish` on `store`.
async fn run<S: AsyncWriteAt>(
    mut publish: Publish<'_, Rows<'_>>,
    store: &mut S,
) -> Result<(), AsyncFixedError<S>> {
    let done = drive_async(&mut publish, store, &mut [0; PIECE]).await;
    done.map_err(DriveError::infallible)?.map_err(|error| Fault::of(error).into())
}
