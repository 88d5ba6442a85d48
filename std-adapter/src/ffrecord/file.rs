//! A file that is read, by many threads at once.

use super::crc32;
use crate::direct::OpenOptions;
use crate::error::{Error, ErrorKind};
use crate::posix::PosixFile;
use crate::store::bulk::Bulk;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use striae_core::ffrecord::{self as core_ffrecord, Head, ReadError, Reader, Sample};
use striae_core::span::Span;
use striae_core::step::DriveError;

/// Bytes of the tables that a list reads at once.
const LIST: usize = 1 << 16;

/// Bytes of the tables or of a sample that checking reads at once.
const PIECE: usize = 1 << 20;

/// An ffrecord file.
///
/// The tables stay on the disk: a sample by its number takes two small reads to find, and a list of
/// them one of 64 KiB for each 5000. Whoever reads samples in random order lists them once and
/// keeps what [`samples`](Self::samples) gave.
#[derive(Debug)]
pub struct File {
    path: PathBuf,
    reader: Reader<Bulk>,
}

impl File {
    /// Opens the file at `path`. Nothing is believed of it but that its tables fit:
    /// [`check_meta`](Self::check_meta) compares them with their checksum.
    ///
    /// # Errors
    /// [`core_ffrecord::Error`] if it cannot be an ffrecord file; the operating system's.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_direct(path, None)
    }

    /// Opens a file whose samples are read past the page cache, as far as that can be, if there are
    /// options for that; its tables are read through the cache.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_direct(path: impl AsRef<Path>, direct: Option<OpenOptions>) -> Result<Self, Error> {
        let path = path.as_ref();
        let store = Bulk::open(path, direct)?;
        store.direct()?; // what cannot be is said at once
        let reader = Reader::open(store, &mut [0; Head::LEN]);
        let reader = reader.map_err(|error| Error::new(path, error))?;
        Ok(Self { path: path.into(), reader })
    }

    /// The path that it was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What opening learned.
    #[must_use]
    pub const fn head(&self) -> &Head {
        self.reader.head()
    }

    /// Number of samples.
    #[must_use]
    pub const fn n(&self) -> u64 {
        self.reader.n()
    }

    /// Sample `number`: its checksum, and where its bytes are.
    ///
    /// # Errors
    /// [`core_ffrecord::Error::NoSample`]; [`Sample`](super::ErrorKind::Sample) if its offset, or
    /// that of the next one, is damaged; the operating system's.
    pub fn sample(&self, number: u64) -> Result<Sample, Error> {
        self.reader.sample(number, &mut [0; 16]).map_err(|error| self.error_of(number, error))
    }

    /// All samples, found while they are asked for.
    #[must_use]
    pub fn samples(&self) -> Samples<'_> {
        self.samples_of(0..self.n())
    }

    /// Samples by their numbers; none of those that there are not.
    #[must_use]
    pub fn samples_of(&self, numbers: Range<u64>) -> Samples<'_> {
        let count = numbers.end.min(self.n()).saturating_sub(numbers.start);
        let rows = count.saturating_add(1).saturating_mul(12);
        let window = vec![0; usize::try_from(rows).unwrap_or(LIST).clamp(24, LIST)];
        Samples { file: self, samples: self.reader.samples(numbers, window) }
    }

    /// The bytes of sample `number`, whatever its checksum.
    ///
    /// # Errors
    /// As [`sample`](Self::sample); an [`io::ErrorKind::OutOfMemory`].
    pub fn read(&self, number: u64) -> Result<Vec<u8>, Error> {
        self.bytes(&self.sample(number)?)
    }

    /// The bytes of sample `number`, which are those that its checksum was made of.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Sample`](super::ErrorKind::Sample) with
    /// [`core_ffrecord::Error::Checksum`].
    pub fn read_checked(&self, number: u64) -> Result<Vec<u8>, Error> {
        let sample = self.sample(number)?;
        let bytes = self.bytes(&sample)?;
        sample.check(&bytes, crc32).map_err(|error| self.in_sample(number, error))?;
        Ok(bytes)
    }

    /// The bytes at the front of a span of the file, as many as `buf` has room for; says how many.
    ///
    /// # Errors
    /// [`ErrorKind::Ended`] if the file has become shorter; the operating system's.
    pub fn read_span(&self, span: Span, buf: &mut [u8]) -> Result<usize, Error> {
        let len = usize::try_from(span.len()).unwrap_or(usize::MAX).min(buf.len());
        let read = self.bulk().read_into(span.offset(), buf.get_mut(..len).unwrap_or_default());
        read.map(|()| len).map_err(|error: ReadError<Bulk>| self.error(error))
    }

    /// Hands all bytes of a span of the file to `each`, a piece after another, until it wants no
    /// more. Pieces are of any length; what is read [directly](Self::open_direct) is read ahead.
    ///
    /// # Errors
    /// As [`read_span`](Self::read_span).
    pub fn read_pieces(
        &self,
        span: Span,
        each: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), Error> {
        let read = self.bulk().read_pieces([span], &mut Vec::new(), each);
        read.map_err(|error: ReadError<Bulk>| self.error(error))
    }

    /// Compares the tables with the checksum that the file has of them; a file of an old version
    /// has none, and [`Head::checksum_meta`] is 0.
    ///
    /// # Errors
    /// [`core_ffrecord::Error::Checksum`]; the operating system's.
    pub fn check_meta(&self) -> Result<(), Error> {
        let len = self.head().layout.summed().len();
        let mut window = vec![0; usize::try_from(len).unwrap_or(PIECE).min(PIECE)];
        self.reader.check_meta(&mut window, crc32).map_err(|error| self.error(error))
    }

    /// Compares the bytes of a sample with its checksum, piece by piece.
    ///
    /// # Errors
    /// [`Sample`](super::ErrorKind::Sample) with [`core_ffrecord::Error::Checksum`]; the operating
    /// system's.
    pub fn check(&self, sample: &Sample) -> Result<(), Error> {
        let mut crc = 0;
        self.read_pieces(sample.span, &mut |bytes| {
            crc = crc32(crc, bytes);
            true
        })?;
        sample.check_crc(crc).map_err(|error| self.in_sample(sample.number, error))
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

    /// The file, for samples.
    pub(super) const fn bulk(&self) -> &Bulk {
        self.reader.store()
    }

    /// An error of this file.
    pub(super) fn error(&self, kind: impl Into<ErrorKind>) -> Error {
        Error::new(&self.path, kind)
    }

    /// The error with the number of the sample, if the file is to blame.
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

/// Some samples of a file in the order of their numbers.
///
/// A sample whose offset, or that of the next one, is damaged is an error in its place, and those
/// behind it follow; an error of the operating system is the last item.
#[derive(Debug)]
pub struct Samples<'a> {
    file: &'a File,
    samples: core_ffrecord::Samples<'a, Bulk, Vec<u8>>,
}

impl Samples<'_> {
    /// Number of the sample that comes next, if there is one.
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
