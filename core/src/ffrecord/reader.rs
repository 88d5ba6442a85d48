//! An ffrecord file, for people who just want to read.
//!
//! Nothing allocates, and nothing grows with the file: the tables stay in the store and pass
//! through a window of the caller's.

use super::ReadError;
use super::find::Find;
use super::meta_crc::MetaCrc;
use super::open::{Head, Open};
use super::sample::Sample;
use super::samples::Samples;
use crate::integrity::Checksum;
use crate::span::Span;
use crate::step::{DriveError, drive_read, read_exact};
use crate::store::{ReadAt, usize_to_u64};
use core::ops::Range;

/// An ffrecord file in a store.
#[derive(Debug, Clone, Copy)]
pub struct Reader<S> {
    store: S,
    head: Head,
}

impl<S: ReadAt> Reader<S> {
    /// Opens the file in `store`. `window` needs [`Open::WINDOW`] bytes.
    ///
    /// # Errors
    /// [`Error`](super::Error) if it cannot be an ffrecord file; the store's own.
    pub fn open(store: S, window: &mut [u8]) -> Result<Self, ReadError<S>> {
        let file_len = store.size().map_err(DriveError::Store)?;
        let head = drive_read(&mut Open::new(file_len), &store, window)?;
        Ok(Self { store, head })
    }

    /// What opening learned.
    #[must_use]
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// The store.
    #[must_use]
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// The store, given back.
    #[must_use]
    pub fn into_store(self) -> S {
        self.store
    }

    /// Number of samples.
    #[must_use]
    pub const fn n(&self) -> u64 {
        self.head.layout.n()
    }

    /// Sample `number`: its checksum and where its bytes are. `window` needs [`Find::WINDOW`]
    /// bytes.
    ///
    /// # Errors
    /// [`Error`](super::Error) if there is no such sample, or its row cannot be right; the store's
    /// own.
    pub fn sample(&self, number: u64, window: &mut [u8]) -> Result<Sample, ReadError<S>> {
        let mut find = Find::new(&self.head, number).map_err(DriveError::Format)?;
        drive_read(&mut find, &self.store, window)
    }

    /// Samples by their numbers. `window` needs [`Samples::WINDOW`] bytes; a larger one makes fewer
    /// reads.
    pub fn samples<W: AsMut<[u8]>>(&self, numbers: Range<u64>, window: W) -> Samples<'_, S, W> {
        Samples::new(&self.store, &self.head, numbers, window)
    }

    /// Compares the tables with the checksum that the header has of them, if it has one. Any
    /// `window` will do that is not empty.
    ///
    /// # Errors
    /// [`Error::Checksum`](super::Error::Checksum); the store's own.
    pub fn check_meta(&self, window: &mut [u8], checksum: Checksum) -> Result<(), ReadError<S>> {
        if self.head.checksum_meta == 0 {
            return Ok(());
        }
        let computed = drive_read(&mut MetaCrc::new(&self.head, checksum), &self.store, window)?;
        self.head.check_meta(computed).map_err(DriveError::Format)
    }

    /// Compares the bytes of a sample with its checksum. `window` as for
    /// [`check_meta`](Self::check_meta).
    ///
    /// # Errors
    /// [`Error::Checksum`](super::Error::Checksum); the store's own.
    pub fn check(
        &self,
        sample: &Sample,
        window: &mut [u8],
        checksum: Checksum,
    ) -> Result<(), ReadError<S>> {
        let (mut crc, mut left) = (0, sample.span);
        while !left.is_empty() {
            let len = self.read(left, window)?;
            if len == 0 {
                return Err(DriveError::BufferTooSmall { need: 1 });
            }
            crc = checksum(crc, window.get(..len).unwrap_or_default());
            let len = usize_to_u64(len);
            left = left.part(len, left.len().saturating_sub(len)).unwrap_or(Span::ZERO);
        }
        sample.check_crc(crc).map_err(DriveError::Format)
    }

    /// Reads the bytes at the front of `span`, as many as `buf` has room for, and says how many.
    ///
    /// # Errors
    /// The store's own; [`DriveError::Ended`] if the store has become shorter.
    pub fn read(&self, span: Span, buf: &mut [u8]) -> Result<usize, ReadError<S>> {
        let len = usize::try_from(span.len()).unwrap_or(usize::MAX).min(buf.len());
        read_exact(&self.store, span.offset(), buf.get_mut(..len).unwrap_or_default())?;
        Ok(len)
    }

    /// Whether the file is one that a writer of ffrecord made, and no other whose numbers fit by
    /// chance: the format has no magic. Its first sample must start right behind the tables, and
    /// these must have their checksum, or none and all samples in order
    /// (`spec/ffrecord.md#recognizing-a-file`). `window` as for [`samples`](Self::samples).
    ///
    /// # Errors
    /// The store's own.
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
