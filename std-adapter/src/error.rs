//! Errors that name the file.

use crate::gsd::hoomd;
use crate::gsd::verify::Finding as GsdFinding;
use crate::posix::SyncFailed;
use crate::shown::{self, Shown};
use std::io;
use std::path::{Path, PathBuf};
use striae_core::step::DriveError;
use striae_core::{ffrecord, gsd, sion};

/// What went wrong with which file.
#[derive(Debug)]
pub struct Error {
    path: PathBuf,
    kind: Box<ErrorKind>,
}

/// What went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused or failed.
    Io(io::Error),
    /// Another file of a set cannot be opened.
    Sibling {
        /// What the operating system says.
        error: io::Error,
        /// The first file of the set, which says how many there are.
        first: PathBuf,
        /// Files that it says there are.
        nfiles: u32,
    },
    /// The file has no format that striae knows.
    NoFormat {
        /// Its first bytes, as many as would tell, or all.
        start: Box<[u8]>,
    },
    /// The file is no SIONlib file, or a damaged one; or the caller asked for what is not there.
    Sion(sion::Error),
    /// The file is no GSD file, or a damaged one; or the caller asked for what is not there.
    Gsd(gsd::Error),
    /// The GSD file is damaged, as verifying it says: this is what it finds first.
    Damaged(Box<GsdFinding>),
    /// A chunk of a GSD file is damaged, or does not have what the caller asked for.
    Chunk {
        /// Its frame.
        frame: u64,
        /// Its name.
        name: Box<[u8]>,
        /// What is wrong with it.
        error: gsd::Error,
    },
    /// A frame of a GSD file has no chunk of this name.
    NoChunk {
        /// The frame.
        frame: u64,
        /// The name.
        name: Box<[u8]>,
    },
    /// No chunk of a GSD file has this name, or one that starts with it.
    NoName {
        /// The name, or its start.
        name: Box<[u8]>,
    },
    /// The values of a chunk are not of the type that was asked for.
    NotOfType {
        /// Its frame.
        frame: u64,
        /// Its name.
        name: Box<[u8]>,
        /// What they are.
        kind: gsd::ChunkType,
        /// What was asked for.
        asked: gsd::ChunkType,
    },
    /// The bytes of a chunk of text are not UTF-8.
    NotText {
        /// Its frame.
        frame: u64,
        /// Its name.
        name: Box<[u8]>,
        /// The first byte that is none, counted from the chunk's start.
        at: u64,
    },
    /// A GSD file is none of the schema `hoomd`, or a chunk or frame is none of it.
    Hoomd(hoomd::Error),
    /// The file is no ffrecord file, or a damaged one; or the caller asked for what is not there.
    Ffrecord(ffrecord::Error),
    /// A sample of an ffrecord file is damaged, or where it should start or end.
    Sample {
        /// Its number.
        number: u64,
        /// What is wrong with it.
        error: ffrecord::Error,
    },
    /// The file became shorter while it was read.
    Ended {
        /// Where a byte was expected.
        offset: u64,
    },
    /// It exists, and may not be overwritten.
    Exists,
    /// Several tasks have this global rank.
    Ambiguous {
        /// The global rank.
        globalrank: i64,
        /// The first two tasks that have it.
        tasks: [u64; 2],
    },
    /// No task has this global rank.
    NoGlobalrank {
        /// The global rank.
        globalrank: i64,
    },
    /// The file was closed, so nothing can be written to it.
    Closed,
    /// Somebody else is writing to the file.
    Locked,
    /// The disk failed once to make something durable, and does not say so twice: what was written
    /// since the last commit may be lost, and no later commit can promise anything.
    SyncFailed,
    /// A task has a writer already.
    Taken {
        /// The task.
        task: u64,
    },
    /// A folder of task files lacks that of a task.
    NoTaskFile {
        /// The task.
        task: u64,
    },
    /// A second file of a task, or of a key of it: `task_7` next to `task_00007`.
    TwoTaskFiles {
        /// The task.
        task: u64,
    },
    /// Bytes without a key among files of key-value records.
    MixedTaskFiles,
    /// A task's stream is damaged.
    Task {
        /// The task.
        task: u64,
        /// What is wrong with it.
        error: sion::Error,
    },
    /// A task has more chunks than are kept in memory.
    TooManyChunks {
        /// Chunks that it used.
        blockcount: u64,
        /// The most that are kept.
        limit: u64,
    },
    /// The task has no record with this key.
    NoKey {
        /// The task.
        task: u64,
        /// The key.
        key: u64,
    },
}

impl Error {
    /// An error of the file at `path`.
    #[must_use]
    pub fn new(path: &Path, kind: impl Into<ErrorKind>) -> Self {
        Self { path: path.to_owned(), kind: Box::new(kind.into()) }
    }

    /// The same, with the number of the task if a record of its stream is wrong.
    #[must_use]
    pub fn of_task(mut self, task: u64) -> Self {
        if let ErrorKind::Sion(error @ sion::Error::RecordCut { .. }) = *self.kind {
            *self.kind = ErrorKind::Task { task, error };
        }
        self
    }

    /// The same of a file that has, or shall have, another name.
    pub(crate) fn into_kind(self) -> ErrorKind {
        *self.kind
    }

