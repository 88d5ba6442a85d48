//! What loggers of this kind have in common.

/// The functions of a logger, which is a thin type over a [`Desk`](super::desk::Desk).
macro_rules! logger {
    ($Logger:ident) => {
        impl<S, const N: usize> $Logger<'_, S, N> {
            /// The number of ended frames.
            pub const fn frames(&self) -> u64 {
                self.0.log.frames
            }

            /// The number of frames of `chunks` chunks for which the index has room. When it is 0,
            /// the index of an [`OwnLogger`](crate::gsd::OwnLogger) moves, and a
            /// [`FixedLogger`](crate::gsd::FixedLogger) returns [`Fault::Full`] at the end of the
            /// frame: begin another file.
            #[must_use]
            pub fn frames_left(&self, chunks: u16) -> u64 {
                self.0.log.frames_left(chunks.into())
            }

            /// Discards the chunks of the current frame. Ended frames and names stay.
            pub fn discard_frame(&mut self) {
                self.0.log.discard();
            }

            /// The store.
            pub const fn store(&self) -> &S {
                self.0.disk.store.store()
            }

            /// Returns the store. Chunks of a frame that has not ended, and new names, are lost.
            pub fn into_store(self) -> S {
                self.0.disk.store.into_store()
            }
        }

        /// Logging. Dropping a future of an asynchronous form counts as a failed call: call it
        /// again, or [`discard_frame`](Self::discard_frame).
        #[twin(WriteAt, FixedError)]
        impl<S: WriteAt, const N: usize> $Logger<'_, S, N> {
            /// Adds a chunk to the current frame: rows of `m` values in row-major order,
            /// little-endian.
            ///
            /// # Errors
            /// [`Fault::NoName`], [`Fault::Duplicate`]; [`Fault::Rows`] if the bytes are not whole
            /// rows, or if `m` is 0; [`Fault::FrameFull`] if the frame has `N` chunks;
            /// [`Fault::Full`]; the store's own error. There is no chunk then.
            pub async fn chunk(
                &mut self,
                id: u16,
                kind: ChunkType,
                m: u32,
                bytes: &[u8],
            ) -> Result<(), FixedError<S>> {
                self.0.chunk(id, kind, m, bytes).await
            }

            /// Adds rows of numbers to the current frame as a chunk; their type and length say what
            /// it is.
            ///
            /// # Errors
            /// See [`chunk`](Self::chunk).
            pub async fn write<T: Element, const M: usize>(
                &mut self,
                id: u16,
                rows: &[[T; M]],
            ) -> Result<(), FixedError<S>> {
                self.0.write(id, rows).await
            }

            /// Ends the current frame and commits it; returns its number.
            ///
            /// After an error it may be called again. If [`frames`](Self::frames) has grown, the
            /// frame has ended, and the next call only completes its commit.
            ///
            /// # Errors
            /// [`Fault::NoChunks`] if the frame has no chunk; [`Fault::Full`] if the index has no
            /// room, or a larger one no place: then it has not ended. The store's own error.
            pub async fn end_frame(&mut self) -> Result<u64, FixedError<S>> {
                self.0.end_frame().await
            }
        }
    };
}

pub(super) use logger;
