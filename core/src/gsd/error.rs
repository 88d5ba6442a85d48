//! What can be wrong with a GSD file, or with what was asked of it.

use super::kind::ChunkType;
use super::raw::{Header, IndexEntry, TABLES};
use super::record::header_offset;
use crate::field::FieldId;
use core::fmt;

/// Why a GSD file cannot be read, or a request not be served.
///
/// A field is named with its offset in the file, in bytes, the value that stands there, and what
/// would be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// The file: it does not start with the magic number.
    NotGsd {
        /// The first bytes, as many as there are, then zeros.
        magic: [u8; 8],
    },
    /// The file: its file layer is neither 0.3 nor 1.x nor 2.x.
    Version {
        /// `Header::gsd_version`.
        gsd_version: u32,
    },
    /// The file: it ends inside the header.
    Cut {
        /// Length of the file.
        file_len: u64,
    },
    /// The file: it ends before a chunk does.
    ChunkCut {
        /// Where the entry says where the chunk starts.
        offset: u64,
        /// The byte behind the chunk's last one.
        end: u64,
        /// Length of the file.
        file_len: u64,
    },
    /// The file: a block does not lie in it.
    Outside {
        /// The field that says where it starts.
        field: FieldId,
        /// What it says.
        start: u64,
        /// Bytes that should be there; `u64::MAX` also stands for more.
        len: u64,
        /// Length of the file.
        file_len: u64,
    },
    /// The file: two of its blocks have bytes in common, so that it can be read, but not written
    /// to.
    Overlap {
        /// The field that says where one of them starts.
        field: FieldId,
        /// What it says.
        start: u64,
        /// Its length.
        len: u64,
        /// The field that says where the other one starts.
        other: FieldId,
    },
    /// The file: chunks have more bytes together than it has, so that some of them share bytes.
    Shared {
        /// The bytes of chunks as far as they were counted.
        bytes: u64,
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
        value: u64,
        /// The largest right value.
        max: u64,
    },
    /// The file: a number of no type.
    NoType {
        /// Where it is.
        offset: u64,
        /// The number found.
        kind: u8,
    },
    /// The file: the extent of a chunk is no number.
    Extent {
        /// Where the entry is.
        offset: u64,
        /// Rows of the chunk.
        n: u64,
        /// Columns of the chunk.
        m: u32,
        /// Type of a value.
        kind: ChunkType,
    },
    /// The file: the last byte of the name list is not NUL.
    NotTerminated {
        /// Where it is.
        offset: u64,
        /// The byte found.
        value: u8,
    },
    /// The file: bytes are not those that a checksum was made of.
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
    /// The file: a frame with checksums has none for one of its chunks.
    NoChecksums {
        /// The frame.
        frame: u64,
        /// Index of the chunk's name.
        id: u16,
    },
    /// The file: a chunk has a name that is not there.
    Unnamed {
        /// Where the index of the name is.
        offset: u64,
        /// What it is.
        id: u16,
        /// Names that there are.
        names: u32,
    },
    /// The file: entries of a frame do not lie behind those of the frames before.
    Order {
        /// Where the entry is.
        offset: u64,
        /// Its frame.
        frame: u64,
        /// The frame of an entry that stands before it.
        before: u64,
    },
    /// The caller: there is no such frame.
    NoFrame {
        /// The frame that was asked for.
        frame: u64,
        /// Frames that there are.
        frames: u64,
    },
    /// The caller: the chunk has fewer rows.
    NoRows {
        /// First row that was asked for.
        start: u64,
        /// The row behind the last that was asked for.
        end: u64,
        /// Rows of the chunk.
        n: u64,
    },
    /// The caller: no chunk has this name.
    NoName {
        /// Index of the name.
        id: u16,
        /// Names that there are.
        names: u32,
    },
    /// The caller: a name that no file can hold.
    BadName(BadName),
    /// The caller: 65535 names are all that a file can have.
    NamesFull,
    /// The caller: two chunks of a frame of one name.
    Duplicate {
        /// Index of the name.
        id: u16,
        /// The frame.
        frame: u64,
    },
    /// The caller: a chunk of no columns.
    NoColumns,
    /// The caller: bytes that are no whole number of rows.
    Rows {
        /// The bytes.
        len: u64,
        /// Bytes of a row, or of all rows if their number was given.
        want: u64,
    },
    /// The caller: a file of this layer cannot have this, as `ChunkType::Character` in layer 1.
    Layer {
        /// `Header::gsd_version` of the file.
        gsd_version: u32,
        /// The type that was asked for, if it was a type.
        kind: Option<ChunkType>,
    },
    /// The caller: a value that a file cannot hold, or a setting that makes no sense.
    OutOfRange {
        /// The field.
        field: FieldId,
        /// The value that was given.
        value: u64,
        /// The smallest right value.
        min: u64,
        /// The largest right value.
        max: u64,
    },
    /// The caller: something that has no place in a file, as its offset would be too large.
    FileFull {
        /// Where the file ends.
        data_end: u64,
        /// Bytes that were to be added.
        len: u64,
    },
    /// The caller: a chunk for a file that was not made ready for chunks.
    NotReady,
    /// The caller: a store that is neither blank nor a file that can be gone on with.
    NotBlank {
        /// Where the first byte is that nobody knows.
        offset: u64,
        /// The byte.
        value: u8,
    },
    /// The caller: the file is another program's, or has another schema.
    Another {
        /// The field that says so: `Header::application`, `Header::schema` or
        /// `Header::schema_version`; `Commit::ident_crc` if they are erased.
        field: FieldId,
    },
    /// The caller: memory that is too small.
    Memory {
        /// Bytes that are needed.
        need: u64,
        /// Bytes that there are.
        have: u64,
    },
    /// The caller: a frame of more chunks than the writer has memory for.
    FrameFull {
        /// The frame.
        frame: u64,
        /// Chunks that there is memory for.
        chunks: u64,
    },
    /// The caller: the writer cannot do this while chunks wait for the end of their frame.
    OpenFrame {
        /// The frame.
        frame: u64,
    },
}

