//! Logging to an asynchronous store.

use super::Logger;
use crate::gsd::AsyncError;
use crate::gsd::book::Start;
use crate::gsd::create::Attributes;
use crate::gsd::element::Element;
use crate::gsd::kind::ChunkType;
use crate::gsd::stream::ChunkWriter;
use crate::gsd::writer::Slot;
use crate::store::AsyncWriteAt;
use zerocopy::IntoBytes;

/// Logging for asynchronous firmware. Dropping a future counts as a failed call (see "Dropping a
/// future" in [`Writer`](crate::gsd::Writer)).
///
/// A task for an executor such as Embassy's:
///
/// ```
/// use striae_core::gsd::{AsyncError, Attributes, Logger};
/// use striae_core::store::AsyncWriteAt;
///
/// async fn log_temperature<S: AsyncWriteAt>(
///     card: S,
///     mut sensor: impl AsyncFnMut() -> f32,
/// ) -> Result<(), AsyncError<S>> {
///     let (application, schema) = ("probe 1.0", "probe");
///     let about = Attributes { application, schema, ..Attributes::default() };
///     let mut log = Logger::<_, 4>::open_or_create_async(card, &about).await?;
///     let temperature = log.name_async("temperature").await?;
///     for _ in 0..10 {
///         let value = sensor().await;
///         log.write_async(temperature, &[[value]]).await?;
///         log.end_frame_async().await?; // it is safe
///     }
///     Ok(())
/// }
/// ```
impl<S: AsyncWriteAt, const N: usize> Logger<S, N> {
    /// [`Logger::create`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Logger::create`].
    pub async fn create_async(
        store: S,
        attributes: &Attributes<'_>,
    ) -> Result<Self, AsyncError<S>> {
        Self::start_async(store, Start::Create(attributes)).await
    }

    /// [`Logger::open`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Logger::open`].
    pub async fn open_async(store: S) -> Result<Self, AsyncError<S>> {
        Self::start_async(store, Start::Open).await
    }

    /// [`Logger::open_or_create`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Logger::open_or_create`].
    pub async fn open_or_create_async(
        store: S,
        attributes: &Attributes<'_>,
    ) -> Result<Self, AsyncError<S>> {
        Self::start_async(store, Start::Log(attributes)).await
    }

    async fn start_async(store: S, start: Start<'_>) -> Result<Self, AsyncError<S>> {
        let mut logger = Self::unopened(store);
        logger.writer.start_async(start).await?;
        Ok(logger)
    }

    /// [`Logger::name`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Logger::name`].
    pub async fn name_async(&mut self, name: &str) -> Result<u16, AsyncError<S>> {
        self.writer.name_async(name.as_bytes()).await
    }

    /// [`Logger::chunk`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Logger::chunk`].
    pub async fn chunk_async(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<(), AsyncError<S>> {
        self.writer.write_chunk_async(id, kind, m, bytes).await.map(drop)
    }

    /// [`Logger::write`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Logger::write`].
    pub async fn write_async<T: Element, const M: usize>(
        &mut self,
        id: u16,
        rows: &[[T; M]],
    ) -> Result<(), AsyncError<S>> {
        let m = u32::try_from(M).unwrap_or(u32::MAX);
        if cfg!(target_endian = "little") {
            return self.chunk_async(id, T::KIND, m, rows.as_bytes()).await;
        }
        let mut chunk = self.begin_chunk_async(id, T::KIND, m).await?;
        for value in rows.iter().flatten() {
            chunk.write_async(value.swap_to_file().as_bytes()).await?;
        }
        chunk.finish_async().await.map(drop)
    }

    /// [`Logger::begin_chunk`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Logger::begin_chunk`].
    pub async fn begin_chunk_async(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
    ) -> Result<ChunkWriter<'_, S, [Slot; N]>, AsyncError<S>> {
        self.writer.begin_chunk_async(id, kind, m).await
    }

    /// [`Logger::end_frame`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Logger::end_frame`].
    pub async fn end_frame_async(&mut self) -> Result<u64, AsyncError<S>> {
        if !self.has_ended() {
            self.writer.end_frame_async().await?;
            self.is_unfinished = true;
        }
        self.commit_async().await?;
        Ok(self.writer.frames().saturating_sub(1))
    }

    /// [`Logger::commit`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Logger::commit`].
    pub async fn commit_async(&mut self) -> Result<(), AsyncError<S>> {
        self.writer.commit_async().await?;
        self.is_unfinished = false;
        Ok(())
    }

    /// [`Logger::discard_frame`] for an asynchronous store.
    pub async fn discard_frame_async(&mut self) {
        self.writer.discard_frame_async().await;
    }
}
