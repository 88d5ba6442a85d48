//! Errors of SIONlib sets and of folders of task files.

use super::Party;
use crate::shown;
use std::io;
use std::path::PathBuf;
use striae_core::sion::Error;
use striae_core::texts;

texts! {
    /// The kind of an error of a SIONlib set, beyond the errors that any file can have.
    #[derive(Debug)]
    #[non_exhaustive]
    pub enum ErrorKind;

    /// The file is not a SIONlib file, or it is damaged, or the caller asked for a part it does not
    /// have.
    Format(error: Error) => "{error}";
    /// Another file of the set cannot be opened.
    Sibling {
        error: io::Error,
        /// The first file of the set, which states the number of files.
        first: PathBuf,
        nfiles: u32,
    } => "{error}; the set has {nfiles} files, says {}", shown::path(first);
    /// Several tasks have this global rank.
    Ambiguous {
        globalrank: i64,
        /// The first two tasks that have it.
        tasks: [u64; 2],
    } => |f| {
        let [first, second] = tasks;
        write!(
            f,
            "globalrank {globalrank} is that of several tasks, of {first} and {second} at least"
        )
    };
    /// No task has this global rank.
    NoGlobalrank { globalrank: i64 } => "no task has globalrank {globalrank}";
    /// The task has a writer already.
    Taken { task: u64 } => "task {task} has a writer already";
    /// A buddy set has other tasks, chunks or bytes than its set.
    Stale {
        task: u64,
        /// The file that has the stream.
        main: PathBuf,
    } =>
        "the copy of task {task} is not one of its stream in {}; without the files of this buddy \
         set, the set can be appended to", shown::path(main);
    /// SIONlib does not write so many buddy sets of a set of so many files.
    Buddies {
        /// The first buddy set that it does not write.
        buddy: u32,
        nfiles: u32,
    } =>
        "buddy set {buddy} of {nfiles} files: {0} and {nfiles} must have no common divisor, and \
         {nfiles} must be more than {0}: else SIONlib does not say which file keeps which copy",
        u64::from(*buddy).saturating_add(1);
    /// A reader would take the file for a copy of a file of the new set.
    OldBuddy {
        /// The first file of the new set.
        set: PathBuf,
    } => "would be taken for a copy of the new {}; move it away or delete it", shown::path(set);
    /// The file is named as a copy of a lost file, but it is of another set.
    NoCopy {
        /// The lost file.
        lost: PathBuf,
        /// The field that does not fit the files that are left.
        field: &'static str,
    } =>
        "is named as a copy of the lost {}, but is of another set: its {field} does not fit; move \
         it away", shown::path(lost);
    /// The set is named as a buddy set: whoever appends to it alone makes it useless as a copy.
    IsBuddy {
        /// The set whose copies it has.
        main: PathBuf,
    } => "is named as a buddy set, and is appended to with its set, {}", shown::path(main);
    /// The file is of an older commit of the whole set than another file: the set must be
    /// recovered.
    Apart {
        /// The number of its commit.
        number: u32,
        /// A file of the newest commit.
        first: PathBuf,
        /// The number of that commit.
        usual: u32,
    } =>
        "is of commit {number} of the set, and {} of commit {usual}: it is {} commit{} older; \
         recover the set",
        shown::path(first),
        usual.saturating_sub(*number),
        if usual.saturating_sub(*number) == 1 { "" } else { "s" };
    /// The file belongs to another set than most of the files, as the identities in their seals
    /// say.
    OtherSet {
        /// A file of the set.
        set: PathBuf,
    } => "belongs to another set than {}: its seal has another identity", shown::path(set);
    /// A folder of task files lacks that of a task.
    NoTaskFile { task: u64 } => "has no file task_{task:05}";
    /// The folder has two files for one task, or for one key of it: `task_7` and `task_00007`.
    TwoTaskFiles { task: u64 } => "is the second file of task {task}, or of one of its keys";
    /// The folder has a file without a key, but other files are values of keys.
    MixedTaskFiles => "has bytes without a key, but others are values of keys";
    /// The stream of a task is damaged.
    Task { task: u64, error: Error } => "task {task}: {error}";
    /// A task has more chunks than can be kept in memory.
    TooManyChunks {
        /// Number of chunks that the task used.
        blockcount: u64,
        /// The largest number that is kept.
        limit: u64,
    } => "a task has {blockcount} chunks, must have at most {limit}";
    /// The task has no record with this key.
    NoKey { task: u64, key: u64 } => "task {task} has no record with key {key}";
}

impl ErrorKind {
    pub(crate) const fn party(&self) -> Party {
        match self {
            Self::Format(error) => Party::of(error.blames_caller()),
            Self::Task { .. }
            | Self::NoGlobalrank { .. }
            | Self::NoKey { .. }
            | Self::Stale { .. }
            | Self::Apart { .. }
            | Self::OtherSet { .. } => Party::File,
            Self::Sibling { .. } => Party::System,
            Self::TooManyChunks { .. } => Party::Capacity,
            Self::Ambiguous { .. }
            | Self::Taken { .. }
            | Self::Buddies { .. }
            | Self::OldBuddy { .. }
            | Self::NoCopy { .. }
            | Self::IsBuddy { .. }
            | Self::NoTaskFile { .. }
            | Self::TwoTaskFiles { .. }
            | Self::MixedTaskFiles => Party::Argument,
        }
    }

    pub(crate) fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::Sibling { error, .. } => error.kind(),
            Self::Format(error) if error.blames_caller() => io::ErrorKind::InvalidInput,
            Self::Format(_)
            | Self::Task { .. }
            | Self::Ambiguous { .. }
            | Self::Stale { .. }
            | Self::Apart { .. }
            | Self::OtherSet { .. }
            | Self::NoCopy { .. } => io::ErrorKind::InvalidData,
            Self::OldBuddy { .. } => io::ErrorKind::AlreadyExists,
            Self::Taken { .. }
            | Self::TwoTaskFiles { .. }
            | Self::MixedTaskFiles
            | Self::IsBuddy { .. }
            | Self::Buddies { .. } => io::ErrorKind::InvalidInput,
            Self::NoGlobalrank { .. } | Self::NoKey { .. } | Self::NoTaskFile { .. } => {
                io::ErrorKind::NotFound
            }
            Self::TooManyChunks { .. } => io::ErrorKind::OutOfMemory,
        }
    }
}

impl From<Error> for ErrorKind {
    fn from(error: Error) -> Self {
        Self::Format(error)
    }
}
