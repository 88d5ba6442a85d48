//! Errors of SIONlib files, and of requests to them.

use super::raw::{CommitFields, Ident, RecordHeader, SealTrailer, TABLES};
use crate::field::FieldId;
use crate::store::Swapped;
use core::fmt;

/// Why a SIONlib file cannot be read or written, or why a request is wrong.
///
/// The text names the field, its offset in the physical file in bytes, the value found, and the
/// right values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// The file: it does not start with `sion`.
    NotSion {
        /// The first bytes, as many as there are, then zeros.
        magic: [u8; 4],
    },
    /// The file: SIONlib 2 or newer wrote it, in another layout.
    Sionlib2 {
        /// `Ident::version`, 1000 * main + sub.
        version: i32,
    },
    /// The file: its fileformat_version is not 2, 3, 4 or 5.
    FormatVersion {
        /// The value found.
        fileformat_version: i32,
    },
    /// The file: it ends inside a field, or inside a table with `count` entries.
    Cut {
        /// The field.
        field: FieldId,
        /// Where the field or table starts.
        offset: u64,
        /// The number of entries of the table; 1 for a field.
        count: u64,
        /// The length of the file in bytes.
        file_len: u64,
    },
    /// The file: a value is less than the smallest right value.
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
    /// The file: a value is larger than the file or its other fields allow.
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
    /// The file: a field differs from the value that other files of the set require.
    Differs {
        /// The field.
        field: FieldId,
        /// The number of the physical file in its set.
        file: u32,
        /// The value found.
        value: i64,
        /// The value that was expected.
        expected: i64,
    },
    /// The file: a key-value record is longer than the rest of its stream.
    RecordCut {
        /// The stream position of the record's header.
        position: u64,
        /// The length of header and value in bytes.
        len: u64,
        /// The bytes of the stream from `position` to its end.
        left: u64,
    },
    /// The file: it was never closed, so there is no META2.
    NotClosed {
        /// Where `start_of_varheader` is, or would be.
        offset: u64,
    },
    /// The file: bytes changed since they were sealed.
    Checksum {
        /// The checksum's field.
        field: FieldId,
        /// Where it is.
        offset: u64,
        /// The checksum in the file.
        stored: u32,
        /// The checksum of the bytes as they are now.
        computed: u32,
    },
    /// The file: a number changed since it was sealed; the checksums of the seal prove it.
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
    /// The file: the magic of a seal is damaged; the rest of the seal is whole.
    SealMagic {
        /// Where the magic is.
        offset: u64,
        /// The value found.
        magic: [u8; 16],
    },
    /// The caller: a value is out of the range of a field.
    OutOfRange {
        /// The field.
        field: FieldId,
        /// The value given.
        value: i64,
        /// The smallest right value.
        min: i64,
        /// The largest right value.
        max: i64,
    },
    /// The caller: a prefix is longer than SIONlib can read.
    PrefixTooLong {
        /// The length of the prefix in bytes.
        len: u64,
    },
    /// The caller: a record that must lie in one chunk is longer than the task's chunksize.
    RecordTooLong {
        /// The length of the record in bytes.
        len: u64,
        /// The task's chunksize; 0 if the task can write nothing.
        chunksize: u64,
    },
    /// The caller: a chunk has no place in the file, as an offset or a count would be too large.
    FileFull {
        /// The index of the chunk.
        chunk: u64,
    },
    /// The caller: there are fewer Pens than tasks.
    Pens {
        /// The number of tasks of the physical file.
        ntasks: u64,
        /// The number of Pens given.
        have: u64,
    },
    /// The caller: the window is too small.
    Window {
        /// The bytes that the window needs.
        need: u64,
    },
    /// The caller: plain bytes were written to a stream of key-value records.
    OnlyKeyval,
    /// The caller: the memory for chunks that were finished since the last commit is full.
    LedgerFull {
        /// The number of chunks that the memory holds.
        capacity: u64,
    },
    /// The caller: the number of physical files given is not that of the set.
    SetOf {
        /// The number of files given.
        given: u32,
        /// The number of files of the set.
        nfiles: u32,
    },
    /// The caller: after an error, the store does not have the file that is being written. Nothing
    /// is written to another medium; the writer goes on when its own one is back.
    Swapped,
    /// The caller: there is no such task.
    NoTask {
        /// The number of the task, from 0.
        task: u64,
        /// The number of tasks.
        ntasks: u64,
    },
    /// The caller: the task has no such chunk.
    NoChunk {
        /// The index of the chunk.
        chunk: u64,
        /// The number of chunks that the task used.
        blockcount: u64,
    },
    /// The caller: the file has no key-value records.
    NoKeyval,
    /// The caller: a position is outside the stream or its chunk, or exceeds `u64::MAX`.
    Position,
}

const _: () = assert!(size_of::<Error>() <= 32);

impl Error {
    /// Whether the caller is to blame and not the file: for a wrong request or for too little
    /// memory.
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
                | Self::Swapped
                | Self::NoTask { .. }
                | Self::NoChunk { .. }
                | Self::NoKeyval
                | Self::Position
        )
    }
}

/// The name of a field in error texts: `META1.ntasks at offset 24`.
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
    #[allow(clippy::too_many_lines, reason = "a list: the words of each error")]
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
            Self::Swapped => f.write_str("the store does not have the file that is being written"),
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

impl Swapped for Error {
    const SWAPPED: Self = Self::Swapped;
}