    pub(crate) fn renamed(self, path: &Path) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What went wrong with it.
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

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Sibling { error, first, nfiles } => {
                write!(f, "{error}; the set has {nfiles} files, says {}", shown::path(first))
            }
            Self::NoFormat { start } => {
                f.write_str("is neither a SIONlib file nor a GSD or ffrecord file: it ")?;
                match start.is_empty() {
                    true => f.write_str("is empty"),
                    false => write!(f, "starts with \"{}\"", start.escape_ascii()),
                }
            }
            Self::Sion(error) => error.fmt(f),
            Self::Gsd(error) => error.fmt(f),
            Self::Damaged(finding) => finding.what.fmt(f),
            Self::Chunk { frame, name, error } => {
                write!(f, "chunk {} of frame {frame}: {error}", Shown::new(name))
            }
            Self::NoChunk { frame, name } => {
                write!(f, "frame {frame} has no chunk {}", Shown::new(name))
            }
            Self::NoName { name } => write!(f, "no chunk has the name {}", Shown::new(name)),
            Self::NotOfType { frame, name, kind, asked } => {
                let name = Shown::new(name);
                write!(f, "chunk {name} of frame {frame} is of type {kind}, not {asked}")
            }
            Self::NotText { frame, name, at } => {
                let name = Shown::new(name);
                write!(f, "chunk {name} of frame {frame} is no UTF-8 text at its byte {at}")
            }
            Self::Hoomd(error) => error.fmt(f),
            Self::Ffrecord(error) => error.fmt(f),
            Self::Sample { number, error } => write!(f, "sample {number}: {error}"),
            Self::Ended { offset } => write!(f, "ended at offset {offset} while it was read"),
            Self::Exists => f.write_str("exists already"),
            Self::Ambiguous { globalrank, tasks: [first, second] } => write!(
                f,
                "globalrank {globalrank} is that of several tasks, of {first} and {second} at least"
            ),
            Self::NoGlobalrank { globalrank } => write!(f, "no task has globalrank {globalrank}"),
            Self::Closed => f.write_str("was closed, so nothing can be written to it"),
            Self::Locked => f.write_str("is being written by somebody else"),
            Self::SyncFailed => f.write_str(
                "the disk failed to make earlier writes durable; the last commit holds, and no \
                 other can be made",
            ),
            Self::Taken { task } => write!(f, "task {task} has a writer already"),
            Self::NoTaskFile { task } => write!(f, "has no file task_{task:05}"),
            Self::TwoTaskFiles { task } => {
                write!(f, "is the second file of task {task}, or of one of its keys")
            }
            Self::MixedTaskFiles => {
                f.write_str("has bytes without a key, but others are values of keys")
            }
            Self::Task { task, error } => write!(f, "task {task}: {error}"),
            Self::TooManyChunks { blockcount, limit } => {
                write!(f, "a task has {blockcount} chunks, must have at most {limit}")
            }
            Self::NoKey { task, key } => write!(f, "task {task} has no record with key {key}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.kind {
            ErrorKind::Io(error) | ErrorKind::Sibling { error, .. } => error.source(),
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

impl From<sion::Error> for ErrorKind {
    fn from(error: sion::Error) -> Self {
        Self::Sion(error)
    }
}

impl From<gsd::Error> for ErrorKind {
    fn from(error: gsd::Error) -> Self {
        Self::Gsd(error)
    }
}

impl From<ffrecord::Error> for ErrorKind {
    fn from(error: ffrecord::Error) -> Self {
        Self::Ffrecord(error)
    }
}

impl From<hoomd::Error> for ErrorKind {
    fn from(error: hoomd::Error) -> Self {
        Self::Hoomd(error)
    }
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
            ErrorKind::Io(error) | ErrorKind::Sibling { error, .. } => error.kind(),
            ErrorKind::NoFormat { .. } => io::ErrorKind::InvalidData,
            ErrorKind::Sion(error) if error.blames_caller() => io::ErrorKind::InvalidInput,
            ErrorKind::Gsd(error) | ErrorKind::Chunk { error, .. } if error.blames_caller() => {
                io::ErrorKind::InvalidInput
            }
            ErrorKind::Sion(_) | ErrorKind::Task { .. } | ErrorKind::Ambiguous { .. } => {
                io::ErrorKind::InvalidData
            }
            ErrorKind::Gsd(_)
            | ErrorKind::Damaged(_)
            | ErrorKind::Chunk { .. }
            | ErrorKind::NotText { .. } => io::ErrorKind::InvalidData,
            ErrorKind::Ffrecord(error) if error.blames_caller() => io::ErrorKind::InvalidInput,
            ErrorKind::Ffrecord(_) | ErrorKind::Sample { .. } => io::ErrorKind::InvalidData,
            ErrorKind::Hoomd(error) if error.blames_caller() => io::ErrorKind::InvalidInput,
            ErrorKind::Hoomd(_) => io::ErrorKind::InvalidData,
            ErrorKind::NotOfType { .. } => io::ErrorKind::InvalidInput,
            ErrorKind::NoChunk { .. } | ErrorKind::NoName { .. } => io::ErrorKind::NotFound,
            ErrorKind::TooManyChunks { .. } => io::ErrorKind::OutOfMemory,
            ErrorKind::Ended { .. } => io::ErrorKind::UnexpectedEof,
            ErrorKind::Closed | ErrorKind::Taken { .. } => io::ErrorKind::InvalidInput,
            ErrorKind::MixedTaskFiles | ErrorKind::TwoTaskFiles { .. } => {
                io::ErrorKind::InvalidInput
            }
            ErrorKind::NoTaskFile { .. } => io::ErrorKind::NotFound,
            ErrorKind::Locked => io::ErrorKind::ResourceBusy,
            ErrorKind::SyncFailed => io::ErrorKind::Other,
            ErrorKind::Exists => io::ErrorKind::AlreadyExists,
            ErrorKind::NoGlobalrank { .. } | ErrorKind::NoKey { .. } => io::ErrorKind::NotFound,
        };
        Self::new(kind, error)
    }
}
