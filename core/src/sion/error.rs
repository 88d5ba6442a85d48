//! Errors of SIONlib files, and of requests to them.

use super::raw::{CommitFields, Ident, RecordHeader, SealTrailer, TABLES};
use crate::error::errors;
use crate::field::{At, FieldId, Name};
use crate::step::DriveError;
use crate::store::Swapped;
use core::fmt;

errors! {
    /// Why a SIONlib file cannot be read or written, or why a request is wrong.
    ///
    /// The text names the field, its offset in the physical file in bytes, the value found, and the
    /// right values.
    pub enum Error;

    /// The file does not start with `sion`.
    file NotSion {
        /// The first bytes, as many as there are, then zeros.
        magic: [u8; 4],
    } => "{} is \"{}\", must be \"sion\"", at(Ident::magic, 0), magic.escape_ascii();

    /// SIONlib 2 or newer wrote it, in another layout.
    file Sionlib2 {
        /// `Ident::version`, 1000 * main + sub.
        version: i32,
    } =>
        "{} is {version}: the file was written by SIONlib {} in another layout, must be at most \
         1999", at(Ident::version, 8), version.checked_div(1000).unwrap_or(0);

    /// `Ident::fileformat_version` is not 2, 3, 4 or 5.
    file FormatVersion {
        /// The value found.
        fileformat_version: i32,
    } => "{} is {fileformat_version}, must be 2, 3, 4 or 5", at(Ident::fileformat_version, 16);

    /// The file ends inside a field, or inside a table with `count` entries.
    file Cut {
        field: FieldId,
        /// Where the field or table starts.
        offset: u64,
        /// The number of entries of the table; 1 for a field.
        count: u64,
        file_len: u64,
    } => |f| {
        let size = field.find(TABLES).map_or(0, |(_, field)| u64::from(field.size));
        match count {
            1 => write!(f, "{} needs {size} bytes", at(field, offset))?,
            _ => write!(f, "{} needs {count} times {size} bytes", at(field, offset))?,
        }
        write!(f, ", but the file ends at {file_len}")
    };

    /// A value is less than the smallest right value.
    file TooSmall { field: FieldId, offset: u64, value: i64, min: i64 } =>
        "{} is {value}, must be at least {min}", at(field, offset);

    /// A value is larger than the file or its other fields allow.
    file TooLarge { field: FieldId, offset: u64, value: i64, max: i64 } =>
        "{} is {value}, must be at most {max}", at(field, offset);

    /// A field differs from the value that other files of the set require.
    file Differs {
        field: FieldId,
        /// The number of the physical file in its set.
        file: u32,
        value: i64,
        expected: i64,
    } =>
        "{} of file {file} of the set is {value}, must be {expected}",
        at(field, field.offset().into());

    /// A key-value record is longer than the rest of its stream.
    file RecordCut {
        /// The stream position of the record's header.
        position: u64,
        /// The length of header and value in bytes.
        len: u64,
        /// The bytes of the stream from `position` to its end.
        left: u64,
    } => |f| { fmt_record_cut(f, position, len, left) };

    /// The file was never closed, so there is no META2.
    file NotClosed {
        /// Where `start_of_varheader` is, or would be.
        offset: u64,
    } =>
        "{} is 0, must be that of META2: the file was never closed",
        at(CommitFields::start_of_varheader, offset);

    /// Bytes changed since they were sealed.
    file Checksum { field: FieldId, offset: u64, stored: u32, computed: u32 } =>
        "{} is {stored:#010x}, but the bytes that it seals have {computed:#010x}",
        at(field, offset);

    /// A number changed since it was sealed; the checksums of the seal prove it.
    file NotAsSealed {
        field: FieldId,
        offset: u64,
        value: i64,
        /// The value that was sealed.
        sealed: i64,
    } => "{} is {value}, must be {sealed} as it was sealed", at(field, offset);

    /// The magic of a seal is damaged; the rest of the seal is whole.
    file SealMagic {
        offset: u64,
        /// The value found.
        magic: [u8; 16],
    } =>
        "{} is \"{}\", must be \"{}\"",
        at(SealTrailer::magic, offset), magic.escape_ascii(), SealTrailer::MAGIC.escape_ascii();

    /// A value is out of the range of a field.
    caller OutOfRange { field: FieldId, value: i64, min: i64, max: i64 } =>
        "{} cannot be {value}, must be from {min} to {max}", name(field);

    /// A prefix is longer than SIONlib can read.
    caller PrefixTooLong {
        /// The length of the prefix in bytes.
        len: u64,
    } => "META1.filenameprefix cannot have {len} bytes, must be at most 1023";

    /// A record that must lie in one chunk is longer than the task's chunksize.
    caller RecordTooLong {
        /// The length of the record in bytes.
        len: u64,
        /// The task's chunksize.
        chunksize: u64,
    } => "a record of {len} bytes never fits into a chunk of the task, must be at most {chunksize}";

    /// The task's chunksize is 0, so its stream cannot have bytes.
    caller NoRoom => "the chunksize of the task is 0, must be at least 1 to write to it";

    /// A chunk has no place in the file, as an offset or a count would be too large.
    caller FileFull { chunk: u64 } => "chunk {chunk} of the task has no place in a file";

    /// There are fewer Pens than tasks.
    capacity Pens {
        /// The number of tasks of the physical file.
        ntasks: u64,
        /// The number of Pens given.
        have: u64,
    } => "{have} Pens were given, must be at least {ntasks}, one a task";

    /// The window is too small.
    capacity Window {
        /// The bytes that the window needs.
        need: u64,
    } => "the window is too small, must be at least {need} bytes";

    /// Plain bytes were written to a stream of key-value records.
    caller OnlyKeyval => "the streams of the file are key-value records";

    /// The memory for chunks that were finished since the last commit is full.
    capacity LedgerFull {
        /// The number of chunks that the memory holds.
        capacity: u64,
    } =>
        "more than {capacity} chunks were finished since the last commit, which is all that there \
         is memory for";

    /// The number of physical files given is not that of the set.
    caller SetOf {
        /// The number of files given.
        given: u32,
        nfiles: u32,
    } => "{given} physical files given, the set has {nfiles}";

    /// After an error, the store does not have the file that is being written. Nothing is written
    /// to another medium; the writer goes on when its own one is back.
    caller Swapped => "the store does not have the file that is being written";

    /// There is no such task.
    caller NoTask {
        /// The number of the task, from 0.
        task: u64,
        /// The number of tasks.
        ntasks: u64,
    } => "there is no task {task}, tasks are 0 to {}", ntasks.saturating_sub(1);

    /// The task has no such chunk.
    caller NoChunk {
        chunk: u64,
        /// The number of chunks that the task used.
        blockcount: u64,
    } => "there is no chunk {chunk}, the task has {blockcount}";

    /// The file has no key-value records.
    caller NoKeyval => "the file has no key-value records";

    /// A position is outside the stream or its chunk, or exceeds `u64::MAX`.
    caller Position => "the position is outside the stream or its chunk";
}

