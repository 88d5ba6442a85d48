//! An ffrecord file, read by many threads at once.

use super::crc32;
use crate::address::{Pattern, Selection};
use crate::direct::{DirectFile, OpenOptions};
use crate::error::{Error, ErrorKind};
use crate::formats::Format;
use crate::posix::PosixFile;
use crate::store::bulk::Bulk;
use crate::verb::Output;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use striae_core::ffrecord::{self as core_ffrecord, Head, ReadError, Reader, Sample};
use striae_core::span::Span;
use striae_core::step::DriveError;

/// Bytes of the tables that [`Samples`] reads at once.
const LIST: usize = 1 << 16;

/// Bytes of the tables or of a sample that a check reads at once.
const PIECE: usize = 1 << 20;

/// An ffrecord file, open for reading.
///
/// The tables stay on the disk. To find one sample takes two small reads; to list the samples takes
/// one read of 64 KiB for each 5000 samples. To read samples in random order, list them once and
/// keep the result of [`samples`](Self::samples).
#[derive(Debug)]
pub struct File {
    path: PathBuf,
    reader: Reader<Bulk>,
}

impl File {
    /// Opens the file at `path`. This checks only that the tables fit into the file;
    /// [`check_meta`](Self::check_meta) compares them with their checksum.
    ///
    /// # Errors
    /// [`core_ffrecord::Error`] if it cannot be an ffrecord file; an error of the operating system.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_direct(path, None)
    }

    /// Opens the file at `path`. With `Some` options, samples are read past the page cache where
    /// possible; tables are always read through the cache.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_direct(path: impl AsRef<Path>, direct: Option<OpenOptions>) -> Result<Self, Error> {
        let path = path.as_ref();
        let store = Bulk::open(path, direct)?;
        store.direct()?; // what cannot be is said at once
        let reader = Reader::open(store, &mut [0; Head::LEN]);
        let reader = reader.map_err(|error| Error::new(path, error))?;
        Ok(Self { path: path.into(), reader })
    }

    /// The path that the file was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The parsed header and the size of the tables.
    #[must_use]
    pub const fn head(&self) -> &Head {
        self.reader.head()
    }

    /// Number of samples.
    #[must_use]
    pub const fn n(&self) -> u64 {
        self.reader.n()
    }

    /// The checksum and the place of sample `number`.
    ///
    /// # Errors
    /// [`core_ffrecord::Error::NoSample`] if there is no such sample;
    /// [`Sample`](super::ErrorKind::Sample) if its offset or the offset of the next sample is
    /// damaged; an error of the operating system.
    pub fn sample(&self, number: u64) -> Result<Sample, Error> {
        self.reader.sample(number, &mut [0; 16]).map_err(|error| self.error_of(number, error))
    }

    /// What these stand for in this file.
    ///
    /// # Errors
    /// [`crate::address::Error`].
    pub fn selection(&self, patterns: &[Pattern]) -> Result<Selection, Error> {
        let selection = Selection::new(patterns, Format::Ffrecord, self.n());
        selection.map_err(|error| self.error(error))
    }

    /// All samples in order; their table entries are read as the iterator advances.
    #[must_use]
    pub fn samples(&self) -> Samples<'_> {
        self.samples_of(0..self.n())
    }

    /// The samples with these numbers; numbers that the file does not have are left out.
    #[must_use]
    pub fn samples_of(&self, numbers: Range<u64>) -> Samples<'_> {
        let count = numbers.end.min(self.n()).saturating_sub(numbers.start);
        let rows = count.saturating_add(1).saturating_mul(12);
        let window = vec![0; usize::try_from(rows).unwrap_or(LIST).clamp(24, LIST)];
        Samples { file: self, samples: self.reader.samples(numbers, window) }
    }

    /// The samples whose numbers `has` selects. Damage of the others is left out, and not that the
    /// tables cannot be read, which ends the list.
    pub fn samples_where(
        &self,
        has: impl Fn(u64) -> bool,
    ) -> impl Iterator<Item = Result<Sample, Error>> {
        let mut samples = self.samples();
        core::iter::from_fn(move || {
            loop {
                let (number, sample) = (samples.number(), samples.next()?);
                let is_of_it = |error: &Error| {
                    matches!(error.kind(), ErrorKind::Ffrecord(super::ErrorKind::Sample { .. }))
                };
                if has(number) || sample.as_ref().is_err_and(|error| !is_of_it(error)) {
                    return Some(sample);
                }
            }
        })
    }

    /// Opens the file again, by its descriptor, to read it directly.
    ///
    /// # Errors
    /// The errors of [`OpenOptions::open`].
    pub fn direct(&self, options: OpenOptions) -> Result<DirectFile, Error> {
        options.open_again(self.store())
    }

    /// Refuses to copy this number of bytes out of the file, if most of them are holes, or are
    /// shared by samples, and `output` does not allow so many.
    ///
    /// # Errors
    /// [`TooLarge`](crate::error::ErrorKind::TooLarge); an error of the operating system.
    pub fn admit(&self, output: &Output, size: u64) -> Result<(), Error> {
        let because = format_args!("its table of offsets makes samples of {size} bytes");
        output.admit_copy(self.path(), self.store(), size, because)
    }

    /// The bytes of sample `number`; its checksum is not compared.
    ///
    /// # Errors
    /// The errors of [`sample`](Self::sample); [`io::ErrorKind::OutOfMemory`].
    pub fn read(&self, number: u64) -> Result<Vec<u8>, Error> {
        self.bytes(&self.sample(number)?)
    }

    /// The bytes of sample `number`, after a comparison with its checksum.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read); [`Sample`](super::ErrorKind::Sample) with
    /// [`core_ffrecord::Error::Checksum`] if the checksum differs.
    pub fn read_checked(&self, number: u64) -> Result<Vec<u8>, Error> {
        let sample = self.sample(number)?;
        let bytes = self.bytes(&sample)?;
        sample.check(&bytes, crc32).map_err(|error| self.in_sample(number, error))?;
        Ok(bytes)
    }

    /// Reads the first bytes of a span of the file, as many as `buf` has room for; returns their
    /// number.
    ///
    /// # Errors
    /// [`ErrorKind::Ended`] if the file has become shorter; an error of the operating system.
    pub fn read_span(&self, span: Span, buf: &mut [u8]) -> Result<usize, Error> {
        let len = usize::try_from(span.len()).unwrap_or(usize::MAX).min(buf.len());
        let read = self.bulk().read_into(span.offset(), buf.get_mut(..len).unwrap_or_default());
        read.map(|()| len).map_err(|error: ReadError<Bulk>| self.error(error))
    }

    /// Passes all bytes of a span of the file to `each`, piece by piece, until `each` returns
    /// `false`. Pieces have any length. With [direct](Self::open_direct) reading, the next bytes
    /// are read ahead.
    ///
    /// # Errors
    /// The errors of [`read_span`](Self::read_span).
    pub fn read_pieces(
        &self,
        span: Span,
        each: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), Error> {
        let read = self.bulk().read_pieces([span], &mut Vec::new(), each);
        read.map_err(|error: ReadError<Bulk>| self.error(error))
    }

    /// Compares the tables with their checksum. A file of an old version has no checksum; its
    /// [`Head::checksum_meta`] is 0.
    ///
    /// # Errors
    /// [`core_ffrecord::Error::Checksum`] if the checksum differs; an error of the operating
    /// system.
    pub fn check_meta(&self) -> Result<(), Error> {
        let len = self.head().layout.summed().len();
        let mut window = vec![0; usize::try_from(len).unwrap_or(PIECE).min(PIECE)];
        self.reader.check_meta(&mut window, crc32).map_err(|error| self.error(error))
    }

    /// Compares the bytes of a sample with its checksum, piece by piece.
    ///
    /// # Errors
    /// [`Sample`](super::ErrorKind::Sample) with [`core_ffrecord::Error::Checksum`] if the checksum
    /// differs; an error of the operating system.
    pub fn check(&self, sample: &Sample) -> Result<(), Error> {
        let mut crc = 0;
        self.read_pieces(sample.span, &mut |bytes| {
            crc = crc32(crc, bytes);
            true
        })?;
        sample.check_crc(crc).map_err(|error| self.in_sample(sample.number, error))
    }

    /// Compares bytes that were read elsewhere with the checksum of a sample.
    ///
    /// # Errors
    /// [`Sample`](super::ErrorKind::Sample) with [`core_ffrecord::Error::Checksum`] if the checksum
    /// differs.
    pub fn check_bytes(&self, sample: &Sample, bytes: &[u8]) -> Result<(), Error> {
        sample.check(bytes, crc32).map_err(|error| self.in_sample(sample.number, error))
    }

    fn bytes(&self, sample: &Sample) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let no_room = || io::Error::from(io::ErrorKind::OutOfMemory);
        let len = usize::try_from(sample.span.len()).map_err(|_| self.error(no_room()))?;
        // A file of holes has any length, and a failed allocation must not end the process.
        bytes.try_reserve_exact(len).map_err(|_| self.error(no_room()))?;
        bytes.resize(len, 0);
        self.read_span(sample.span, &mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn store(&self) -> &PosixFile {
        self.bulk().file()
    }

    /// The store that reads the samples.
    pub(super) const fn bulk(&self) -> &Bulk {
        self.reader.store()
    }

    /// Makes an error about this file.
    pub(super) fn error(&self, kind: impl Into<ErrorKind>) -> Error {
        Error::new(&self.path, kind)
    }

    /// Adds the number of the sample to an error of the format.
    pub(super) fn in_sample(&self, number: u64, error: core_ffrecord::Error) -> Error {
        match error.blames_caller() {
            true => self.error(error),
            false => self.error(super::ErrorKind::Sample { number, error }),
        }
    }

    fn error_of(&self, number: u64, error: ReadError<Bulk>) -> Error {
        match error {
            DriveError::Format(error) => self.in_sample(number, error),
            error => self.error(error),
        }
    }
}

/// An iterator over some samples of a file, in order of their numbers.
///
/// If the offset of a sample or of the next sample is damaged, its item is an error, and the later
/// samples follow. An error of the operating system is the last item.
#[derive(Debug)]
pub struct Samples<'a> {
    file: &'a File,
    samples: core_ffrecord::Samples<'a, Bulk, Vec<u8>>,
}

impl Samples<'_> {
    /// Number of the next sample, if there is one.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.samples.number()
    }
}

impl Iterator for Samples<'_> {
    type Item = Result<Sample, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = self.samples.number();
        let sample = self.samples.next()?;
        Some(sample.map_err(|error| self.file.error_of(number, error)))
    }
}
