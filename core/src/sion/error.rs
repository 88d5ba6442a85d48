//! What can be wrong with a SIONlib file, or with what was asked of it.

use super::raw::{CommitFields, Ident, RecordHeader, SealTrailer, TABLES};
use crate::field::FieldId;
use core::fmt;

/// Why a SIONlib file cannot be read, or a request not be served.
///
/// A field is named with its offset in the physical file, in bytes, the value that stands there,
/// and what would be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// The file: it does not start with `sion`.
    NotSion {
        /// The first bytes, as many as there are, then zeros.
        magic: [u8; 4],
    },
    /// The file: written by SIONlib 2 or newer, whose layout is another one.
    Sionlib2 {
        /// `Ident::version`, 1000 * main + sub.
        version: i32,
    },
    /// The file: its fileformat_version is none of 2, 3, 4 and 5.
    FormatVersion {
        /// The value found.
        fileformat_version: i32,
    },
    /// The file: it ends inside a field, or inside a table of `count` of them.
    Cut {
        /// The field.
        field: FieldId,
        /// Where the field or table starts.
        offset: u64,
        /// Entries that should be there.
        count: u64,
        /// Length of the file.
        file_len: u64,
    },
    /// The file: a value is smaller than it can be.
    TooSmall {
        /// The field.
        field: FieldId,
        /// Where it is.
        offset: u64,
        /// The value found.
        value: i64,
        /// The smallest right value.
        min: i64,
    },
    /// The file: a value is larger than the file, or its other fields, allow.
    TooLarge {
        /// The field.
        field: FieldId,
        /// Where it is.
        offset: u64,
        /// The value found.
        value: i64,
        /// The largest right value.
        max: i64,
    },
    /// The file: two places that should say the same do not.
    Differs {
        /// The field.
        field: FieldId,
        /// Number of the physical file in its set.
        file: u32,
        /// The value found.
        value: i64,
        /// The value that was expected.
        expected: i64,
    },
    /// The file: a key-value record is longer than what is left of its stream.
    RecordCut {
        /// Stream position of the record's header.
        position: u64,
        /// Bytes that the header and value should have.
        len: u64,
        /// Bytes that are left in the stream from `position`.
        left: u64,
    },
    /// The file: it was never closed, so there is no META2.
    NotClosed {
        /// Where `start_of_varheader` is, or would be.
        offset: u64,
    },
    /// The file: bytes are not those that its seal was made of.
    Checksum {
        /// The checksum's field.
        field: FieldId,
        /// Where it is.
        offset: u64,
        /// The checksum that stands there.
        stored: u32,
        /// That of the bytes as they are.
        computed: u32,
    },
    /// The file: a number is not the one that was sealed, and all else that says so is.
    NotAsSealed {
        /// The field.
        field: FieldId,
        /// Where it is.
        offset: u64,
        /// The value found.
        value: i64,
        /// The value that was sealed.
        sealed: i64,
    },
    /// The file: a seal is whole but for its magic.
    SealMagic {
        /// Where the magic is.
        offset: u64,
        /// What stands there.
        magic: [u8; 16],
    },
    /// The caller: a value that no file can hold.
    OutOfRange {
        /// The field.
        field: FieldId,
        /// The value that was given.
        value: i64,
        /// The smallest right value.
        min: i64,
        /// The largest right value.
        max: i64,
    },
    /// The caller: a prefix of more bytes than SIONlib can read.
    PrefixTooLong {
        /// Its length in bytes.
        len: u64,
    },
    /// The caller: a record that is to lie in one chunk is longer than the task's chunks.
    RecordTooLong {
        /// Bytes of the record.
        len: u64,
        /// Bytes of a chunk of the task; 0 if it has no room at all.
        chunksize: u64,
    },
    /// The caller: a chunk that has no place in a file, as offsets or counts would be too large.
    FileFull {
        /// Index of the chunk.
        chunk: u64,
    },
    /// The caller: fewer Pens than there are tasks.
    Pens {
        /// Tasks of the physical file.
        ntasks: u64,
        /// Pens that were given.
        have: u64,
    },
    /// The caller: memory to work in that is too small for anything.
    Window {
        /// Bytes that it must have.
        need: u64,
    },
    /// The caller: plain bytes for a stream of key-value records.
    OnlyKeyval,
    /// The caller: the memory for chunks that were finished since the last commit is full.
    LedgerFull {
        /// Chunks that it holds.
        capacity: u64,
    },
    /// The caller: fewer or more physical files than the set has.
    SetOf {
        /// Files that were handed over.
        given: u32,
        /// Files that the set has.
        nfiles: u32,
    },
    /// The caller: there is no such task.
    NoTask {
        /// The task that was asked for, from 0.
        task: u64,
        /// Tasks that there are.
        ntasks: u64,
    },
    /// The caller: the task has no such chunk.
    NoChunk {
        /// The chunk that was asked for, from 0.
        chunk: u64,
        /// Chunks that the task used.
        blockcount: u64,
    },
    /// The caller: the file has no key-value records.
    NoKeyval,
    /// The caller: a position before the start of a stream, or one that is no `u64`.
    Position,
}

const _: () = assert!(size_of::<Error>() <= 32);

