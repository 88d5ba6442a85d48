//! [`Chunk`]: a checked index entry.

use crate::gsd::error::Error;
use crate::gsd::kind::ChunkType;
use crate::gsd::layout::{IndexBlock, MAX_FRAME, chunk_len, row_len};
use crate::gsd::raw::IndexEntry;
use crate::span::Span;
use core::ops::Range;
use zerocopy::little_endian::{I64, U16, U32, U64};

/// A chunk: `n` rows of `m` values in row-major order, little-endian (`spec/gsd.md#chunks`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Chunk {
    /// The frame of the chunk.
    pub frame: u64,
    /// The id of the chunk's name.
    pub id: u16,
    /// The type of the values.
    pub kind: ChunkType,
    /// The number of rows; `N` in gsd.h.
    pub n: u64,
    /// The number of columns; `M` in gsd.h, at least 1.
    pub m: u32,
    /// The span of all bytes, which is in the file. Empty if there are no rows.
    pub span: Span,
}

/// The limits that entries are checked against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The length of the file in bytes.
    pub file_len: u64,
    /// The number of names of the file.
    pub names: u32,
}

impl Chunk {
    /// Reads the entry in slot number `slot` of `index`; `None` if the slot is not used.
    ///
    /// # Errors
    /// [`Error::NoType`], [`Error::Extent`], [`Error::ChunkCut`], [`Error::TooSmall`],
    /// [`Error::TooLarge`] and [`Error::Unnamed`] if a field of the entry is wrong.
    #[inline] // as the list of all chunks is
    pub fn parse(
        entry: &IndexEntry,
        index: IndexBlock,
        slot: u64,
        limits: Limits,
    ) -> Result<Option<Self>, Error> {
        let location = entry.location.get();
        if location == 0 {
            return Ok(None);
        }
        let at = |field| index.field_of(slot, field);
        let offset = at(IndexEntry::location);
        let field = IndexEntry::location;
        let place = u64::try_from(location).ok().filter(|&place| place >= 256);
        let Some(place) = place else {
            return Err(Error::TooSmall { field, offset, value: location, min: 256 });
        };
        let (n, m, number) = (entry.n.get(), entry.m.get(), entry.kind);
        let Some(kind) = ChunkType::from_number(number) else {
            return Err(Error::NoType { offset: at(IndexEntry::kind), kind: number });
        };
        if m == 0 {
            let offset = at(IndexEntry::m);
            return Err(Error::TooSmall { field: IndexEntry::m, offset, value: 0, min: 1 });
        }
        let span = chunk_len(n, m, kind).and_then(|len| Span::new(place, len));
        let span = span.ok_or(Error::Extent { offset: at(IndexEntry::n), n, m, kind })?;
        if !span.fits(limits.file_len) {
            let (end, file_len) = (span.end(), limits.file_len);
            return Err(Error::ChunkCut { offset, end, file_len });
        }
        let (id, names) = (entry.id.get(), limits.names);
        if u32::from(id) >= names {
            return Err(Error::Unnamed { offset: at(IndexEntry::id), id, names });
        }
        let max = |field, value, max| Error::TooLarge { field, offset: at(field), value, max };
        if entry.flags != 0 {
            return Err(max(IndexEntry::flags, entry.flags.into(), 0));
        }
        let frame = entry.frame.get();
        if frame > MAX_FRAME {
            return Err(max(IndexEntry::frame, frame, MAX_FRAME));
        }
        Ok(Some(Self { frame, id, kind, n, m, span }))
    }

    /// Does what [`parse`](Self::parse) does; an unused slot is an error too.
    #[inline]
    pub(in crate::gsd) fn parse_used(
        entry: &IndexEntry,
        index: IndexBlock,
        slot: u64,
        limits: Limits,
    ) -> Result<Self, Error> {
        Self::parse(entry, index, slot, limits)?.ok_or(Self::unused(index, slot))
    }

    /// The error of a slot that must be used and is not.
    pub(in crate::gsd) fn unused(index: IndexBlock, slot: u64) -> Error {
        let (field, min) = (IndexEntry::location, 256);
        Error::TooSmall { field, offset: index.field_of(slot, field), value: 0, min }
    }

    /// The index entry of this chunk.
    #[must_use]
    #[inline]
    pub fn to_raw(self) -> IndexEntry {
        IndexEntry {
            frame: U64::new(self.frame),
            n: U64::new(self.n),
            location: I64::new(i64::try_from(self.span.offset()).unwrap_or(0)),
            m: U32::new(self.m),
            id: U16::new(self.id),
            kind: self.kind.number(),
            flags: 0,
        }
    }

    /// The bytes of a row.
    #[must_use]
    pub const fn row_len(&self) -> u64 {
        row_len(self.m, self.kind)
    }

    /// The span of a range of rows.
    ///
    /// # Errors
    /// [`Error::NoRows`] if the chunk has fewer rows.
    pub fn rows(&self, rows: Range<u64>) -> Result<Span, Error> {
        let Range { start, end } = rows;
        let none = Error::NoRows { start, end, n: self.n };
        let count = end.checked_sub(start).filter(|_| end <= self.n).ok_or(none)?;
        let skip = start.checked_mul(self.row_len()).ok_or(none)?;
        let len = count.checked_mul(self.row_len()).ok_or(none)?;
        self.span.part(skip, len).ok_or(none)
    }
}

/// The order of an index of layer 2: by frame, then by id (`spec/gsd.md#index`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Key {
    /// The frame.
    pub frame: u64,
    /// Index of the name.
    pub id: u16,
}

impl IndexEntry {
    /// The place of the chunk in the order of an index.
    #[must_use]
    pub const fn key(&self) -> Key {
        Key { frame: self.frame.get(), id: self.id.get() }
    }

    /// Whether the slot is used.
    #[must_use]
    pub const fn is_used(&self) -> bool {
        self.location.get() != 0
    }
}
