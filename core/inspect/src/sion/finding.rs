//! The findings of verifying a SIONlib set.

use crate::finding::{Count, Facts, FieldName, error_facts, findings};
use alloc::string::String;
use core::fmt;
use embedded_io::ErrorKind;
use striae_core::field::FieldId;
use striae_core::sion::{Error, raw};
use striae_core::span::Span;

findings! {
    /// A problem or an unusual fact in a SIONlib set.
    pub enum FindingKind;

    /// A field has a harmless value that no known writer stores.
    Note "unusual" Unusual { field: FieldId, offset: u64, value: String, usual: String }
    |facts| Facts { usual: Some(usual.clone()), ..at(facts, *field, *offset).text(value) }
    => "{} at offset {offset} is {value}, usually {usual}", name(*field);

    /// META2 is neither where a close puts it nor where a commit can: one of its place, the number
    /// of rows and the chunksizes is wrong.
    Damage "misplaced" Misplaced {
        offset: u64,
        /// Where META2 is.
        start: u64,
        /// Where a close would have put it.
        expected: u64,
    }
    |facts| at(facts, raw::CommitFields::start_of_varheader, *offset)
        .value(*start)
        .expected(*expected)
    => "{} at offset {offset} is {start}, must be {expected} by {} and the chunk sizes: one of them \
        may be wrong, and chunks may be elsewhere", name(raw::CommitFields::start_of_varheader),
        name(raw::CommitFields::maxchunks);

    /// A chunk that a task did not use, by its blockcount, has used bytes: one of the two is wrong.
    Damage "unused_size" UnusedSize { offset: u64, task: u32, chunk: u64, value: i64 }
    |facts| in_chunk(at(facts, raw::BlocksizeEntry::blocksize, *offset), *task, *chunk)
        .value(*value)
    => "{} at offset {offset} is {value}, must be 0 or -1, as task {task} did not use chunk {chunk} \
        by its {}: one of them is wrong",
        name(raw::BlocksizeEntry::blocksize), name(raw::BlockcountEntry::blockcount);

    /// The used bytes of a chunk overlap META2 or the mapping.
    Damage "overlap" Overlap {
        /// The offset of the chunk's block size in META2.
        offset: u64,
        task: u32,
        chunk: u64,
        used: Span,
        /// META2 and the mapping.
        tables: Span,
    }
    |facts| in_chunk(at(facts, raw::BlocksizeEntry::blocksize, *offset), *task, *chunk)
        .value(used.len())
    => "{} at offset {offset} is {}: the used part of chunk {chunk} of task {task} is from {} to \
        {}, must not overlap the tables from {} to {}",
        name(raw::BlocksizeEntry::blocksize), used.len(),
        used.offset(), used.end(), tables.offset(), tables.end();

    /// A task's stream is not made of whole key-value records.
    Damage "record_cut" Record {
        /// The offset of the last record's header.
        offset: u64,
        task: u32,
        error: Error,
    }
    |facts| Facts { task: Some(*task), ..at(facts, raw::RecordHeader::len, *offset) }
    => "{} after offset {offset}, in the stream of task {task}: {error}",
        name(raw::RecordHeader::len);

    /// An entry of the mapping names a task with another global rank, although a task with this
    /// rank exists.
    Damage "misled" Misled {
        offset: u64,
        /// The entry's index: the global rank that it is for.
        entry: u64,
        /// The physical file that it names.
        filenumber: u32,
        /// The task in that file that it names.
        lrank: u32,
        globalrank: i64,
    }
    |facts| misled(facts, (*offset, *entry, *globalrank)),
    |f| write_misled(f, *offset, (*filenumber, *lrank), (*globalrank, *entry));

    /// An entry of the mapping names a task with another global rank, and no task has this rank.
    /// SIONlib's programs list such a task nevertheless.
    Note "misled" Unranked {
        offset: u64,
        /// The entry's index: the global rank that it is for.
        entry: u64,
        /// The physical file that it names.
        filenumber: u32,
        /// The task in that file that it names.
        lrank: u32,
        globalrank: i64,
    }
    |facts| misled(facts, (*offset, *entry, *globalrank)),
    |f| write_misled(f, *offset, (*filenumber, *lrank), (*globalrank, *entry));

    /// Several tasks of the set have the same global rank.
    Note "repeated" Repeated {
        globalrank: i64,
        /// The number of tasks that have it.
        tasks: u64,
    }
    |facts| of(facts, raw::GlobalrankEntry::globalrank).value(*globalrank)
    => "{} of {tasks} tasks is {globalrank}, usually that of one",
        name(raw::GlobalrankEntry::globalrank);

    /// Bytes from the end of the part that readers read to the end of the file.
    Note "trailing" Trailing { offset: u64, len: u64 }
    |facts| facts.span(*offset, *len)
    => "{len} bytes at offset {offset} are after all that is read, usually 0";

    /// The used bytes of a chunk differ from the checksum in the seal.
    Damage "chunk_checksum" Chunk { task: u32, chunk: u64, used: Span, stored: u32, computed: u32 }
    |facts| in_chunk(at(facts, raw::ChunkCrcEntry::crc, 0), *task, *chunk)
        .span(used.offset(), used.len())
        .crcs(*stored, *computed)
    => "{} of chunk {chunk} of task {task} is {stored:#010x}, but the {} bytes at offset {} that \
        it seals have {computed:#010x}", name(raw::ChunkCrcEntry::crc), used.len(), used.offset();

    /// The used bytes of a chunk are inside the file but cannot be read.
    Damage "unreadable_chunk" UnreadableChunk {
        task: u32, chunk: u64, used: Span, kind: ErrorKind, message: String,
    }
    |facts| in_chunk(facts.span(used.offset(), used.len()), *task, *chunk)
    => "chunk {chunk} of task {task}, at offset {}: {message}", used.offset();

    /// The seal belongs to another state of the file.
    Note "stale_seal" StaleSeal { offset: u64 }
    |facts| facts.span(*offset, raw::SealTrailer::TABLE.len.into())
    => "the seal that ends with the {} bytes at offset {offset} is that of an older state: the \
        file was changed later and not sealed again, so its data were not checked",
        raw::SealTrailer::TABLE.len;

    /// Files of the set are missing, from this one up to number `last`.
    Damage "missing" Missing {
        /// Number of this file.
        first: u32,
        /// Number of the last missing file in this row.
        last: u32,
    }
    |facts| facts.min(*first).max(*last),
    |f| match last.saturating_sub(*first) {
        0 => write!(f, "file {first} of the set is missing"),
        _ => write!(f, "files {first} to {last} of the set are missing"),
    };

    /// The file is of an older commit of the whole set than another file: a crash ended a commit
    /// while files became visible, which `striae recover` mends, or it is an older copy.
    Damage "set_commit" Apart {
        /// The number of the file's commit.
        number: u32,
        /// The number of the newest commit that a file is of.
        usual: u32,
    }
    |facts| of(facts, raw::SealTrailer::set_number).value(*number).expected(*usual)
    => "{} is {number}, but {usual} in another file of the set: this file is {} older; `striae \
        recover` brings files to one commit if a crash ended the newer one",
        name(raw::SealTrailer::set_number), Count(number.abs_diff(*usual).into(), "commit");

    /// The file is of another set than most files: its seal has another identity.
    Damage "other_set" OtherSet {
        /// The identity of its set; 0 if its seal has none.
        identity: u32,
        /// That of the other files.
        usual: u32,
    }
    |facts| of(facts, raw::SealTrailerV2::set_identity).value(*identity).expected(*usual)
    => "{} is {identity:#010x}, but {usual:#010x} in the other files of the set: this file belongs \
        to another set", name(raw::SealTrailerV2::set_identity);

    /// The set has too many tasks to compare global ranks: they were not checked.
    Note "too_many_tasks" TooManyTasks {
        /// The number of tasks.
        ntasks: u64,
        /// The largest number that is compared.
        limit: u64,
    }
    |facts| facts.value(*ntasks).max(*limit)
    => "{} of {ntasks} tasks was not compared, at most that of {limit} is",
        name(raw::GlobalrankEntry::globalrank);

    reading {
        /// Its kind of error.
        kind: ErrorKind
    }
    also
    /// A field has a value that the format does not allow, or that other fields or a seal
    /// contradict; or the file was never closed.
    Damage Wrong(Error) error_facts, ERRORS;
}

