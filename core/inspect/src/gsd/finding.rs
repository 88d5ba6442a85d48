//! The findings of verifying a GSD file.

use super::Stale;
use super::verify::Part;
use crate::finding::{Count, Facts, FieldName, error_facts, findings};
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use embedded_io::ErrorKind;
use striae_core::field::FieldId;
use striae_core::gsd::check_entry::Finding as Entry;
use striae_core::gsd::raw::header_offset;
use striae_core::gsd::raw::{self, ChecksumRow, Commit, IndexEntry, NameSlot};
use striae_core::gsd::{Error, check_entry};
use striae_core::span::Span;
use striae_hoomd::Error as Hoomd;
use striae_hoomd::shown::Shown;

const fn name_of(field: FieldId) -> FieldName {
    FieldName(raw::TABLES, field)
}

fn at(facts: Facts, field: FieldId, offset: u64) -> Facts {
    facts.field(raw::TABLES, field, offset)
}

fn of_chunk(facts: Facts, frame: u64, id: u16) -> Facts {
    Facts { frame: Some(frame), id: Some(id), ..facts }
}

findings! {
    /// A problem or an unusual fact in a GSD file.
    pub enum FindingKind;

    /// A field has a harmless value that no known writer stores.
    Note "unusual" Unusual { field: FieldId, offset: u64, value: String, usual: &'static str }
    |facts| Facts { usual: Some((*usual).into()), ..at(facts, *field, *offset).text(value) }
    => "{} at offset {offset} is {value}, usually {usual}", name_of(*field);

    /// A field contradicts the rest of the file.
    Damage "differs" Differs {
        field: FieldId,
        offset: u64,
        value: u64,
        expected: u64,
        /// The source of the right value.
        by: &'static str,
    }
    |facts| at(facts, *field, *offset).value(*value).expected(*expected)
    => "{} at offset {offset} is {value}, must be {expected} {by}", name_of(*field);

    /// A text of the header has no NUL, so readers in C continue into the next field.
    Damage "not_terminated" NotTerminated { field: FieldId, offset: u64 }
    |facts| at(facts, *field, *offset)
    => "{} at offset {offset} has no NUL, must end with one", name_of(*field);

    /// A commit was interrupted while the header was written: a part of the header is of the commit
    /// before.
    Damage "torn" Torn {}
    |facts| at(facts, Commit::commit_crc, 252)
    => "{TORN}, and gsd may refuse it or see other frames";

    /// A commit was interrupted while the header was written: a part of the header is of the commit
    /// before, but all fields that gsd reads are sound.
    Note "torn" TornBehind {}
    |facts| at(facts, Commit::commit_crc, 252)
    => "{TORN}, and gsd does, too";

    /// A shadow proves a commit that the header does not show yet, as after a power cut with one
    /// sync per commit.
    Note "ahead" Ahead {
        offset: u64,
        /// Number of the commit that the header shows, or showed in part.
        shown: u32,
        /// Number of the commit that is proven.
        proven: u32,
    }
    |facts| at(facts, Commit::sequence, 224).value(*shown).expected(*proven)
    => "{} at offset 224 is {shown}, but the shadow at offset {offset} proves commit {proven}: gsd \
        sees an older one until striae writes to the file, and if it appends first, what is later is \
        lost", name_of(Commit::sequence);

    /// A shadow has a commit that the header does not show yet, and a part of its data is missing.
    /// Commits take one sync: the power failed before that sync was done, or the data was lost
    /// later.
    Note "unproven" Unproven {
        offset: u64,
        /// Number of the commit.
        number: u32,
    }
    |facts| at(facts, raw::Shadow::new, offset.saturating_add(raw::Shadow::new.offset().into()))
        .value(*number)
    => "the shadow at offset {offset} has commit {number}, cut off or damaged";

    /// gsd has appended since the last commit: all entries up to the first empty slot count. The
    /// commit record is stale, so its alignment and checksums are not used any more.
    Note "appended" Appended {
        /// The properties in the stale record, if it had any.
        stale: Option<Stale>,
    }
    |facts| at(facts, Commit::magic, 176),
    |f| {
        f.write_str("the commit record at offset 176 is older than what gsd has appended")?;
        let Some(stale) = stale else { return Ok(()) };
        write!(
            f,
            ": what came since has not the {stale} that it says, nor has what striae adds; convert \
             gives all of it anew"
        )
    };

    /// Two parts share bytes.
    Damage "overlap" Overlap {
        /// The offset of the field with the start of the second part.
        offset: u64,
        /// The part that starts first.
        first: Part,
        /// Its bytes.
        first_span: Span,
        /// The part that starts second.
        second: Part,
        /// Its bytes.
        second_span: Span,
    }
    |facts| facts.span(second_span.offset(), second_span.len())
    => "{second} is from {} to {}, says offset {offset}, must not overlap {first} from {} to {}",
        second_span.offset(), second_span.end(), first_span.offset(), first_span.end();

    /// An empty slot comes before used ones: some readers see the used ones, others do not.
    Damage "hole" Hole {
        /// The offset of the first empty slot.
        offset: u64,
        slot: u64,
        /// The number of used slots after it.
        used: u64,
    }
    |facts| at(facts, IndexEntry::location, *offset).value(0).count(*used)
    => "slot {slot} of the index at offset {offset} is empty, but {} after it are not: the end of \
        the index must be its only hole", Count(*used, "slot");

    /// A slot after the last entry has no location but is not empty: the write of an entry was cut
    /// off, and its frame lacks that chunk.
    Damage "half_entry" HalfEntry { offset: u64, slot: u64 }
    |facts| at(facts, IndexEntry::location, offset.saturating_add(16)).value(0)
    => "slot {slot} of the index at offset {offset} has no location, but other values, must be \
        empty after the last entry";

    /// A frame has several chunks of one name.
    Damage "repeated" Repeated {
        /// The offset of the id of the later entry.
        offset: u64,
        frame: u64,
        id: u16,
    }
    |facts| of_chunk(at(facts, IndexEntry::id, *offset), *frame, *id)
    => "{} at offset {offset} is {id}, but frame {frame} has a chunk of that name already",
        name_of(IndexEntry::id);

    /// A chunk is after the end that the commit record states: the next append overwrites it.
    Damage "behind_end" BehindEnd {
        /// The offset of its location field.
        offset: u64,
        span: Span,
        /// The end of the used part of the file.
        data_end: u64,
    }
    |facts| Facts { len: Some(span.len()), ..at(facts, IndexEntry::location, *offset) }
        .value(span.offset()).max(*data_end)
    => "{} at offset {offset} is {}, where the chunk ends at {}, must end at {data_end} at most",
        name_of(IndexEntry::location), span.offset(), span.end();

    /// A frame number is not below the number of slots, as in a file with many frames without
    /// chunks: gsd refuses such a file, although it may have written it.
    Note "many_frames" ManyFrames {
        /// The offset of the frame of the first such entry.
        offset: u64,
        /// That frame.
        frame: u64,
        /// Slots that the header shows.
        slots: u64,
        /// The number of such entries.
        count: u64,
    }
    |facts| Facts { frame: Some(*frame), ..at(facts, IndexEntry::frame, *offset) }
        .value(*frame).max(slots.saturating_sub(1)).count(*count)
    => "{} of {} is not below {slots}, as many as the index has, first {frame} at offset {offset}: \
        gsd refuses the file", name_of(IndexEntry::frame), Count(*count, "slot");

    /// Chunks have no rows: gsd's C library refuses to read them.
    Note "no_rows" NoRows { offset: u64, count: u64 }
    |facts| at(facts, IndexEntry::n, *offset).value(0).count(*count)
    => "{} of {} is 0, first at offset {offset}: gsd's C library refuses to read such",
        name_of(IndexEntry::n), Count(*count, "chunk");

    /// The file has chunks of text, which its layer version does not have: readers of that layer
    /// refuse the file.
    Note "early_text" EarlyText { offset: u64, count: u64 }
    |facts| at(facts, IndexEntry::kind, *offset).value(11).count(*count)
    => "{} of {} is 11, first at offset {offset}, usually so only in files of layer 2.1 or later",
        name_of(IndexEntry::kind), Count(*count, "chunk");

    /// A name occurs twice: readers take one of them, or refuse the file.
    Damage "name_repeated" NameRepeated {
        /// The offset of the second one.
        offset: u64,
        id: u16,
        /// The id of the first one.
        first: u16,
    }
    |facts| Facts { id: Some(*id), ..at(facts, NameSlot::name, *offset) }
    => "{} {id} at offset {offset} is that of {first}, must be another", name_of(NameSlot::name);

    /// A name is not UTF-8: readers in Python refuse the file.
    Damage "name_not_text" NameNotText { offset: u64, id: u16, name: Box<[u8]> }
    |facts| name_facts(facts, *offset, *id, name),
    |f| name_not_text(f, *offset, *id, name);

    /// A name of layer 1 is not UTF-8, because gsd has cut it inside a character.
    Note "name_not_text" NameCut { offset: u64, id: u16, name: Box<[u8]> }
    |facts| name_facts(facts, *offset, *id, name),
    |f| name_not_text(f, *offset, *id, name);

    /// A name of layer 1 fills its slot without a NUL, so readers in C continue into the next name.
    Damage "name_not_terminated" NameNotTerminated { offset: u64, id: u16 }
    |facts| Facts { id: Some(*id), ..at(facts, NameSlot::name, *offset) }
    => "{} {id} at offset {offset} has no NUL, must end with one", name_of(NameSlot::name);

    /// Bytes after the names, or in layer 1 after the end of a name, are not zero.
    Note "name_junk" NameJunk { offset: u64, count: u64 }
    |facts| at(facts, NameSlot::name, *offset).count(*count)
    => "{} after the names are not zero, the first at offset {offset}: pygsd takes them for names",
        Count(*count, "byte");

    /// Names that no chunk has.
    Note "names_unused" NamesUnused { offset: u64, id: u16, count: u64 }
    |facts| Facts { id: Some(*id), ..at(facts, NameSlot::name, *offset).count(*count) }
    => "{} no chunk has, the first is {id} at offset {offset}", Count(*count, "name");

    /// The bytes of a chunk, or its entry, differ from its checksum.
    Damage "chunk_checksum" Chunk { frame: u64, id: u16, span: Span, stored: u32, computed: u32 }
    |facts| of_chunk(at(facts, ChecksumRow::crc, 0), *frame, *id)
        .span(span.offset(), span.len()).crcs(*stored, *computed)
    => "{} of chunk {id} of frame {frame} is {stored:#010x}, but its {} at offset {} and its entry \
        have {computed:#010x}",
        name_of(ChecksumRow::crc), Count(span.len(), "byte"), span.offset();

    /// A frame has a checksum for a chunk that it does not have.
    Damage "chunk_lost" ChunkLost {
        /// The offset of the checksum's row.
        offset: u64,
        frame: u64,
        id: u32,
    }
    |facts| Facts { frame: Some(*frame), ..at(facts, ChecksumRow::id, *offset).value(*id) }
    => "{} at offset {offset} is {id}, but frame {frame} has no chunk of that name",
        name_of(ChecksumRow::id);

    /// A frame with checksums has no checksum for one of its chunks.
    Damage "chunk_unsealed" ChunkUnsealed { frame: u64, id: u16, span: Span }
    |facts| of_chunk(facts.span(span.offset(), span.len()), *frame, *id)
    => "chunk {id} of frame {frame}, at offset {}, has no checksum among those of its frame, must \
        have one", span.offset();

    /// Frames have no checksums, although the commit record states that all have them.
    Damage "frames_lack_checksums" FramesLackChecksums { frame: u64, count: u64 }
    |facts| Facts { frame: Some(*frame), ..facts.count(*count) }
    => "{} {} no checksums, the first is {frame}; must have them, as the commit record says",
        Count(*count, "frame"), if *count == 1 { "has" } else { "have" };

    /// Some frames have no checksums, although other frames of the file have them.
    Note "frames_unsealed" FramesUnsealed { frame: u64, count: u64 }
    |facts| Facts { frame: Some(*frame), ..facts.count(*count) }
    => "{} {} no checksums, the first is {frame}; others do",
        Count(*count, "frame"), if *count == 1 { "has" } else { "have" };

    /// The bytes of a chunk are inside the file but cannot be read.
    Damage "unreadable_chunk" UnreadableChunk {
        frame: u64, id: u16, span: Span, kind: ErrorKind, message: String,
    }
    |facts| of_chunk(facts.span(span.offset(), span.len()), *frame, *id)
    => "chunk {id} of frame {frame}, at offset {}: {message}", span.offset();

    /// The schema `hoomd`: a chunk is not as it must be, so that readers refuse it or see something
    /// else.
    Damage Hoomd { offset: u64, error: Hoomd }
    |_facts| Facts { offset: Some(*offset), ..hoomd_facts(error) }
    => "{error}, says offset {offset}";

    /// The schema `hoomd`: a value is not as it must be, so that HOOMD-blue refuses to go on from
    /// it.
    Note HoomdValue { offset: u64, error: Hoomd }
    |_facts| Facts { offset: Some(*offset), ..hoomd_value_facts(error) }
    => "{error}, says offset {offset}";

    /// Bytes that no part of the file uses, most often old index blocks and name lists.
    Note "unused" Unused { offset: u64, len: u64, count: u64 }
    |facts| facts.span(*offset, *len).count(*count)
    => "{} in {} are not used, the first at offset {offset}",
        Count(*len, "byte"), Count(*count, "place");

    /// Bytes from the end of the used part to the end of the file.
    Note "trailing" Trailing { offset: u64, len: u64 }
    |facts| facts.span(*offset, *len)
    => "{} at offset {offset} are after all that is read, usually 0", Count(*len, "byte");

    reading {
        /// Its kind of error.
        kind: ErrorKind
    }
    also
    /// A field has a value that the format does not allow, or other fields contradict.
    Damage Wrong(Error) error_facts, ERRORS;
    /// An entry is wrong, alone or behind the one before it.
    Damage Entry(check_entry::Finding) of_entry, ENTRIES;
    kinds HOOMD;
    kinds HOOMD_VALUES;
}

/// What is said of a header that was half written.
const TORN: &str = "the header is half that of the last commit and half that before, as if publishing \
                    it was cut off; readers that know the shadow see it whole";

fn name_facts(facts: Facts, offset: u64, id: u16, name: &[u8]) -> Facts {
    Facts { id: Some(id), ..at(facts, NameSlot::name, offset).bytes(name) }
}

fn name_not_text(f: &mut fmt::Formatter<'_>, offset: u64, id: u16, text: &[u8]) -> fmt::Result {
    let name = name_of(NameSlot::name);
    write!(f, "{name} {id} at offset {offset} is {}, must be UTF-8", Shown::new(text))
}

error_facts! {
    /// What an error of a file says, as values.
    pub fn error_facts(Error), Damage ERRORS;

    /// The file does not start with the magic of GSD files.
    "not_gsd" NotGsd { magic } |facts| at(facts, raw::Header::magic, 0).bytes(&magic);
    /// The version of the file layer is not supported.
    "version" Version { gsd_version }
        |facts| at(facts, raw::Header::gsd_version, 44).value(gsd_version);
    /// The file ends inside a part that must be there.
    "cut" Cut { file_len } |facts| facts.span(0, file_len);
    /// A part of the file starts or ends past the end of the file.
    "outside" Outside { field, start, len, file_len } |facts| {
        let facts = match header_offset(field) {
            Some(offset) => at(facts, field, offset),
            None => facts,
        };
        Facts { len: Some(len), ..facts.value(start).max(file_len) }
    };
    /// A part of the file starts or ends past the end of the file.
    "outside" ChunkCut { offset, end, file_len }
        |facts| at(facts, IndexEntry::location, offset).value(end).max(file_len);
    /// All chunks together have more bytes than the file, so some share bytes.
    "shared" Shared { bytes, file_len } |facts| facts.value(bytes).max(file_len);
    /// A number is below the smallest allowed value.
    "too_small" TooSmall { field, offset, value, min }
        |facts| at(facts, field, offset).value(value).min(min);
    /// A number is above the largest allowed value.
    "too_large" TooLarge { field, offset, value, max }
        |facts| at(facts, field, offset).value(value).max(max);
    /// A type number has no meaning.
    "no_type" NoType { offset, kind }
        |facts| at(facts, IndexEntry::kind, offset).value(kind).min(1).max(11);
    /// Rows, columns and type give a chunk that is longer than any file can be.
    "extent" Extent { offset, n, .. } |facts| at(facts, IndexEntry::n, offset).value(n);
    /// The name list does not end with a NUL.
    "names_not_terminated" NotTerminated { offset, value }
        |facts| at(facts, NameSlot::name, offset).value(value).expected(0);
    /// The stored checksum differs from the checksum of the bytes that it covers.
    "checksum" Checksum { field, offset, stored, computed }
        |facts| at(facts, field, offset).crcs(stored, computed);
    /// The chunk with the checksums of a frame is damaged or missing.
    "no_checksums" NoChecksums { frame, id } |facts| of_chunk(facts, frame, id);
    /// A chunk has an id without a name.
    "unnamed" Unnamed { offset, id, names } |facts| at(facts, IndexEntry::id, offset)
        .value(id).max(i64::from(names).saturating_sub(1));
    /// An entry has a lower frame number than the entry before it.
    "order" Order { offset, frame, before }
        |facts| Facts { frame: Some(frame), ..at(facts, IndexEntry::frame, offset) }
            .value(frame).min(before);
}

error_facts! {
    /// What a finding about an entry says, as values.
    fn entry_facts(Entry), Damage ENTRIES;

    /// A number is below the smallest allowed value.
    "too_small" Location { location, .. } |facts| facts.value(location).min(256);
    /// A number is below the smallest allowed value.
    "too_small" Empty { .. } |facts| facts.value(0).min(256);
    /// A number is below the smallest allowed value.
    "too_small" Columns { .. } |facts| facts.value(0).min(1);
    /// A part of the file starts or ends past the end of the file.
    "outside" Outside { start, len, file_len, .. }
        |facts| Facts { len: Some(len), ..facts.value(start).max(file_len) };
    /// A chunk shares bytes with a block of the file.
    "overlap" Overlap { start, len, .. } |facts| Facts { len: Some(len), ..facts.value(start) };
    /// Rows, columns and type give a chunk that is longer than any file can be.
    "extent" Extent { n, .. } |facts| facts.value(n);
    /// A type number has no meaning.
    "no_type" Kind { kind, .. } |facts| facts.value(kind).min(1).max(11);
    /// A number is above the largest allowed value.
    "too_large" Flags { flags, .. } |facts| facts.value(flags).max(0);
    /// A chunk has an id without a name.
    "unnamed" Unnamed { id, names, .. }
        |facts| facts.value(id).max(i64::from(names).saturating_sub(1));
    /// A number is above the largest allowed value.
    "too_large" Frame { frame, slots, .. } |facts| Facts {
        frame: Some(frame),
        ..facts.value(frame).max(slots.saturating_sub(1))
    };
    /// An entry has a lower frame number than the entry before it.
    "order" Order { frame, before, .. }
        |facts| Facts { frame: Some(frame), ..facts.value(frame).min(before) };
    /// An entry has a lower id than the entry before it in its frame.
    "unsorted" Unsorted { frame, id, before, .. } |facts| {
        of_chunk(facts.value(id).min(u32::from(before).saturating_add(1)), frame, id)
    };
    /// An entry is the second of its frame with that name.
    "repeated" Duplicate { frame, id, .. } |facts| of_chunk(facts, frame, id);
}

fn of_entry(finding: &Entry) -> Facts {
    let facts = entry_facts(finding);
    at(facts, finding.field(), finding.offset())
}

error_facts! {
    /// What an error of the schema hoomd says, as values.
    fn hoomd_facts(Hoomd), Damage HOOMD;

    /// A chunk of the schema has a wrong type.
    "hoomd_type" Type { frame, .. } |facts| Facts { frame: Some(frame), ..facts };
    /// A chunk of the schema has a wrong number of rows or columns.
    "hoomd_shape" Shape { frame, found: (n, _), want: (want, _), .. } |facts| {
        let facts = Facts { frame: Some(frame), ..facts };
        match want {
            Some(want) => facts.value(n).expected(want),
            None => facts,
        }
    };
    /// The name of a type is not UTF-8.
    "hoomd_text" NotText { frame, .. } |facts| Facts { frame: Some(frame), ..facts };
    /// A logged quantity is not in frame 0, so readers leave it out.
    "hoomd_late" Late { frame, .. } |facts| Facts { frame: Some(frame), ..facts };
}

error_facts! {
    /// What a wrong value of the schema hoomd says, as values.
    fn hoomd_value_facts(Hoomd), Note HOOMD_VALUES;

    /// A number is not a type number of the frame, or not the tag of a particle.
    "hoomd_number" Number { frame, value, end, .. } |facts| Facts {
        frame: Some(frame),
        ..facts.value(value).max(end.saturating_sub(1))
    };
    /// The dimensions are neither 2 nor 3.
    "hoomd_dimensions" Dimensions { frame, value, .. }
        |facts| Facts { frame: Some(frame), ..facts.value(value).min(2).max(3) };
}
