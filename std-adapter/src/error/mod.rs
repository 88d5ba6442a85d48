//! Errors that name the file they are about.
//!
//! A format's own errors are in a file here, below the formats, and public under its name.

pub(crate) mod blob;
pub(crate) mod build;
pub(crate) mod cdf;
pub(crate) mod copy;
pub(crate) mod ffrecord;
pub(crate) mod gsd;
mod party;
pub(crate) mod sion;

use crate::address;
use crate::posix::SyncFailed;
use crate::shown;
pub use party::Party;
use std::io;
use std::path::{Path, PathBuf};
use striae_core::step::DriveError;
use striae_core::texts;

/// An error, with the path of the file it is about.
#[derive(Debug)]
pub struct Error {
    path: PathBuf,
    kind: Box<ErrorKind>,
}

texts! {
    /// The kind of an [`Error`].
    #[derive(Debug)]
    #[non_exhaustive]
    pub enum ErrorKind;

    /// The operating system returned an error.
    Io(error: io::Error) => "{error}";
    /// The file has no format that striae supports.
    NoFormat {
        /// The first bytes of the file: enough to recognize any format, or the whole file if it is
        /// shorter.
        start: Box<[u8]>,
    } => |f| {
        if start.starts_with(ADIOS) {
            return f.write_str(
                "is an ADIOS BP file, which striae does not read; of the output of E3SM-IO it \
                 reads classic netCDF files, and blob files in CDF-5 or HDF5",
            );
        }
        f.write_str("is neither a SIONlib file nor a GSD, ffrecord or netCDF file: it ")?;
        match start.is_empty() {
            true => f.write_str("is empty"),
            false => write!(f, "starts with \"{}\"", start.escape_ascii()),
        }
    };
    /// The file became shorter while it was read.
    Ended {
        /// Where a byte was expected.
        offset: u64,
    } => "ended at offset {offset} while it was read";
    /// The output file exists already, and overwriting was not allowed.
    Exists => "exists already";
    /// The file is a source of the output, which would replace it.
    Source => "is a source, and would be replaced";
    /// The file has the name of a further part of what is extracted, which does not have it.
    Stray => "would be taken for a part of what is extracted: move it away";
    /// The file was closed; nothing more can be written to it.
    Closed => "was closed, so nothing can be written to it";
    /// Another writer has locked the file.
    Locked => "is being written by another program";
    /// A sync failed. The operating system reports such a failure only once: data written since the
    /// last commit may be lost, and no later commit can be guaranteed.
    SyncFailed =>
        "the disk failed to make earlier writes durable; the last commit holds, and no other can \
         be made";
    /// The output would be larger than the input justifies.
    TooLarge {
        /// The bytes that the output would have; of a GSD file, the most that they can be.
        size: u64,
        /// The largest size that is written: see [`striae_inspect::size`], or what
        /// [`Output::max_size`](crate::Output::max_size) says.
        limit: u64,
        /// The field that asks for the size, with its value.
        because: Box<str>,
    } =>
        "would have {size} bytes, because {because}; at most {limit} are written";
    /// The file system has less room than the output needs.
    NoRoom {
        /// The bytes that the output would have.
        size: u64,
        /// The free bytes.
        free: u64,
    } => "needs {size} bytes, but the file system has only {free} free";
    /// An address is none of a thing in the file.
    Address(error: address::Error) => "{error}";
    /// An error of a SIONlib set.
    Sion(kind: sion::ErrorKind) => "{kind}";
    /// An error of a GSD file.
    Gsd(kind: gsd::ErrorKind) => "{kind}";
    /// An error of an ffrecord file.
    Ffrecord(kind: ffrecord::ErrorKind) => "{kind}";
    /// An error of a netCDF file.
    Cdf(kind: cdf::ErrorKind) => "{kind}";
    /// An error of a blob file, or of a set of them.
    Blob(kind: blob::ErrorKind) => "{kind}";
    /// An error of a decomposition map.
    Map(error: striae_core::blob::map::Error) => "{error}";
    /// The decomposition map is damaged, and so would be what is made of it.
    DamagedMap(finding: striae_inspect::blob::map::FindingKind) => "is a damaged map: {finding}";
}

/// The first bytes of a file of ADIOS, and of `md.idx` in a folder of BP4 or BP5.
pub(crate) const ADIOS: &[u8] = b"ADIOS-BP";

impl Error {
    /// Makes an error about the file at `path`.
    #[must_use]
    pub fn new(path: &Path, kind: impl Into<ErrorKind>) -> Self {
        Self { path: path.to_owned(), kind: Box::new(kind.into()) }
    }

    /// Adds the number of the task if the error is a damaged record in the stream of that task.
    #[must_use]
    pub fn of_task(mut self, task: u64) -> Self {
        use striae_core::sion::Error::RecordCut;
        if let ErrorKind::Sion(sion::ErrorKind::Format(error @ RecordCut { .. })) = *self.kind {
            *self.kind = sion::ErrorKind::Task { task, error }.into();
        }
        self
    }

    pub(crate) fn into_kind(self) -> ErrorKind {
        *self.kind
    }

