//! Errors of GSD files, and of requests to them.

use super::kind::ChunkType;
use super::raw::{Header, IndexEntry, TABLES};
use super::record::header_offset;
use crate::field::FieldId;
use core::fmt;

/// Why a GSD file cannot be read or written, or why a request is wrong.
///
/// The text names the field, its offset in the file in bytes, the value found, and the right
/// values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// The file: it does not start with the magic number.
    NotGsd {
        /// The first bytes, as many as there are, then zeros.
        magic: [u8; 8],
    },
    /// The file: its file layer is not 0.3, 1.x or 2.x.
    Version {
        /// `Header::gsd_version`.
        gsd_version: u32,
    },
    /// The file: it ends inside the header.
    Cut {
        /// The length of the file in bytes.
        file_len: u64,
    },
    /// The file: it ends before the end of a chunk.
    ChunkCut {
        /// The offset of the entry's field `location`.
        offset: u64,
        /// The end of the chunk.
        end: u64,
        /// The length of the file in bytes.
        file_len: u64,
    },
    /// The file: a block is not inside the file.
    Outside {
        /// The field with the start of the block.
        field: FieldId,
        /// The start of the block.
        start: u64,
        /// The length of the block in bytes; `u64::MAX` also means a larger length.
        len: u64,
        /// The length of the file in bytes.
        file_len: u64,
    },
    /// The file: two of its blocks share bytes, so that it can be read but not written.
    Overlap {
        /// The field with the start of one block.
        field: FieldId,
        /// The start of the block.
        start: u64,
        /// The length of this block.
        len: u64,
        /// The field with the start of the other block.
        other: FieldId,
    },
    /// The file: all chunks together are longer than the file, so that some of them share bytes.
    Shared {
        /// The bytes of the chunks that were counted.
        bytes: u64,
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
        value: u64,
        /// The largest right value.
        max: u64,
    },
    /// The file: no type has this number.
    NoType {
        /// Where it is.
        offset: u64,
        /// The number found.
        kind: u8,
    },
    /// The file: the length or the end of a chunk exceeds `u64::MAX`.
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
    /// The file: bytes do not match their checksum.
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
    /// The file: a frame with checksums has no checksum of one of its chunks.
    NoChecksums {
        /// The frame.
        frame: u64,
        /// Index of the chunk's name.
        id: u16,
    },
    /// The file: a chunk has the id of a name that does not exist.
    Unnamed {
        /// The offset of the entry's field `id`.
        offset: u64,
        /// The id found.
        id: u16,
        /// The number of names.
        names: u32,
    },
    /// The file: an entry comes after an entry of a later frame.
    Order {
        /// Where the entry is.
        offset: u64,
        /// Its frame.
        frame: u64,
        /// The frame of an earlier entry.
        before: u64,
    },
    /// The caller: there is no such frame.
    NoFrame {
        /// The number of the frame.
        frame: u64,
        /// The number of frames.
        frames: u64,
    },
    /// The caller: the chunk has fewer rows.
    NoRows {
        /// The first row of the request.
        start: u64,
        /// The end of the request.
        end: u64,
        /// Rows of the chunk.
        n: u64,
    },
    /// The caller: no chunk has this name.
    NoName {
        /// Index of the name.
        id: u16,
        /// The number of names.
        names: u32,
    },
    /// The caller: no file can have this name.
    BadName(BadName),
    /// The caller: the file has 65535 names, which is the most.
    NamesFull,
    /// The caller: a frame would have two chunks with one name.
    Duplicate {
        /// Index of the name.
        id: u16,
        /// The frame.
        frame: u64,
    },
    /// The caller: a chunk has no columns.
    NoColumns,
    /// The caller: bytes are not a whole number of rows.
    Rows {
        /// The number of bytes.
        len: u64,
        /// The bytes of a row, or of all rows if their number was given.
        want: u64,
    },
    /// The caller: a file of this layer cannot have this, such as `ChunkType::Character` in layer
    /// 1.
    Layer {
        /// `Header::gsd_version` of the file.
        gsd_version: u32,
        /// The type of the request, if it was a type.
        kind: Option<ChunkType>,
    },
    /// The caller: a value is out of the range of a field or a setting.
    OutOfRange {
        /// The field.
        field: FieldId,
        /// The value given.
        value: u64,
        /// The smallest right value.
        min: u64,
        /// The largest right value.
        max: u64,
    },
    /// The caller: bytes have no place in the file, as their offset would be too large.
    FileFull {
        /// The end of the file.
        data_end: u64,
        /// The number of bytes to add.
        len: u64,
    },
    /// The caller: the file was not made ready for chunks.
    NotReady,
    /// The caller: the store is neither blank nor a file that can be opened for writing.
    NotBlank {
        /// The offset of the first unexpected byte.
        offset: u64,
        /// The byte.
        value: u8,
    },
    /// The caller: the file belongs to another program or has another schema.
    Another {
        /// The field that differs: `Header::application`, `Header::schema` or
        /// `Header::schema_version`; `Commit::ident_crc` if they are erased.
        field: FieldId,
    },
    /// The caller: after an error, the store does not have the file that is being written. Nothing
    /// is written to another medium; the writer goes on when its own one is back.
    Swapped,
    /// The caller: the memory is too small.
    Memory {
        /// The bytes that are needed.
        need: u64,
        /// The bytes given.
        have: u64,
    },
    /// The caller: a frame has more chunks than the writer has memory for.
    FrameFull {
        /// The frame.
        frame: u64,
        /// The number of chunks that the memory holds.
        chunks: u64,
    },
    /// The caller: the writer cannot do this while the current frame has chunks.
    OpenFrame {
        /// The frame.
        frame: u64,
    },
}

/// The reason why no file can have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum BadName {
    /// The name is empty: an empty name ends the name list.
    Empty,
    /// The name has a NUL, which ends a name.
    Nul {
        /// Where.
        at: u32,
    },
    /// The name is longer than a slot of layer 1 or than a name list.
    Long {
        /// Its length in bytes.
        len: u32,
        /// The largest length.
        max: u32,
    },
}

const _: () = assert!(size_of::<Error>() <= 32);

impl Error {
    /// Whether the caller is to blame and not the file: for a wrong request or for too little
    /// memory.
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
                | Self::Swapped
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
            Self::Swapped => f.write_str("the store does not have the file that is being written"),
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
