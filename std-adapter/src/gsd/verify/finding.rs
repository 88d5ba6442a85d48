//! What verifying finds, and how it says so.

use super::part::Part;
use crate::finding::Severity;
use crate::gsd::{Stale, hoomd};
use crate::shown::{self, Shown};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use striae_core::field::FieldId;
use striae_core::gsd::{Error, check_entry, raw};
use striae_core::span::Span;

/// Something that is wrong or unusual. Its `Display` is one line, without the severity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file that it is in.
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
        usual: &'static str,
    },
    /// A field has another value than what else is known of the file demands.
    Differs {
        /// The field.
        field: FieldId,
        /// Where it is.
        offset: u64,
        /// The value found.
        value: u64,
        /// The right value.
        expected: u64,
        /// What says so.
        by: &'static str,
    },
    /// A text of the header has no NUL, so that readers in C run into what follows.
    NotTerminated {
        /// The field.
        field: FieldId,
        /// Where it is.
        offset: u64,
    },
    /// A commit was being published, and the header is half that of the commit before.
    Torn {
        /// Whether all is new of it that gsd looks at.
        harmless: bool,
    },
    /// A shadow proves a commit that the header does not show yet, as after a power cut where commits
    /// take one sync.
    Ahead {
        /// Where the shadow is.
        offset: u64,
        /// Number of the commit that the header shows, or showed in part.
        shown: u32,
        /// Number of the commit that is proven.
        proven: u32,
    },
    /// A shadow has a commit that the header does not show yet, and not all of it is in the file.
    /// Commits take one sync: the power went before that was done, or what it had was lost later.
    Unproven {
        /// Where the shadow is.
        offset: u64,
        /// Number of the commit.
        number: u32,
    },
    /// gsd has appended since the last commit: all up to the first empty slot counts, and nobody goes
    /// on with what the stale commit record says of alignment and checksums.
    Appended {
        /// What that was, if it was anything.
        stale: Option<Stale>,
    },
    /// Two parts share bytes.
    Overlap {
        /// Where the field is that says where the second starts.
        offset: u64,
        /// The part that starts first.
        first: Part,
        /// Its bytes.
        first_span: Span,
        /// The other one.
        second: Part,
        /// Its bytes.
        second_span: Span,
    },
    /// An empty slot in front of used ones: some readers see these, others do not.
    Hole {
        /// Where the first empty slot is.
        offset: u64,
        /// Its number.
        slot: u64,
        /// Used slots behind it.
        used: u64,
    },
    /// An entry is wrong, alone or behind the one before it.
    Entry(check_entry::Finding),
    /// A slot behind the last entry has no location, and is not empty all the same: an entry was cut
    /// off while it was written, and its frame lacks it.
    HalfEntry {
        /// Where the slot is.
        offset: u64,
        /// Its number.
        slot: u64,
    },
    /// A frame has several chunks of one name.
    Repeated {
        /// Where the id of the later one is.
        offset: u64,
        /// The frame.
        frame: u64,
        /// The id.
        id: u16,
    },
    /// A chunk lies behind what the commit record says is in use: the next append overwrites it.
    BehindEnd {
        /// Where its location stands.
        offset: u64,
        /// Its bytes.
        span: Span,
        /// The end of what is in use.
        data_end: u64,
    },
    /// Frames that are not below the number of slots, as of a file with many frames without chunks:
    /// gsd refuses such a file, though it may have written it.
    ManyFrames {
        /// Where the frame of the first such entry is.
        offset: u64,
        /// That frame.
        frame: u64,
        /// Slots that the header shows.
        slots: u64,
        /// How many such entries there are.
        count: u64,
    },
    /// Chunks without rows: gsd's C library refuses to read them.
    NoRows {
        /// Where the `N` of the first one is.
        offset: u64,
        /// How many there are.
        count: u64,
    },
    /// Chunks of text in a file of a layer that has none: readers of that layer refuse the file.
    EarlyText {
        /// Where the type of the first one is.
        offset: u64,
        /// How many there are.
        count: u64,
    },
    /// A name stands twice: readers take one or the other, or refuse the file.
    NameRepeated {
        /// Where the second one starts.
        offset: u64,
        /// Its id.
        id: u16,
        /// The id of the first one.
        first: u16,
    },
    /// A name is not UTF-8: readers in Python refuse the file.
    NameNotText {
        /// Where it starts.
        offset: u64,
        /// Its id.
        id: u16,
        /// The name.
        name: Box<[u8]>,
    },
    /// A name of layer 1 fills its slot, so that readers in C run into the next one.
    NameNotTerminated {
        /// Where it starts.
        offset: u64,
        /// Its id.
        id: u16,
    },
    /// Bytes behind the names, or in layer 1 behind the end of one, that are not zero.
    NameJunk {
        /// Where the first one is.
        offset: u64,
        /// How many there are.
        count: u64,
    },
    /// Names that no chunk has.
    NamesUnused {
        /// Where the first one starts.
        offset: u64,
        /// Its id.
        id: u16,
        /// How many there are.
        count: u64,
    },
    /// The bytes of a chunk, or its entry, are not those that the checksum of it was made of.
    Chunk {
        /// The frame.
        frame: u64,
        /// The id of the chunk's name.
        id: u16,
        /// The chunk's bytes.
        span: Span,
        /// The checksum that the frame has of it.
        stored: u32,
        /// That of what is there.
        computed: u32,
    },
    /// A frame has a checksum of a chunk that it does not have.
    ChunkLost {
        /// Where the checksum's row is.
        offset: u64,
        /// The frame.
        frame: u64,
        /// The id of the chunk's name.
        id: u32,
    },
    /// A frame with checksums has none of one of its chunks.
    ChunkUnsealed {
        /// The frame.
        frame: u64,
        /// The id of the chunk's name.
        id: u16,
        /// The chunk's bytes.
        span: Span,
    },
    /// Frames without checksums in a file that others of have them.
    FramesUnsealed {
        /// The first one.
        frame: u64,
        /// How many there are.
        count: u64,
    },
    /// The bytes of a chunk cannot be read, although they are in the file.
    UnreadableChunk {
        /// The frame.
        frame: u64,
        /// The id of the chunk's name.
        id: u16,
        /// The chunk's bytes.
        span: Span,
        /// What kind of error that is.
        kind: io::ErrorKind,
        /// What the operating system says.
        message: String,
    },
    /// The schema `hoomd`: a chunk is not as it must be, so that readers refuse it or see something else.
    Hoomd {
        /// Where the field or the value is.
        offset: u64,
        /// What is wrong.
        error: hoomd::Error,
    },
    /// Bytes that no part of the file uses: index blocks and name lists of before, most often.
    Unused {
        /// Where the first of them are.
        offset: u64,
        /// How many there are in all.
        len: u64,
        /// In how many places.
        count: u64,
    },
    /// Bytes behind all that is used, up to the end of the file.
    Trailing {
        /// Where they start.
        offset: u64,
        /// How many they are.
        len: u64,
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
}

