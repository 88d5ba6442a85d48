//! Errors of GSD files, and of requests to them.

use super::kind::{ChunkType, Version};
use super::raw::{Header, IndexEntry, TABLES, header_offset};
use crate::error::errors;
use crate::field::{At, FieldId, Name};
use crate::step::DriveError;
use core::fmt;

errors! {
    /// Why a GSD file cannot be read or written, or why a request is wrong.
    ///
    /// The text names the field, its offset in the file in bytes, the value found, and the right
    /// values.
    pub enum Error;

    /// The file does not start with the magic number.
    file NotGsd {
        /// The first bytes, as many as there are, then zeros.
        magic: [u8; 8],
    } =>
        "{} is {:#018x}, must be {:#018x}",
        at(Header::magic, 0), u64::from_le_bytes(magic), Header::MAGIC;

    /// The file layer is not 0.3, 1.x or 2.x.
    file Version {
        /// `Header::gsd_version`.
        gsd_version: u32,
    } =>
        "{} is {}, must be 0.3, 1.x or 2.x",
        at(Header::gsd_version, 44), Version::from_number(gsd_version);

    /// The file ends inside the header.
    file Cut { file_len: u64 } => "the header needs 256 bytes, but the file ends at {file_len}";

    /// The file ends before the end of a chunk.
    file ChunkCut {
        /// The offset of the entry's field `location`.
        offset: u64,
        /// The end of the chunk.
        end: u64,
        file_len: u64,
    } =>
        "{}: the chunk ends at {end}, but the file at {file_len}", at(IndexEntry::location, offset);

    /// A block is not inside the file.
    file Outside {
        /// The field with the start of the block.
        field: FieldId,
        /// The start of the block.
        start: u64,
        /// The length of the block in bytes; `u64::MAX` also means a larger length.
        len: u64,
        file_len: u64,
    } => "{} is {start}, where {len} bytes must be, but the file ends at {file_len}", Placed(field);

    /// Two of its blocks share bytes, so that it can be read but not written.
    file Overlap {
        /// The field with the start of one block.
        field: FieldId,
        /// The start of the block.
        start: u64,
        /// The length of this block.
        len: u64,
        /// The field with the start of the other block.
        other: FieldId,
    } =>
        "{} is {start}, and the {len} bytes there overlap those of {}",
        Placed(field), Placed(other);

    /// All chunks together are longer than the file, so that some of them share bytes.
    file Shared {
        /// The bytes of the chunks that were counted.
        bytes: u64,
        file_len: u64,
    } =>
        "chunks have {bytes} bytes together, but the file has {file_len}, so that some share \
         bytes: verify tells which, and fewer frames or names at once can be had";

    /// A value is less than the smallest right value.
    file TooSmall { field: FieldId, offset: u64, value: i64, min: i64 } =>
        "{} is {value}, must be at least {min}", at(field, offset);

    /// A value is larger than the file or its other fields allow.
    file TooLarge { field: FieldId, offset: u64, value: u64, max: u64 } =>
        "{} is {value}, must be at most {max}", at(field, offset);

    /// No type has this number.
    file NoType {
        offset: u64,
        /// The number found.
        kind: u8,
    } => "{} is {kind}, must be 1 to 11", at(IndexEntry::kind, offset);

    /// The length or the end of a chunk exceeds `u64::MAX`.
    file Extent {
        offset: u64,
        /// Rows of the chunk.
        n: u64,
        /// Columns of the chunk.
        m: u32,
        /// Type of a value.
        kind: ChunkType,
    } =>
        "{} is {n}, but {n} rows of {m} {kind} values are more bytes than a file can have",
        at(IndexEntry::n, offset);

    /// The last byte of the name list is not NUL.
    file NotTerminated {
        offset: u64,
        /// The byte found.
        value: u8,
    } => "the last byte of the name list at offset {offset} is {value}, must be 0";

    /// Bytes do not match their checksum.
    file Checksum { field: FieldId, offset: u64, stored: u32, computed: u32 } =>
        "{} is {stored:#010x}, but the bytes that it covers have {computed:#010x}",
        at(field, offset);

    /// A frame with checksums has no checksum of one of its chunks.
    file NoChecksums { frame: u64, id: u16 } =>
        "the checksums of frame {frame} lack that of its chunk of name {id}";

    /// A chunk has the id of a name that does not exist.
    file Unnamed {
        /// The offset of the entry's field `id`.
        offset: u64,
        /// The id found.
        id: u16,
        /// The number of names.
        names: u32,
    } => "{} is {id}, but there are {names} names", at(IndexEntry::id, offset);

    /// An entry comes after an entry of a later frame.
    file Order {
        offset: u64,
        frame: u64,
        /// The frame of an earlier entry.
        before: u64,
    } => "{} is {frame}, must be at least {before} as before it", at(IndexEntry::frame, offset);

    /// An entry of layer 2 comes after an entry of the same frame with a larger id.
    file Unsorted {
        offset: u64,
        frame: u64,
        id: u16,
        /// The id of the entry before.
        before: u16,
    } => "{} is {id}, must be more than {before} as before it in frame {frame}",
        at(IndexEntry::id, offset);

    /// There is no such frame.
    caller NoFrame { frame: u64, frames: u64 } => |f| {
        match frames.checked_sub(1) {
            None => write!(f, "there is no frame {frame}, the file has none"),
            Some(last) => write!(f, "there is no frame {frame}, frames are 0 to {last}"),
        }
    };

    /// The chunk has fewer rows.
    caller NoRows {
        /// The first row of the request.
        start: u64,
        /// The end of the request.
        end: u64,
        /// Rows of the chunk.
        n: u64,
    } => "there are no rows {start}..{end}, the chunk has {n}";

    /// No chunk has this name.
    caller NoName {
        id: u16,
        /// The number of names.
        names: u32,
    } => "there is no name {id}, the file has {names}";

    /// No file can have this name.
    caller BadName(error: BadName) => "{error}";

    /// The file has 65535 names, which is the most.
    caller NamesFull => "the file has 65535 names, which is all that it can";

    /// A frame would have two chunks with one name.
    caller Duplicate { id: u16, frame: u64 } => "frame {frame} has a chunk of name {id} already";

    /// A chunk has no columns.
    caller NoColumns => "a chunk must have at least 1 column";

    /// Bytes are not a whole number of rows.
    caller Rows {
        len: u64,
        /// The bytes of a row, or of all rows if their number was given.
        want: u64,
    } => "{len} bytes are not the rows of the chunk, must be {want} or times that";

    /// A file of this layer cannot have this, such as `ChunkType::Character` in layer 1.
    caller Layer {
        /// `Header::gsd_version` of the file.
        gsd_version: u32,
        /// The type of the request, if it was a type.
        kind: Option<ChunkType>,
    } => |f| {
        match (Version::from_number(gsd_version), kind) {
            (layer, Some(kind)) => {
                write!(f, "a file of layer {layer} cannot have chunks of type {kind}")
            }
            (layer, None) => write!(f, "a file of layer {layer} cannot do that"),
        }
    };

    /// A value is out of the range of a field or a setting.
    caller OutOfRange { field: FieldId, value: u64, min: u64, max: u64 } => |f| {
        let is_text = [Header::application, Header::schema].contains(&field);
        let (name, unit) = (name(field), if is_text { " bytes" } else { "" });
        write!(f, "{name} cannot be {value}{unit}, must be from {min} to {max}{unit}")
    };

    /// Bytes have no place in the file, as their offset would be too large.
    caller FileFull {
        /// The end of the file.
        data_end: u64,
        /// The number of bytes to add.
        len: u64,
    } => "{len} bytes have no place behind the {data_end} that the file has";

    /// The file was not made ready for chunks.
    caller NotReady => "the file must be made ready before it gets chunks";

    /// The store is neither blank nor a file that can be opened for writing.
    caller NotBlank {
        /// The offset of the first unexpected byte.
        offset: u64,
        /// The byte.
        value: u8,
    } => "the byte at offset {offset} is {value:#04x}: no GSD file, and not blank";

    /// The file belongs to another program or has another schema.
    caller Another {
        /// The field that differs: `Header::application`, `Header::schema` or
        /// `Header::schema_version`; `Commit::ident_crc` if they are erased.
        field: FieldId,
    } => "{} is not that of the program that would go on", name(field);

    /// After an error, the store does not have the file that is being written. Nothing is written
    /// to another medium; the writer goes on when its own one is back.
    caller Swapped => "the store does not have the file that is being written";

    /// The memory is too small.
    capacity Memory {
        /// The bytes that are needed.
        need: u64,
        /// The bytes given.
        have: u64,
    } => "{have} bytes of memory are too few, must be at least {need}";

    /// A frame has more chunks than the writer has memory for.
    capacity FrameFull {
        frame: u64,
        /// The number of chunks that the memory holds.
        chunks: u64,
    } => "frame {frame} has more than {chunks} chunks, which is all there is memory for";

    /// The writer cannot do this while the current frame has chunks.
    caller OpenFrame { frame: u64 } => "frame {frame} has chunks and was not ended";
}