    /// This error, with `path` in place of its path.
    pub(crate) fn renamed(self, path: &Path) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// Of a writer: whether its file was removed, so that no other try can make what was written
    /// since the last commit part of it.
    #[must_use]
    pub fn is_removed(&self) -> bool {
        let ErrorKind::Io(error) = &*self.kind else { return false };
        error.kind() == io::ErrorKind::NotFound
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Who must do something about it. The program's exit status follows from this.
    #[must_use]
    pub const fn party(&self) -> Party {
        match &*self.kind {
            // A file of no known format is not damaged: another program may read it.
            ErrorKind::NoFormat { .. } => Party::Argument,
            ErrorKind::Ended { .. } | ErrorKind::DamagedMap(_) => Party::File,
            ErrorKind::Address(address::Error::NoMatch { .. }) => Party::File,
            ErrorKind::Address(_)
            | ErrorKind::Exists
            | ErrorKind::Source
            | ErrorKind::Stray
            | ErrorKind::Closed => Party::Argument,
            ErrorKind::TooLarge { .. } | ErrorKind::NoRoom { .. } => Party::Capacity,
            ErrorKind::Io(_) | ErrorKind::Locked | ErrorKind::SyncFailed => Party::System,
            ErrorKind::Sion(kind) => kind.party(),
            ErrorKind::Gsd(kind) => kind.party(),
            ErrorKind::Ffrecord(kind) => kind.party(),
            ErrorKind::Cdf(kind) => Party::of(kind.blames_caller()),
            ErrorKind::Blob(kind) => Party::of(kind.blames_caller()),
            ErrorKind::Map(error) => Party::of(error.blames_caller()),
        }
    }

    /// The kind of the error.
    #[must_use]
    pub const fn kind(&self) -> &ErrorKind {
        &self.kind
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", shown::path(&self.path), self.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.kind {
            ErrorKind::Io(error) | ErrorKind::Sion(sion::ErrorKind::Sibling { error, .. }) => {
                error.source()
            }
            _ => None,
        }
    }
}

impl From<io::Error> for ErrorKind {
    fn from(error: io::Error) -> Self {
        match error.get_ref() {
            Some(inner) if inner.is::<SyncFailed>() => Self::SyncFailed,
            _ => Self::Io(error),
        }
    }
}

impl From<address::Error> for ErrorKind {
    fn from(error: address::Error) -> Self {
        Self::Address(error)
    }
}

/// Implements `From` for [`ErrorKind`] from the errors of each format.
macro_rules! of_format {
    ($($variant:ident: $($from:ty),+;)+) => {
        $($(impl From<$from> for ErrorKind {
            fn from(error: $from) -> Self {
                Self::$variant(error.into())
            }
        })+)+
    };
}

of_format! {
    Sion: sion::ErrorKind, striae_core::sion::Error;
    Gsd: gsd::ErrorKind, striae_core::gsd::Error, striae_hoomd::Error;
    Ffrecord: ffrecord::ErrorKind, striae_core::ffrecord::Error;
    Cdf: cdf::ErrorKind, striae_core::cdf::Error;
    Blob: blob::ErrorKind, striae_inspect::blob::Flaw, striae_core::blob::Error;
    Map: striae_core::blob::map::Error;
}

impl<F: Into<Self> + std::fmt::Display> From<DriveError<io::Error, F>> for ErrorKind {
    fn from(error: DriveError<io::Error, F>) -> Self {
        match error {
            DriveError::Store(error) => error.into(),
            DriveError::Format(error) => error.into(),
            DriveError::Ended { offset } => Self::Ended { offset },
            error => Self::Io(io::Error::other(error.to_string())),
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match &*error.kind {
            ErrorKind::Io(error) => error.kind(),
            ErrorKind::NoFormat { .. } => io::ErrorKind::InvalidData,
            ErrorKind::Ended { .. } => io::ErrorKind::UnexpectedEof,
            ErrorKind::Exists => io::ErrorKind::AlreadyExists,
            ErrorKind::Source | ErrorKind::Stray | ErrorKind::Closed => io::ErrorKind::InvalidInput,
            ErrorKind::Locked => io::ErrorKind::ResourceBusy,
            ErrorKind::SyncFailed => io::ErrorKind::Other,
            ErrorKind::TooLarge { .. } => io::ErrorKind::FileTooLarge,
            ErrorKind::NoRoom { .. } => io::ErrorKind::StorageFull,
            ErrorKind::Address(address::Error::NoMatch { .. }) => io::ErrorKind::NotFound,
            ErrorKind::Address(_) => io::ErrorKind::InvalidInput,
            ErrorKind::Sion(kind) => kind.io_kind(),
            ErrorKind::Gsd(kind) => kind.io_kind(),
            ErrorKind::Ffrecord(kind) => kind.io_kind(),
            ErrorKind::Cdf(kind) => kind.io_kind(),
            ErrorKind::Blob(kind) => kind.io_kind(),
            ErrorKind::Map(_) | ErrorKind::DamagedMap(_) => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}
