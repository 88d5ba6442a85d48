//! What verifying finds, and how it says so.

use crate::finding::Severity;
use crate::shown;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use striae_core::field::FieldId;
use striae_core::sion::{Error, raw};
use striae_core::span::Span;

/// Something that is wrong or unusual. Its `Display` is one line, without the severity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The physical file that it is in.
    pub file: Arc<Path>,
    /// How bad it is.
    pub severity: Severity,
    /// What it is.
    pub what: FindingKind,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FindingKind {
    /// A field has a value that the format does not allow, or other fields contradict.
    Wrong(Error),
    /// A field has a value that no known writer puts there, and that nothing suffers from.
    Unusual {
        /// The field.
        field: FieldId,
        /// Where it is, or the part of it that is unusual.
        offset: u64,
        /// What stands there.
        value: String,
        /// What usually stands there.
        usual: String,
    },
    /// The file was never closed: it has no META2.
    NotClosed {
        /// Where META1 would say the place of META2.
        offset: u64,
    },
    /// The bytes that a task used of a chunk are also bytes of META2 or the mapping.
    Overlap {
        /// Where META2 says how much of the chunk is used.
        offset: u64,
        /// The task's local rank.
        task: u32,
        /// The chunk, from 0.
        chunk: u64,
        /// The bytes that are used.
        used: Span,
        /// META2 and the mapping.
        tables: Span,
    },
    /// A task's stream is not made of whole key-value records.
    Record {
        /// Where the last record's header starts.
        offset: u64,
        /// The task's local rank.
        task: u32,
        /// What is wrong with it.
        error: Error,
    },
    /// The mapping leads to a task that has another global rank.
    Misled {
        /// Where the entry is.
        offset: u64,
        /// The entry's index: the global rank that it is for.
        entry: u64,
        /// The physical file that it names.
        filenumber: u32,
        /// The task in that file that it names.
        lrank: u32,
        /// That task's global rank.
        globalrank: i64,
    },
    /// Several tasks of the set have the same global rank.
    Repeated {
        /// The global rank.
        globalrank: i64,
        /// How many tasks have it.
        tasks: u64,
    },
    /// Bytes behind all that is read, up to the end of the file.
    Trailing {
        /// Where they start.
        offset: u64,
        /// How many they are.
        len: u64,
    },
    /// The bytes that a task used of a chunk are not those that were sealed.
    Chunk {
        /// The task's local rank.
        task: u32,
        /// The chunk, from 0.
        chunk: u64,
        /// The bytes that are used.
        used: Span,
        /// The checksum in the seal.
        stored: u32,
        /// That of the bytes as they are.
        computed: u32,
    },
    /// The bytes that a task used of a chunk cannot be read, although they are in the file.
    UnreadableChunk {
        /// The task's local rank.
        task: u32,
        /// The chunk, from 0.
        chunk: u64,
        /// The bytes that are used.
        used: Span,
        /// Its kind of error.
        kind: io::ErrorKind,
        /// What the operating system says.
        message: String,
    },
    /// A field has another value than the seal, with which all other bytes of its table agree.
    NotAsSealed {
        /// The field.
        field: FieldId,
        /// Where it is.
        offset: u64,
        /// The value found.
        value: i64,
        /// The value in the seal.
        sealed: i64,
    },
    /// A seal does not end as seals do, and is one by its checksum.
    SealMagic {
        /// Where it should do so.
        offset: u64,
        /// What stands there.
        magic: [u8; 16],
    },
    /// A seal is that of another state of the file.
    StaleSeal {
        /// Where its trailer is.
        offset: u64,
    },
    /// Files of the set are not there: this one, up to number `last`.
    Missing {
        /// Number of this file.
        first: u32,
        /// Number of the last one in a row that is not there.
        last: u32,
    },
    /// The operating system refused or failed.
    Unreadable {
        /// Its kind of error.
        kind: io::ErrorKind,
        /// What it says.
        message: String,
    },
    /// The file became shorter while it was read.
    Ended {
        /// Where a byte was expected.
        offset: u64,
    },
    /// The set has too many tasks to compare global ranks: they were not checked.
    TooManyTasks {
        /// So many.
        ntasks: u64,
        /// The most that are compared.
        limit: u64,
    },
}