/// A field as errors name it: `META1.ntasks`.
const fn name(field: FieldId) -> FieldName {
    FieldName(raw::TABLES, field)
}

fn at(facts: Facts, field: FieldId, offset: u64) -> Facts {
    facts.field(raw::TABLES, field, offset)
}

/// A field of several places, or of several files.
fn of(facts: Facts, field: FieldId) -> Facts {
    Facts { offset: None, ..at(facts, field, 0) }
}

fn in_chunk(facts: Facts, task: u32, chunk: u64) -> Facts {
    Facts { task: Some(task), chunk: Some(chunk), ..facts }
}

fn misled(facts: Facts, (offset, entry, globalrank): (u64, u64, i64)) -> Facts {
    at(facts, raw::MappingEntry::filenumber, offset).value(globalrank).expected(entry)
}

fn write_misled(
    f: &mut fmt::Formatter<'_>,
    offset: u64,
    (filenumber, lrank): (u32, u32),
    (globalrank, entry): (i64, u64),
) -> fmt::Result {
    let field = name(raw::MappingEntry::filenumber);
    write!(f, "{field} at offset {offset} is {filenumber} and lrank is {lrank}: ")?;
    write!(f, "that task has globalrank {globalrank}, not {entry}")
}

error_facts! {
    /// What an error of a file says, as values.
    pub fn error_facts(Error), Damage ERRORS;

    /// The file does not start with the magic of SIONlib files.
    "not_sion" NotSion { magic } |facts| at(facts, raw::Ident::magic, 0).bytes(&magic);
    /// The file was written by SIONlib 2, which uses another format.
    "sionlib2" Sionlib2 { version }
        |facts| at(facts, raw::Ident::version, 8).value(version).max(1999);
    /// The format version is not supported.
    "format_version" FormatVersion { fileformat_version }
        |facts| at(facts, raw::Ident::fileformat_version, 16)
            .value(fileformat_version).min(2).max(5);
    /// The file ends inside a part that must be there.
    "cut" Cut { field, offset, file_len, .. }
        |facts| at(facts, field, offset).span(offset, file_len.saturating_sub(offset));
    /// A number is below the smallest allowed value.
    "too_small" TooSmall { field, offset, value, min }
        |facts| at(facts, field, offset).value(value).min(min);
    /// A number is above the largest allowed value.
    "too_large" TooLarge { field, offset, value, max }
        |facts| at(facts, field, offset).value(value).max(max);
    /// A field contradicts the rest of the file or of the set.
    "differs" Differs { field, value, expected, .. }
        |facts| at(facts, field, field.offset().into()).value(value).expected(expected);
    /// A stream ends inside a key-value record.
    "record_cut" RecordCut { .. } |facts| facts;
    /// The file was never closed: it has no META2.
    "not_closed" NotClosed { offset }
        |facts| at(facts, raw::CommitFields::start_of_varheader, offset).value(0);
    /// The stored checksum differs from the checksum of the bytes that it covers.
    "checksum" Checksum { field, offset, stored, computed }
        |facts| at(facts, field, offset).crcs(stored, computed);
    /// A field differs from the seal, but all other bytes of its table agree with the seal.
    "not_as_sealed" NotAsSealed { field, offset, value, sealed }
        |facts| at(facts, field, offset).value(value).expected(sealed);
    /// The magic of a seal is wrong, but its checksum is right.
    "seal_magic" SealMagic { offset, magic }
        |facts| at(facts, raw::SealTrailer::magic, offset).bytes(&magic);
}
