//! Writes an ffrecord file, which gets its name when it is complete.

use super::crc32;
use super::tables::Tables;
use crate::copy::{Copier, Place};
use crate::error::Error;
use crate::posix::PosixFile;
use crate::publish::Publish;
use crate::store::{Durability, Run};
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use striae_core::ffrecord::{Error as Wrong, Layout};
use striae_core::span::Span;
use striae_core::store::usize_to_u64;

/// Bytes of samples that are written at once.
const PIECE: usize = 1 << 20;

/// Options for writing a file.
#[derive(Debug, Clone, Copy)]
pub struct Builder {
    samples: Option<u64>,
    force: bool,
    durability: Durability,
}

impl Default for Builder {
    fn default() -> Self {
        Self { samples: None, force: false, durability: Durability::OnCommit }
    }
}

impl Builder {
    /// Writes any number of samples, replaces no file, and makes the file durable.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Announces the number of samples. Without it, samples are copied to their place after the
    /// tables when their number is known, and 16 bytes of memory are kept for each sample.
    #[must_use]
    pub const fn samples(mut self, n: u64) -> Self {
        self.samples = Some(n);
        self
    }

    /// Replaces an existing file.
    #[must_use]
    pub const fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Sets what the file survives when [`Writer::finish`] returns; by default a power cut.
    #[must_use]
    pub const fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Begins a file that will get the name `path`.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`](crate::error::ErrorKind::Exists) if `path` exists already;
    /// [`ErrorKind::Locked`](crate::error::ErrorKind::Locked) if another writer has the file that
    /// is to be replaced; [`Wrong::TooManySamples`] if the announced number is too large; an error
    /// of the operating system.
    pub fn create(&self, path: impl AsRef<Path>) -> Result<Writer, Error> {
        let path = path.as_ref();
        let at = |error: io::Error| Error::new(path, error);
        let rows = match self.samples {
            None => Rows::Counted(Vec::new()),
            Some(n) => Rows::Known(Tables::new(layout(path, n)?)),
        };
        let publish = Publish::new(path, NonZeroU32::MIN, self.force)?;
        // Samples whose number is not known go to a file of their own, which never gets a name.
        let file = PosixFile::create(&publish.hidden(rows.file()), false).map_err(at)?;
        let end = match &rows {
            Rows::Known(tables) => tables.layout().header_len(),
            Rows::Counted(_) => 0,
        };
        let (path, waiting) = (path.to_owned(), Run::at(end));
        Ok(Writer {
            path,
            publish,
            durable: matches!(self.durability, Durability::OnCommit),
            file,
            rows,
            waiting,
        })
    }
}

fn layout(path: &Path, n: u64) -> Result<Layout, Error> {
    let max = Layout::MAX_SAMPLES;
    Layout::new(n).ok_or_else(|| Error::new(path, Wrong::TooManySamples { n, max }))
}

/// The table rows so far.
#[derive(Debug)]
enum Rows {
    /// The number of samples was announced: the tables are written as samples come.
    Known(Tables),
    /// The number is unknown: checksum of each sample, and its start in a file that has only
    /// samples.
    Counted(Vec<(u32, u64)>),
}

impl Rows {
    /// Number of the hidden file that gets the samples.
    const fn file(&self) -> u32 {
        match self {
            Self::Known(_) => 0,
            Self::Counted(_) => 1,
        }
    }
}

/// The size of a file that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Number of samples.
    pub samples: u64,
    /// Bytes of all samples.
    pub bytes: u64,
}

/// Writes an ffrecord file. If it is dropped without [`finish`](Self::finish), no file remains.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    publish: Publish,
    durable: bool,
    file: PosixFile,
    rows: Rows,
    waiting: Run,
}

impl Writer {
    /// Number of samples so far.
    #[must_use]
    pub fn n(&self) -> u64 {
        match &self.rows {
            Rows::Known(tables) => tables.rows(),
            Rows::Counted(rows) => usize_to_u64(rows.len()),
        }
    }

    /// Adds a sample and returns its number.
    ///
    /// # Errors
    /// [`Wrong::TooManySamples`] if more samples come than were announced; [`Wrong::FileFull`] if
    /// the file has no place for it; an error of the operating system. After an error the sample is
    /// not part of the file, and the next sample can be written.
    pub fn write(&mut self, sample: &[u8]) -> Result<u64, Error> {
        let place = self.place(usize_to_u64(sample.len()))?;
        if self.waiting.len().saturating_add(sample.len()) > PIECE {
            self.flush()?;
        }
        match sample.len() > PIECE {
            true => {
                self.file
                    .write_all_at(place.offset(), sample)
                    .map_err(|error| self.error(error))?;
                self.waiting.go_to(place.end());
            }
            false => self.waiting.push(sample),
        }
        Ok(self.push(crc32(0, sample), place))
    }

    /// Adds the bytes of a span of another file as a sample, and returns its number. `from` is that
    /// file with its path for errors; `progress` gets the length of each copied piece.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write); an error of the other file.
    pub fn copy_from(
        &mut self,
        copier: &mut Copier,
        from: (&Path, &PosixFile),
        span: Span,
        progress: &dyn Fn(u64),
    ) -> Result<u64, Error> {
        let new = self.place(span.len())?;
        let offset = new.offset();
        self.flush()?;
        let place = Place { file: &self.file, offset, zeros: self.is_new(offset)? };
        let mut crc = 0;
        let mut seen = |bytes: &[u8]| crc = crc32(crc, bytes);
        let copied = copier.copy_seen(from.1, span, &place, progress, &mut seen);
        copied.map_err(|error| error.of_files(from.0, &self.path))?;
        self.waiting.go_to(new.end());
        Ok(self.push(crc, new))
    }

    /// Makes the file durable, if asked to, and gives it its name.
    ///
    /// # Errors
    /// [`Wrong::TooFewSamples`] if more samples were announced; the errors of [`Publish::finish`].
    pub fn finish(mut self) -> Result<Written, Error> {
        let samples = self.n();
        self.flush()?;
        let end = self.waiting.end();
        let bytes = match self.rows {
            Rows::Known(tables) => {
                let layout = tables.layout();
                if samples < layout.n() {
                    let wrong = Wrong::TooFewSamples { n: samples, want: layout.n() };
                    return Err(Error::new(&self.path, wrong));
                }
                let sized = self.file.set_size(end).and_then(|()| tables.finish(&self.file));
                sized.map_err(|error| Error::new(&self.path, error))?;
                end.saturating_sub(layout.header_len())
            }
            Rows::Counted(rows) => {
                put_together(&self.path, &self.publish, &self.file, &rows, end)?;
                end
            }
        };
        drop(self.file);
        self.publish.finish(self.durable)?;
        Ok(Written { samples, bytes })
    }

    /// The place of a sample of this length; fails if the file has no place for it.
    fn place(&mut self, len: u64) -> Result<Span, Error> {
        let offset = self.waiting.end();
        let (n, mut tables) = (self.n(), 0);
        match &mut self.rows {
            Rows::Known(known) => {
                let max = known.layout().n();
                if n >= max {
                    let n = n.saturating_add(1);
                    return Err(self.error(Wrong::TooManySamples { n, max }));
                }
                known.reserve(&self.file).map_err(|error| Error::new(&self.path, error))?;
            }
            Rows::Counted(_) => {
                tables = layout(&self.path, n.saturating_add(1))?.header_len();
            }
        }
        let place = Span::new(offset, len);
        let end = place.and_then(|place| place.end().checked_add(tables));
        let place = place.filter(|_| end.is_some_and(|end| i64::try_from(end).is_ok()));
        place.ok_or_else(|| self.error(Wrong::FileFull { file_len: offset, len }))
    }

    /// Adds the row of a sample whose bytes are written or wait to be written.
    fn push(&mut self, crc: u32, place: Span) -> u64 {
        let (number, offset) = (self.n(), place.offset());
        match &mut self.rows {
            Rows::Known(tables) => tables.push(crc, i64::try_from(offset).unwrap_or(i64::MAX)),
            Rows::Counted(rows) => rows.push((crc, offset)),
        }
        number
    }

    /// Writes the waiting bytes. After a failure it can be tried again.
    fn flush(&mut self) -> Result<(), Error> {
        self.waiting.write(&self.file).map_err(|error| Error::new(&self.path, error))
    }

    /// Whether nothing was written at or after `offset`: a failed sample may have left bytes there.
    fn is_new(&self, offset: u64) -> Result<bool, Error> {
        use striae_core::store::ReadAt;
        let len = self.file.size().map_err(|error| self.error(error))?;
        Ok(len <= offset)
    }

    fn error(&self, kind: impl Into<crate::error::ErrorKind>) -> Error {
        Error::new(&self.path, kind)
    }
}

/// Makes the final file from `data`, the file of samples, when all rows are known.
fn put_together(
    path: &Path,
    publish: &Publish,
    data: &PosixFile,
    rows: &[(u32, u64)],
    len: u64,
) -> Result<(), Error> {
    let at = |error: io::Error| Error::new(path, error);
    let mut tables = Tables::new(layout(path, usize_to_u64(rows.len()))?);
    // `Writer::place` checked that there is such a place.
    let samples = Span::new(tables.layout().header_len(), len);
    let samples = samples.ok_or_else(|| at(io::ErrorKind::FileTooLarge.into()))?;
    let file = PosixFile::create(&publish.hidden(0), false).map_err(at)?;
    for &(crc, offset) in rows {
        tables.reserve(&file).map_err(at)?;
        let place = samples.rest(offset).map_or(samples.end(), Span::offset);
        tables.push(crc, i64::try_from(place).unwrap_or(i64::MAX));
    }
    let span = Span::new(0, len).unwrap_or(Span::ZERO); // from 0, so it ends where it can
    let place = Place { file: &file, offset: samples.offset(), zeros: true };
    data.set_size(len).map_err(at)?; // it ends earlier if its last bytes are a hole
    let copied = Copier::new().copy(data, span, &place, &|_| {});
    copied.map_err(|error| error.of_files(path, path))?;
    file.set_size(samples.end()).and_then(|()| tables.finish(&file)).map_err(at)
}
