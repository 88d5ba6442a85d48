//! Errors that name the file.

use std::io;
use std::path::{Path, PathBuf};
use striae_core::sion;
use striae_core::step::DriveError;

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
    /// The file is no SIONlib file, or a damaged one; or the caller asked for what is not there.
    Sion(sion::Error),
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
        write!(f, "{}: {}", self.path.display(), self.kind)
    }
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Sion(error) => error.fmt(f),
            Self::Ended { offset } => write!(f, "ended at offset {offset} while it was read"),
            Self::Exists => f.write_str("exists already"),
            Self::Ambiguous { globalrank, tasks: [first, second] } => write!(
                f,
                "globalrank {globalrank} is that of several tasks, of {first} and {second} at least"
            ),
            Self::NoGlobalrank { globalrank } => write!(f, "no task has globalrank {globalrank}"),
            Self::Closed => f.write_str("was closed, so nothing can be written to it"),
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
            ErrorKind::Io(error) => error.source(),
            _ => None,
        }
    }
}

impl From<io::Error> for ErrorKind {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<sion::Error> for ErrorKind {
    fn from(error: sion::Error) -> Self {
        Self::Sion(error)
    }
}

impl From<DriveError<io::Error, sion::Error>> for ErrorKind {
    fn from(error: DriveError<io::Error, sion::Error>) -> Self {
        match error {
            DriveError::Store(error) => Self::Io(error),
            DriveError::Format(error) => Self::Sion(error),
            DriveError::Ended { offset } => Self::Ended { offset },
            error => Self::Io(io::Error::other(error.to_string())),
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match &*error.kind {
            ErrorKind::Io(error) => error.kind(),
            ErrorKind::Sion(error) if error.blames_caller() => io::ErrorKind::InvalidInput,
            ErrorKind::Sion(_) | ErrorKind::Task { .. } | ErrorKind::Ambiguous { .. } => {
                io::ErrorKind::InvalidData
            }
            ErrorKind::TooManyChunks { .. } => io::ErrorKind::OutOfMemory,
            ErrorKind::Ended { .. } => io::ErrorKind::UnexpectedEof,
            ErrorKind::Closed | ErrorKind::Taken { .. } => io::ErrorKind::InvalidInput,
            ErrorKind::MixedTaskFiles | ErrorKind::TwoTaskFiles { .. } => {
                io::ErrorKind::InvalidInput
            }
            ErrorKind::NoTaskFile { .. } => io::ErrorKind::NotFound,
            ErrorKind::SyncFailed => io::ErrorKind::Other,
            ErrorKind::Exists => io::ErrorKind::AlreadyExists,
            ErrorKind::NoGlobalrank { .. } | ErrorKind::NoKey { .. } => io::ErrorKind::NotFound,
        };
        Self::new(kind, error)
    }
}