/// A field as core's errors name it: `META1.ntasks`.
struct Name(FieldId);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.find(raw::TABLES) {
            Some((table, field)) => write!(f, "{}.{}", table.part, field.name),
            None => f.write_str("a field"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", shown::path(&self.file), self.what)
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong(error) => error.fmt(f),
            Self::Unusual { field, offset, value, usual } => {
                write!(f, "{} at offset {offset} is {value}, usually {usual}", Name(*field))
            }
            Self::NotClosed { offset } => Error::NotClosed { offset: *offset }.fmt(f),
            Self::Overlap { offset, task, chunk, used, tables } => {
                let (field, len) = (Name(raw::BlocksizeEntry::blocksize), used.len());
                write!(
                    f,
                    "{field} at offset {offset} is {len}: the used part of chunk {chunk} of "
                )?;
                write!(f, "task {task} is from {} to {}, must not ", used.offset(), used.end())?;
                write!(f, "overlap the tables from {} to {}", tables.offset(), tables.end())
            }
            Self::Record { offset, task, error } => {
                let field = Name(raw::RecordHeader::len);
                write!(f, "{field} behind offset {offset}, in the stream of task {task}: {error}")
            }
            Self::Misled { offset, entry, filenumber, lrank, globalrank } => {
                let field = Name(raw::MappingEntry::filenumber);
                write!(f, "{field} at offset {offset} is {filenumber} and lrank is {lrank}: ")?;
                write!(f, "that task has globalrank {globalrank}, not {entry}")
            }
            Self::Repeated { globalrank, tasks } => {
                let field = Name(raw::GlobalrankEntry::globalrank);
                write!(f, "{field} of {tasks} tasks is {globalrank}, usually that of one")
            }
            Self::Trailing { offset, len } => {
                write!(f, "{len} bytes at offset {offset} are behind all that is read, usually 0")
            }
            Self::Chunk { task, chunk, used, stored, computed } => {
                let (field, offset, len) =
                    (Name(raw::ChunkCrcEntry::crc), used.offset(), used.len());
                write!(f, "{field} of chunk {chunk} of task {task} is {stored:#010x}, but ")?;
                write!(f, "the {len} bytes at offset {offset} that it seals have {computed:#010x}")
            }
            Self::UnreadableChunk { task, chunk, used, message, .. } => {
                write!(f, "chunk {chunk} of task {task}, at offset {}: {message}", used.offset())
            }
            Self::NotAsSealed { field, offset, value, sealed } => {
                let (field, offset) = (*field, *offset);
                Error::NotAsSealed { field, offset, value: *value, sealed: *sealed }.fmt(f)
            }
            Self::SealMagic { offset, magic } => {
                Error::SealMagic { offset: *offset, magic: *magic }.fmt(f)
            }
            Self::StaleSeal { offset } => {
                write!(
                    f,
                    "the seal that ends with the {} bytes at offset ",
                    raw::SealTrailer::TABLE.len
                )?;
                write!(
                    f,
                    "{offset} is that of an older state: the file was changed later and not "
                )?;
                f.write_str("sealed again, so its data were not checked")
            }
            Self::Missing { first, last } => match last.saturating_sub(*first) {
                0 => write!(f, "file {first} of the set is missing"),
                _ => write!(f, "files {first} to {last} of the set are missing"),
            },
            Self::Unreadable { message, .. } => f.write_str(message),
            Self::Ended { offset } => write!(f, "ended at offset {offset} while it was read"),
            Self::TooManyTasks { ntasks, limit } => {
                let field = Name(raw::GlobalrankEntry::globalrank);
                write!(f, "{field} of {ntasks} tasks was not compared, at most that of {limit} is")
            }
        }
    }
}
