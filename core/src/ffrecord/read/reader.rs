//! [`Reader`] reads an ffrecord file.
//!
//! Nothing allocates, and no memory grows with the file: the tables stay in the store and pass
//! through a window in the caller's memory.

use super::find::Find;
use super::meta_crc::MetaCrc;
use super::open::{Head, Open};
use super::sample::Sample;
use super::samples::Samples;
#[twin(ReadError = AsyncError)]
use crate::ffrecord::error::ReadError;
use crate::integrity::Checksum;
use crate::span::Span;
use crate::step::{DriveError, SumOf};
#[twin(drive_read, read_exact)]
use crate::step::{drive_read, read_exact};
#[twin(ReadAt)]
use crate::store::ReadAt;
use core::ops::Range;
use striae_twin::twin;

/// Reads an ffrecord file in a store.
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

    /// The number of samples.
    #[must_use]
    pub const fn n(&self) -> u64 {
        self.head.layout.n()
    }

    /// Lists the samples with these numbers. `window` needs [`Samples::WINDOW`] bytes; a larger
    /// window makes fewer reads.
    pub fn samples<W: AsMut<[u8]>>(&self, numbers: Range<u64>, window: W) -> Samples<'_, S, W> {
        Samples::new(&self.store, &self.head, numbers, window)
    }
}

#[twin(ReadAt, ReadError = AsyncError)]
impl<S: ReadAt> Reader<S> {
    /// Opens the file in `store`. `window` needs [`Open::WINDOW`] bytes.
    ///
    /// # Errors
    /// [`Error`](crate::ffrecord::Error) if it cannot be an ffrecord file; the store's own error.
    pub async fn open(store: S, window: &mut [u8]) -> Result<Self, ReadError<S>> {
        let file_len = store.size().await.map_err(DriveError::Store)?;
        let head = drive_read(&mut Open::new(file_len), &store, window).await?;
        Ok(Self { store, head })
    }

    /// Sample `number`: its checksum and the place of its bytes. `window` needs [`Find::WINDOW`]
    /// bytes.
    ///
    /// # Errors
    /// [`Error::NoSample`](crate::ffrecord::Error::NoSample) if there is no such sample;
    /// [`Error`](crate::ffrecord::Error) if its entries are wrong; the store's own error.
    pub async fn sample(&self, number: u64, window: &mut [u8]) -> Result<Sample, ReadError<S>> {
        let mut find = Find::new(&self.head, number).map_err(DriveError::Format)?;
        self.store.will_read(&find.ahead()).await;
        drive_read(&mut find, &self.store, window).await
    }

    /// Compares the tables with their checksum in the header, if it has one. `window` must not be
    /// empty.
    ///
    /// # Errors
    /// [`Error::Checksum`](crate::ffrecord::Error::Checksum) if they differ; the store's own error.
    pub async fn check_meta(
        &self,
        window: &mut [u8],
        checksum: Checksum,
    ) -> Result<(), ReadError<S>> {
        if self.head.checksum_meta == 0 {
            return Ok(());
        }
        let mut sum = MetaCrc::new(&self.head, checksum);
        let computed = drive_read(&mut sum, &self.store, window).await?;
        self.head.check_meta(computed).map_err(DriveError::Format)
    }

    /// Compares the bytes of a sample with its checksum. `window` must not be empty.
    ///
    /// # Errors
    /// [`Error::Checksum`](crate::ffrecord::Error::Checksum) if they differ; the store's own error.
    pub async fn check(
        &self,
        sample: &Sample,
        window: &mut [u8],
        checksum: Checksum,
    ) -> Result<(), ReadError<S>> {
        let mut sum = SumOf::new(sample.span, 0, checksum);
        let crc = drive_read(&mut sum, &self.store, window).await;
        sample.check_crc(crc.map_err(DriveError::infallible)?).map_err(DriveError::Format)
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

impl<S: ReadAt> Reader<S> {
    /// Whether the file was written by ffrecord and is not another file whose numbers fit by
    /// chance: the format has no magic. The first sample must start right after the tables. The
    /// tables must match their checksum; without a checksum, all samples must be in order
    /// (`spec/ffrecord.md#recognizing-a-file`). `window` needs [`Samples::WINDOW`] bytes.
    ///
    /// # Errors
    /// The store's own error.
    pub fn is_consistent(
        &self,
        window: &mut [u8],
        checksum: Checksum,
    ) -> Result<bool, ReadError<S>> {
        let Head { file_len, layout, checksum_meta } = self.head;
        let starts = match layout.n() {
            // Without a sample there is nothing but the checksum, which such a file must have.
            0 => file_len == layout.header_len() && checksum_meta != 0,
            _ => match self.sample(0, window) {
                Ok(first) => first.span.offset() == layout.header_len(),
                Err(DriveError::Format(_)) => false,
                Err(error) => return Err(error),
            },
        };
        if !starts {
            return Ok(false);
        }
        let checked = match checksum_meta {
            0 => self.samples(0..layout.n(), window).try_for_each(|sample| sample.map(drop)),
            _ => self.check_meta(window, checksum),
        };
        match checked {
            Ok(()) => Ok(true),
            Err(DriveError::Format(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