impl Error {
    /// Whether the caller is to blame, and not the file: for what was asked, or for the memory that
    /// was lent.
    #[must_use]
    pub const fn blames_caller(&self) -> bool {
        matches!(
            self,
            Self::OutOfRange { .. }
                | Self::PrefixTooLong { .. }
                | Self::RecordTooLong { .. }
                | Self::FileFull { .. }
                | Self::OnlyKeyval
                | Self::LedgerFull { .. }
                | Self::Window { .. }
                | Self::Pens { .. }
                | Self::SetOf { .. }
                | Self::NoTask { .. }
                | Self::NoChunk { .. }
                | Self::NoKeyval
                | Self::Position
        )
    }
}

/// A field as error texts name it: `META1.ntasks at offset 24`.
struct At(FieldId, u64);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.find(TABLES) {
            Some((table, field)) => write!(f, "{}.{}", table.part, field.name)?,
            None => f.write_str("a field")?,
        }
        write!(f, " at offset {}", self.1)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NotSion { magic } => {
                write!(f, "{} is \"{}\"", At(Ident::magic, 0), magic.escape_ascii())?;
                f.write_str(", must be \"sion\"")
            }
            Self::Sionlib2 { version } => write!(
                f,
                "{} is {version}: the file was written by SIONlib {} in another layout, \
                 must be at most 1999",
                At(Ident::version, 8),
                version.checked_div(1000).unwrap_or(0),
            ),
            Self::FormatVersion { fileformat_version } => write!(
                f,
                "{} is {fileformat_version}, must be 2, 3, 4 or 5",
                At(Ident::fileformat_version, 16),
            ),
            Self::Cut { field, offset, count, file_len } => {
                let size = field.find(TABLES).map_or(0, |(_, field)| u64::from(field.size));
                match count {
                    1 => write!(f, "{} needs {size} bytes", At(field, offset))?,
                    _ => write!(f, "{} needs {count} times {size} bytes", At(field, offset))?,
                }
                write!(f, ", but the file ends at {file_len}")
            }
            Self::TooSmall { field, offset, value, min } => {
                write!(f, "{} is {value}, must be at least {min}", At(field, offset))
            }
            Self::TooLarge { field, offset, value, max } => {
                write!(f, "{} is {value}, must be at most {max}", At(field, offset))
            }
            Self::Differs { field, file, value, expected } => {
                let at = At(field, u64::from(field.offset()));
                write!(f, "{at} of file {file} of the set is {value}, must be {expected}")
            }
            Self::RecordCut { position, len, left } => {
                let header = u64::from(RecordHeader::TABLE.len);
                match left.checked_sub(header) {
                    None => write!(
                        f,
                        "record.key at stream position {position} needs {header} bytes with \
                         record.len, but the stream ends {left} bytes behind it"
                    ),
                    Some(left) => write!(
                        f,
                        "record.len at stream position {} is {}, must be at most the {left} bytes \
                         that are left of the stream",
                        position.saturating_add(RecordHeader::len.offset().into()),
                        len.saturating_sub(header),
                    ),
                }
            }
            Self::Checksum { field, offset, stored, computed } => write!(
                f,
                "{} is {stored:#010x}, but the bytes that it seals have {computed:#010x}",
                At(field, offset)
            ),
            Self::OutOfRange { field, value, min, max } => {
                match field.find(TABLES) {
                    Some((table, field)) => write!(f, "{}.{}", table.part, field.name)?,
                    None => f.write_str("a field")?,
                }
                write!(f, " cannot be {value}, must be from {min} to {max}")
            }
            Self::NotAsSealed { field, offset, value, sealed } => {
                write!(f, "{} is {value}, must be {sealed} as it was sealed", At(field, offset))
            }
            Self::SealMagic { offset, magic } => {
                let at = At(SealTrailer::magic, offset);
                let (magic, usual) = (magic.escape_ascii(), SealTrailer::MAGIC.escape_ascii());
                write!(f, "{at} is \"{magic}\", must be \"{usual}\"")
            }
            Self::PrefixTooLong { len } => {
                write!(f, "META1.filenameprefix cannot have {len} bytes, must be at most 1023")
            }
            Self::RecordTooLong { len, chunksize } => write!(
                f,
                "a record of {len} bytes never fits into a chunk of the task, must be at most \
                 {chunksize}"
            ),
            Self::FileFull { chunk } => {
                write!(f, "chunk {chunk} of the task has no place in a file")
            }
            Self::Pens { ntasks, have } => {
                write!(f, "{have} Pens were given, must be at least {ntasks}, one a task")
            }
            Self::Window { need } => {
                write!(f, "the window is too small, must be at least {need} bytes")
            }
            Self::OnlyKeyval => f.write_str("the streams of the file are key-value records"),
            Self::LedgerFull { capacity } => write!(
                f,
                "more than {capacity} chunks were finished since the last commit, which is all \
                 that there is memory for"
            ),
            Self::NotClosed { offset } => {
                let at = At(CommitFields::start_of_varheader, offset);
                write!(f, "{at} is 0, must be that of META2: the file was never closed")
            }
            Self::SetOf { given, nfiles } => {
                write!(f, "{given} physical files given, the set has {nfiles}")
            }
            Self::NoTask { task, ntasks } => {
                write!(f, "there is no task {task}, tasks are 0 to {}", ntasks.saturating_sub(1))
            }
            Self::NoChunk { chunk, blockcount } => {
                write!(f, "there is no chunk {chunk}, the task has {blockcount}")
            }
            Self::NoKeyval => f.write_str("the file has no key-value records"),
            Self::Position => f.write_str("the position is before the start of the stream"),
        }
    }
}

impl core::error::Error for Error {}