/// A field as core's errors name it: `header.index_location`.
struct Field(FieldId);

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.find(raw::TABLES) {
            Some((table, field)) => write!(f, "{}.{}", table.part, field.name),
            None => f.write_str("a field"),
        }
    }
}

/// A number of things: `1 name`, `2 names`.
struct Count(u64, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, thing) = *self;
        write!(f, "{count} {thing}{}", if count == 1 { "" } else { "s" })
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
                write!(f, "{} at offset {offset} is {value}, usually {usual}", Field(*field))
            }
            Self::Differs { field, offset, value, expected, by } => {
                let field = Field(*field);
                write!(f, "{field} at offset {offset} is {value}, must be {expected} {by}")
            }
            Self::NotTerminated { field, offset } => {
                write!(f, "{} at offset {offset} has no NUL, must end with one", Field(*field))
            }
            Self::Torn { harmless } => {
                f.write_str(
                    "the header is half that of the last commit and half that before, as ",
                )?;
                f.write_str(
                    "if publishing it was cut off; readers that know the shadow see it whole",
                )?;
                f.write_str(match harmless {
                    true => ", and gsd does, too",
                    false => ", and gsd may refuse it or see other frames",
                })
            }
            Self::Ahead { offset, shown, proven } => {
                write!(f, "{} at offset 224 is {shown}, but ", Field(raw::Commit::sequence))?;
                write!(f, "the shadow at offset {offset} proves commit {proven}: gsd sees the ")?;
                f.write_str("one before it until striae writes to the file, and if it appends ")?;
                write!(f, "first, commit {proven} is lost")
            }
            Self::Unproven { offset, number } => {
                write!(f, "the shadow at offset {offset} has commit {number}, cut off or damaged")
            }
            Self::Appended { stale } => {
                f.write_str("the commit record at offset 176 is older than what gsd has appended")?;
                let Some(stale) = stale else { return Ok(()) };
                write!(
                    f,
                    ": what came since has not the {stale} that it says, nor has what striae "
                )?;
                f.write_str("adds; convert gives all of it anew")
            }
            Self::Overlap { offset, first, first_span, second, second_span } => {
                let (from, to) = (second_span.offset(), second_span.end());
                write!(f, "{second} is from {from} to {to}, says offset {offset}, must not ")?;
                write!(f, "overlap {first} from {} to {}", first_span.offset(), first_span.end())
            }
            Self::BehindEnd { offset, span, data_end } => {
                let (start, end) = (span.offset(), span.end());
                write!(f, "{} at offset {offset} is {start}, ", Field(raw::IndexEntry::location))?;
                write!(f, "where the chunk ends at {end}, must end at {data_end} at most")
            }
            Self::Unused { offset, len, count } => {
                let (bytes, places) = (Count(*len, "byte"), Count(*count, "place"));
                write!(f, "{bytes} in {places} are not used, the first at offset {offset}")
            }
            Self::Trailing { offset, len } => {
                let bytes = Count(*len, "byte");
                write!(f, "{bytes} at offset {offset} are behind all that is read, usually 0")
            }
            Self::Hoomd { offset, error } => write!(f, "{error}, says offset {offset}"),
            Self::Unreadable { message, .. } => f.write_str(message),
            Self::Ended { offset } => write!(f, "ended at offset {offset} while it was read"),
            _ => self.fmt_index(f),
        }
    }
}