const _: () = assert!(size_of::<Error>() <= 32);

/// A field with its place, as texts name it: `META1.ntasks at offset 24`.
const fn at(field: FieldId, offset: u64) -> At {
    At(TABLES, field, offset)
}

/// A field as texts name it, without its place.
const fn name(field: FieldId) -> Name {
    Name(TABLES, field)
}

/// The text of a record that is cut inside its header, or inside its value.
fn fmt_record_cut(f: &mut fmt::Formatter<'_>, position: u64, len: u64, left: u64) -> fmt::Result {
    let header = u64::from(RecordHeader::TABLE.len);
    match left.checked_sub(header) {
        None => write!(
            f,
            "record.key at stream position {position} needs {header} bytes with record.len, but \
             the stream ends {left} bytes behind it"
        ),
        Some(left) => write!(
            f,
            "record.len at stream position {} is {}, must be at most the {left} bytes that are \
             left of the stream",
            position.saturating_add(RecordHeader::len.offset().into()),
            len.saturating_sub(header),
        ),
    }
}

impl<S> From<Error> for DriveError<S, Error> {
    fn from(error: Error) -> Self {
        Self::Format(error)
    }
}

impl Swapped for Error {
    const SWAPPED: Self = Self::Swapped;
}

/// Why reading from a store `S` failed: the store, the file or the caller's buffer.
pub type ReadError<S> = DriveError<<S as crate::store::ReadAt>::Error, Error>;

/// Why writing to a store `S` failed: the store, the file or the caller.
pub type WriteError<S> = ReadError<S>;

/// Why reading from an asynchronous store `S`, or writing to it, failed.
#[cfg(feature = "async")]
pub type AsyncError<S> = DriveError<<S as crate::store::AsyncReadAt>::Error, Error>;
