//! Recognizes the format of a file by its first bytes, its name or its tables.

use crate::blob::{HDF5_MAGIC, first_subfile, is_blob};
use crate::error::{ADIOS, Error, ErrorKind};
use crate::ffrecord::is_ffrecord;
pub use crate::formats::Format;
use crate::posix::{Pin, PosixFile};
use crate::sion::siblings::Places;
use std::io;
use std::path::{Path, PathBuf};
use striae_core::cdf::Version;
use striae_core::store::{ReadAt, usize_to_u64};
use striae_inspect::blob::map::TEXT_MAGIC;

impl Format {
    /// The format of the file at `path`. If the first bytes are damaged, most of them decide.
    ///
    /// # Errors
    /// [`ErrorKind::NoFormat`] if no format is recognized; an error of the operating system.
    pub fn of_file(path: &Path) -> Result<Self, Error> {
        refuse_adios(path)?;
        let file = PosixFile::open(path).map_err(|error| Error::new(path, error))?;
        Self::of_open(path, &file)
    }

    /// The format of an open file.
    fn of_open(path: &Path, file: &PosixFile) -> Result<Self, Error> {
        let at = |kind| Error::new(path, kind);
        let mut start = [0; Self::LEN];
        let mut len = 0;
        while let Some(rest) = start.get_mut(len..).filter(|rest| !rest.is_empty()) {
            let offset = usize_to_u64(len);
            match file.read_at(offset, rest).map_err(|error| at(error.into()))? {
                0 => break,
                n => len = len.saturating_add(n),
            }
        }
        let bytes = start.get(..len).unwrap_or_default();
        if is_only_like(bytes) && is_ffrecord(file).map_err(|error| at(error.into()))? {
            return Ok(Self::Ffrecord);
        }
        for format in Self::IN_TURN {
            if format.is_of(path, file, bytes).map_err(|error| at(error.into()))? {
                return Ok(format);
            }
        }
        Err(at(ErrorKind::NoFormat { start: bytes.into() }))
    }

    /// In this order a file is asked whether it is of a format. A subfile of a blob set starts as
    /// any other CDF-5 file; for ffrecord more than the first bytes may have to be read.
    const IN_TURN: [Self; Self::ALL.len()] =
        [Self::Sion, Self::Gsd, Self::Map, Self::Blob, Self::Cdf, Self::Ffrecord];

    /// Whether an open file that starts with `start` is of this format, if it is of none of those
    /// before it.
    fn is_of(self, path: &Path, file: &PosixFile, start: &[u8]) -> io::Result<bool> {
        let starts_as = |format| Self::of_bytes(start) == Some(format);
        Ok(match self {
            Self::Sion | Self::Gsd | Self::Cdf => starts_as(self),
            Self::Map => start == TEXT_MAGIC,
            Self::Blob => start == HDF5_MAGIC || starts_as(Self::Cdf) && is_blob(file),
            Self::Ffrecord => {
                // ffrecord requires this ending.
                path.extension().is_some_and(|ending| ending == self.ending()) || is_ffrecord(file)?
            }
        })
    }
}

/// Whether most of the bytes are the magic of a format, but not all: an ffrecord file starts with a
/// checksum, which may be like that.
fn is_only_like(bytes: &[u8]) -> bool {
    let starts = |format| match format {
        Format::Cdf => Version::ALL.iter().any(|version| bytes.starts_with(&version.magic())),
        format => bytes.starts_with(format.magic()),
    };
    Format::of_bytes(bytes).is_some_and(|format| !starts(format))
}

/// A file whose format was recognized.
///
/// As long as this value lives, all functions of this crate that open the path open this file, or
/// fail if another file has got the name meanwhile. This also holds for functions that open the
/// path several times. It is meant for programs that do one thing with one file.
#[derive(Debug)]
pub struct Recognized {
    format: Format,
    /// As long as the file is open, no other file can have its inode number.
    _pin: Pin,
}

impl Recognized {
    /// Recognizes the format of the file at `path`, as [`Format::of_file`] does. If the file is the
    /// lost first file of a SIONlib set, its copy in a buddy set is recognized in its place. If it
    /// is the name of a set of blob files, the first subfile is; if none of them can be read, the
    /// set is damaged, and not missing.
    ///
    /// # Errors
    /// The errors of [`Format::of_file`].
    pub fn new(path: &Path) -> Result<Self, Error> {
        let found = Places::new(path).find(0);
        refuse_adios(&found)?;
        let subfile = first_subfile(&found);
        let path = subfile.as_deref().unwrap_or(&found);
        let pin = Pin::new(path).map_err(|error| Error::new(path, error))?;
        let format = match Format::of_open(path, pin.file())? {
            // Of a set, all subfiles of which are damaged.
            Format::Cdf if subfile.is_some() => Format::Blob,
            format => format,
        };
        Ok(Self { format, _pin: pin })
    }

    /// Takes the file at `path` for one of `format`, whatever its bytes are.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn taken_for(format: Format, path: &Path) -> Result<Self, Error> {
        let pin = Pin::new(&Places::new(path).find(0)).map_err(|error| Error::new(path, error))?;
        Ok(Self { format, _pin: pin })
    }

    /// The format of the file.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }
}

/// The output of ADIOS in BP4 and BP5 is a folder: this names its format, and not that it is one.
fn refuse_adios(path: &Path) -> Result<(), Error> {
    let mut start = [0; ADIOS.len()];
    let index = Some(path.join("md.idx")).filter(|_| path.is_dir());
    let read = |path: PathBuf| PosixFile::open(&path).ok()?.read_at(0, &mut start).ok();
    match index.and_then(read).is_some() && start == ADIOS {
        true => Err(Error::new(path, ErrorKind::NoFormat { start: start.into() })),
        false => Ok(()),
    }
}