const _: () = assert!(size_of::<Error>() <= 32);

crate::texts! {
    /// The reason why no file can have a name.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[cfg_attr(feature = "defmt", derive(defmt::Format))]
    #[non_exhaustive]
    pub enum BadName;

    /// The name is empty: an empty name ends the name list.
    Empty => "a name cannot be empty";
    /// The name has a NUL, which ends a name.
    Nul {
        /// Where.
        at: u32,
    } => "a name cannot have a NUL, as this one at byte {at}";
    /// The name is longer than a slot of layer 1 or than a name list.
    Long { len: u32, max: u32 } =>
        "a name cannot have {len} bytes in this file, must be at most {max}";
}

/// A field with its place, as texts name it: `header.index_location at offset 8`.
pub(super) const fn at(field: FieldId, offset: u64) -> At {
    At(TABLES, field, offset)
}

/// A field as texts name it, without its place.
const fn name(field: FieldId) -> Name {
    Name(TABLES, field)
}

/// A field, with its place if that is the same in all files: an error has no room for another.
struct Placed(FieldId);

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match header_offset(self.0) {
            Some(offset) => at(self.0, offset).fmt(f),
            None => name(self.0).fmt(f),
        }
    }
}

/// Why reading from a store `S` failed: the store, the file or the caller's buffer.
pub type ReadError<S> = DriveError<<S as crate::store::ReadAt>::Error, Error>;

/// Why writing to a store `S` failed: the store, the file or the caller.
pub type WriteError<S> = ReadError<S>;

impl<E> From<Error> for DriveError<E, Error> {
    fn from(error: Error) -> Self {
        Self::Format(error)
    }
}

/// Why reading from an asynchronous store `S` failed.
#[cfg(feature = "async")]
pub type AsyncError<S> = DriveError<<S as crate::store::AsyncReadAt>::Error, Error>;