impl FindingKind {
    /// The texts of findings about entries and names.
    fn fmt_index(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id_field, name) = (Field(raw::IndexEntry::id), Field(raw::NameSlot::name));
        match self {
            Self::Hole { offset, slot, used } => {
                let behind = Count(*used, "slot");
                write!(f, "slot {slot} of the index at offset {offset} is empty, but {behind} ")?;
                f.write_str("behind it are not: the end of the index must be its only hole")
            }
            Self::Entry(finding) => write!(f, "{finding}"),
            Self::HalfEntry { offset, slot } => {
                write!(
                    f,
                    "slot {slot} of the index at offset {offset} has no location, but other "
                )?;
                f.write_str("values, must be empty behind the last entry")
            }
            Self::Repeated { offset, frame, id } => {
                write!(f, "{id_field} at offset {offset} is {id}, but frame {frame} has a chunk ")?;
                f.write_str("of that name already")
            }
            Self::ManyFrames { offset, frame, slots, count } => {
                let (field, entries) = (Field(raw::IndexEntry::frame), Count(*count, "slot"));
                write!(f, "{field} of {entries} is not below {slots}, as many as the index has, ")?;
                write!(f, "first {frame} at offset {offset}: gsd refuses the file")
            }
            Self::NoRows { offset, count } => {
                let (field, chunks) = (Field(raw::IndexEntry::n), Count(*count, "chunk"));
                write!(f, "{field} of {chunks} is 0, first at offset {offset}: gsd's C library ")?;
                f.write_str("refuses to read such")
            }
            Self::EarlyText { offset, count } => {
                let (field, chunks) = (Field(raw::IndexEntry::kind), Count(*count, "chunk"));
                write!(f, "{field} of {chunks} is 11, first at offset {offset}, usually so only ")?;
                f.write_str("in files of layer 2.1 or later")
            }
            Self::NameRepeated { offset, id, first } => {
                write!(f, "{name} {id} at offset {offset} is that of {first}, must be another")
            }
            Self::NameNotText { offset, id, name: text } => {
                write!(f, "{name} {id} at offset {offset} is {}, must be UTF-8", Shown::new(text))
            }
            Self::NameNotTerminated { offset, id } => {
                write!(f, "{name} {id} at offset {offset} has no NUL, must end with one")
            }
            Self::NameJunk { offset, count } => {
                let bytes = Count(*count, "byte");
                write!(f, "{bytes} behind names are not zero, the first at offset {offset}: ")?;
                f.write_str("pygsd takes them for names")
            }
            Self::NamesUnused { offset, id, count } => {
                let names = Count(*count, "name");
                write!(f, "{names} no chunk has, the first is {id} at offset {offset}")
            }
            _ => self.fmt_sums(f),
        }
    }

    /// The texts of findings about checksums.
    fn fmt_sums(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chunk { frame, id, span, stored, computed } => {
                let (field, offset) = (Field(raw::ChecksumRow::crc), span.offset());
                write!(f, "{field} of chunk {id} of frame {frame} is {stored:#010x}, but its ")?;
                let bytes = Count(span.len(), "byte");
                write!(f, "{bytes} at offset {offset} and its entry have {computed:#010x}")
            }
            Self::ChunkLost { offset, frame, id } => {
                let field = Field(raw::ChecksumRow::id);
                write!(
                    f,
                    "{field} at offset {offset} is {id}, but frame {frame} has no chunk of "
                )?;
                f.write_str("that name")
            }
            Self::ChunkUnsealed { frame, id, span } => {
                write!(f, "chunk {id} of frame {frame}, at offset {}, has no ", span.offset())?;
                f.write_str("checksum among those of its frame, must have one")
            }
            Self::FramesUnsealed { frame, count } => {
                let (frames, have) =
                    (Count(*count, "frame"), if *count == 1 { "has" } else { "have" });
                write!(f, "{frames} {have} no checksums, the first is {frame}; others do")
            }
            Self::UnreadableChunk { frame, id, span, message, .. } => {
                write!(f, "chunk {id} of frame {frame}, at offset {}: {message}", span.offset())
            }
            _ => f.write_str("the file is damaged"), // all such have their text above
        }
    }
}