/// What is wrong with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum BadName {
    /// It has no bytes: an empty name ends the list.
    Empty,
    /// It has a NUL: that ends a name.
    Nul {
        /// Where.
        at: u32,
    },
    /// It is longer than a slot of layer 1, or than a name list can be.
    Long {
        /// Its length in bytes.
        len: u32,
        /// The largest length.
        max: u32,
    },
}

const _: () = assert!(size_of::<Error>() <= 32);

impl Error {
    /// Whether the caller is to blame, and not the file: for what was asked, or for the memory that
    /// was lent.
    #[must_use]
    pub const fn blames_caller(&self) -> bool {
        matches!(
            self,
            Self::NoFrame { .. }
                | Self::NoRows { .. }
                | Self::NoName { .. }
                | Self::BadName(_)
                | Self::NamesFull
                | Self::Duplicate { .. }
                | Self::NoColumns
                | Self::Rows { .. }
                | Self::Layer { .. }
                | Self::OutOfRange { .. }
                | Self::FileFull { .. }
                | Self::NotReady
                | Self::NotBlank { .. }
                | Self::Another { .. }
                | Self::Memory { .. }
                | Self::FrameFull { .. }
                | Self::OpenFrame { .. }
        )
    }
}

/// A field as error texts name it: `header.index_location at offset 8`.
pub(super) struct At(pub(super) FieldId, pub(super) u64);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Name(self.0).fmt(f)?;
        write!(f, " at offset {}", self.1)
    }
}

/// A field, with its place if that is the same in all files: an error has no room for another.
struct Placed(FieldId);

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match header_offset(self.0) {
            Some(offset) => At(self.0, offset).fmt(f),
            None => Name(self.0).fmt(f),
        }
    }
}

/// A field without its place.
struct Name(FieldId);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.find(TABLES) {
            Some((table, field)) => write!(f, "{}.{}", table.part, field.name),
            None => f.write_str("a field"),
        }
    }
}

/// A version as people write it: `2.1`.
struct Version(u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 >> 16, self.0 & 0xFFFF)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NotGsd { magic } => {
                let magic = u64::from_le_bytes(magic);
                write!(f, "{} is {magic:#018x}", At(Header::magic, 0))?;
                write!(f, ", must be {:#018x}", Header::MAGIC)
            }
            Self::Version { gsd_version } => write!(
                f,
                "{} is {}, must be 0.3, 1.x or 2.x",
                At(Header::gsd_version, 44),
                Version(gsd_version)
            ),
            Self::Cut { file_len } => {
                write!(f, "the header needs 256 bytes, but the file ends at {file_len}")
            }
            Self::ChunkCut { offset, end, file_len } => {
                let at = At(IndexEntry::location, offset);
                write!(f, "{at}: the chunk ends at {end}, but the file at {file_len}")
            }
            Self::Overlap { field, start, len, other } => {
                let (field, other) = (Placed(field), Placed(other));
                write!(f, "{field} is {start}, and the {len} bytes there overlap those of {other}")
            }
            Self::Shared { bytes, file_len } => write!(
                f,
                "chunks have {bytes} bytes together, but the file has {file_len}, so that some \
                 share bytes: verify tells which, and fewer frames or names at once can be had"
            ),
            Self::Outside { field, start, len, file_len } => write!(
                f,
                "{} is {start}, where {len} bytes must be, but the file ends at {file_len}",
                Placed(field)
            ),
            Self::TooSmall { field, offset, value, min } => {
                write!(f, "{} is {value}, must be at least {min}", At(field, offset))
            }
            Self::TooLarge { field, offset, value, max } => {
                write!(f, "{} is {value}, must be at most {max}", At(field, offset))
            }
            Self::NoType { offset, kind } => {
                write!(f, "{} is {kind}, must be 1 to 11", At(IndexEntry::kind, offset))
            }
            Self::Extent { offset, n, m, kind } => write!(
                f,
                "{} is {n}, but {n} rows of {m} {kind} values are more bytes than a file can have",
                At(IndexEntry::n, offset)
            ),
            Self::NotTerminated { offset, value } => {
                write!(f, "the last byte of the name list at offset {offset} is {value}, must be 0")
            }
            Self::Checksum { field, offset, stored, computed } => write!(
                f,
                "{} is {stored:#010x}, but the bytes that it covers have {computed:#010x}",
                At(field, offset)
            ),
            Self::NoChecksums { frame, id } => {
                write!(f, "the checksums of frame {frame} lack that of its chunk of name {id}")
            }
            Self::Unnamed { offset, id, names } => {
                write!(f, "{} is {id}, but there are {names} names", At(IndexEntry::id, offset))
            }
            Self::Order { offset, frame, before } => write!(
                f,
                "{} is {frame}, must be at least {before} as before it",
                At(IndexEntry::frame, offset)
            ),
            _ => self.fmt_request(f),
        }
    }
}

impl Error {
    /// The texts of errors that blame the caller.
    fn fmt_request(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoFrame { frame, frames } => match frames.checked_sub(1) {
                None => write!(f, "there is no frame {frame}, the file has none"),
                Some(last) => write!(f, "there is no frame {frame}, frames are 0 to {last}"),
            },
            Self::NoRows { start, end, n } => {
                write!(f, "there are no rows {start}..{end}, the chunk has {n}")
            }
            Self::NoName { id, names } => {
                write!(f, "there is no name {id}, the file has {names}")
            }
            Self::BadName(BadName::Empty) => f.write_str("a name cannot be empty"),
            Self::BadName(BadName::Nul { at }) => {
                write!(f, "a name cannot have a NUL, as this one at byte {at}")
            }
            Self::BadName(BadName::Long { len, max }) => {
                write!(f, "a name cannot have {len} bytes in this file, must be at most {max}")
            }
            Self::NamesFull => f.write_str("the file has 65535 names, which is all that it can"),
            Self::Duplicate { id, frame } => {
                write!(f, "frame {frame} has a chunk of name {id} already")
            }
            Self::NoColumns => f.write_str("a chunk must have at least 1 column"),
            Self::Rows { len, want } => {
                write!(f, "{len} bytes are not the rows of the chunk, must be {want} or times that")
            }
            Self::Layer { gsd_version, kind: Some(kind) } => write!(
                f,
                "a file of layer {} cannot have chunks of type {kind}",
                Version(gsd_version)
            ),
            Self::Layer { gsd_version, kind: None } => {
                write!(f, "a file of layer {} cannot do that", Version(gsd_version))
            }
            Self::OutOfRange { field, value, min, max } => {
                let is_text = [Header::application, Header::schema].contains(&field);
                let unit = if is_text { " bytes" } else { "" };
                let name = Name(field);
                write!(f, "{name} cannot be {value}{unit}, must be from {min} to {max}{unit}")
            }
            Self::FileFull { data_end, len } => {
                write!(f, "{len} bytes have no place behind the {data_end} that the file has")
            }
            Self::NotReady => f.write_str("the file must be made ready before it gets chunks"),
            Self::NotBlank { offset, value } => {
                write!(f, "the byte at offset {offset} is {value:#04x}: no GSD file, and not blank")
            }
            Self::Another { field } => {
                write!(f, "{} is not that of the program that would go on", Name(field))
            }
            Self::Memory { need, have } => {
                write!(f, "{have} bytes of memory are too few, must be at least {need}")
            }
            Self::FrameFull { frame, chunks } => {
                write!(
                    f,
                    "frame {frame} has more than {chunks} chunks, which is all there is memory for"
                )
            }
            Self::OpenFrame { frame } => {
                write!(f, "frame {frame} has chunks and was not ended")
            }
            _ => f.write_str("the file is damaged"), // all such have their text above
        }
    }
}

impl core::error::Error for Error {}
