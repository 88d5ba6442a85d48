//! Checks of index entries; gsd does not make many of them (`spec/gsd.md#index-entry`).
//!
//! Reading a chunk ([`Chunk::parse`](crate::gsd::Chunk::parse)) only checks that its bytes can be
//! read. This module finds everything that is wrong with an entry, also in relation to the entry
//! before it and to the blocks of the file. It does not check whether chunks overlap each other, as
//! this needs memory for all of them.

use super::Head;
use crate::field::FieldId;
use crate::gsd::disk::header::Version;
use crate::gsd::error::at;
use crate::gsd::kind::ChunkType;
use crate::gsd::layout::{IndexBlock, NameBlock, chunk_len};
use crate::gsd::raw::{IndexEntry, Shadow};
use crate::span::Span;
use crate::words::words;
use core::fmt;

words! {
    /// A part of a file after the header that is not a chunk.
    pub enum Part;
    /// The index block.
    Index => "the index";
    /// The name list.
    Names => "the name list";
    /// The shadow of the header.
    Shadow => "the shadow of the header";
}

/// Defines the defects of an entry, one row each: the wrong field, the name, other values, and what
/// the text says of the field.
macro_rules! findings {
    (
        $(#[$meta:meta])*
        pub enum $Finding:ident;
        $(
            $(#[doc = $meaning:literal])+
            $field:ident $Variant:ident
            $({ $( $(#[doc = $about:literal])* $value:ident: $type:ty ),+ $(,)? })?
            => $text:literal;
        )+
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[non_exhaustive]
        pub enum $Finding {
            $(
                $(#[doc = $meaning])+
                $Variant {
                    /// The offset of the entry.
                    offset: u64,
                    $($( #[doc = $crate::about!($value $($about)*)] $value: $type, )+)?
                },
            )+
        }

        impl $Finding {
            /// The wrong field.
            #[must_use]
            pub const fn field(&self) -> FieldId {
                match self {
                    $( Self::$Variant { .. } => IndexEntry::$field, )+
                }
            }

            /// The offset of the entry.
            #[must_use]
            pub const fn entry_offset(&self) -> u64 {
                match *self {
                    $( Self::$Variant { offset, .. } => offset, )+
                }
            }
        }

        impl fmt::Display for $Finding {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                at(self.field(), self.offset()).fmt(f)?;
                match *self {
                    $( Self::$Variant { $($($value,)+)? .. } => write!(f, $text), )+
                }
            }
        }
    };
}

findings! {
    /// A defect of an entry. Offsets are offsets of the entry in the file, in bytes.
    pub enum Finding;

    /// The slot is not used, but later slots are.
    location Empty => " is 0, though slots behind it are used";
    /// The location is negative or in the header.
    location Location {
        /// The value found.
        location: i64,
    } => " is {location}, must be at least 256";
    /// The chunk is not inside the file.
    location Outside {
        /// Where the chunk starts.
        start: u64,
        len: u64,
        file_len: u64,
    } => " is {start}, where {len} bytes must be, but the file ends at {file_len}";
    /// The chunk overlaps a part of the file that is not a chunk.
    location Overlap {
        /// Where the chunk starts.
        start: u64,
        len: u64,
        /// The part that it overlaps.
        part: Part,
    } => " is {start}, but some of the {len} bytes there are those of {part}";
    /// The chunk's length exceeds that of any file.
    n Extent {
        /// Rows.
        n: u64,
        /// Columns.
        m: u32,
        /// Type of a value.
        kind: ChunkType,
    } => " is {n}, but {n} rows of {m} {kind} values are more bytes than a file can have";
    /// The chunk has no columns.
    m Columns => " is 0, must be at least 1";
    /// No type has the entry's number.
    kind Kind {
        /// The value found.
        kind: u8,
    } => " is {kind}, must be 1 to 11";
    /// The flags are not 0.
    flags Flags {
        /// The value found.
        flags: u8,
    } => " is {flags}, must be 0";
    /// No name has the entry's id.
    id Unnamed {
        id: u16,
        /// The number of names.
        names: u32,
    } => " is {id}, but there are {names} names";
    /// The frame is not less than the number of slots; gsd refuses such an entry.
    frame Frame {
        /// The value found.
        frame: u64,
        /// The number of slots that the header shows.
        slots: u64,
    } => " is {frame}, must be less than the {slots} slots of the index";
    /// The frame is less than that of the entry before.
    frame Order {
        /// The value found.
        frame: u64,
        /// The frame of the entry before.
        before: u64,
    } => " is {frame}, must be at least {before} as before it";
    /// In an index of layer 2, the entry before has the same frame and a larger id.
    id Unsorted {
        frame: u64,
        id: u16,
        /// That of the entry before.
        before: u16,
    } => " is {id}, must be more than {before} as before it in frame {frame}";
    /// The entry before is another chunk with the same frame and id.
    id Duplicate { frame: u64, id: u16 } =>
        " is {id}, but the entry before it is that of frame {frame}";
}

const _: () = assert!(size_of::<Finding>() <= 40);

impl Finding {
    /// The offset of the wrong field.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.entry_offset().saturating_add(self.field().offset().into())
    }
}

/// The limits and blocks that entries are checked against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryCheck {
    /// Version of the file layer.
    pub version: Version,
    /// Length of the file in bytes.
    pub file_len: u64,
    /// The index block that the header shows.
    pub shown: IndexBlock,
    /// The whole index block, if it is known to be longer.
    pub index: IndexBlock,
    /// The name list.
    pub names: NameBlock,
    /// The number of names.
    pub name_count: u32,
    /// Offset of the shadow of the header, if there is one.
    pub shadow: Option<u64>,
}

impl EntryCheck {
    /// Makes the check for the entries of an open file.
    #[must_use]
    pub fn new(head: &Head) -> Self {
        let (shown, record) = (head.header.index, head.state.record());
        Self {
            version: head.header.version,
            file_len: head.file_len,
            shown,
            index: record.and_then(|record| record.index(shown)).unwrap_or(shown),
            names: head.header.names,
            name_count: head.names,
            shadow: record.map(|record| record.shadow),
        }
    }

    /// Passes all defects of the entry at `offset` in the file to `each`.
    ///
    /// `before` is the used entry before it, if there is one. An entry that only repeats it has no
    /// defect: such entries fill an index that needs more entries than there are chunks.
    #[inline] // a sound entry then takes little time
    pub fn findings(
        &self,
        before: Option<&IndexEntry>,
        entry: &IndexEntry,
        offset: u64,
        mut each: impl FnMut(Finding),
    ) {
        if !entry.is_used() {
            each(Finding::Empty { offset });
        } else if before != Some(entry) {
            self.of_fields(entry, offset, &mut each);
            self.overlaps(entry, offset, &mut each);
            before.and_then(|before| self.order(before, entry, offset)).into_iter().for_each(each);
        }
    }

    /// Checks the fields of an entry by themselves.
    #[inline]
    fn of_fields(&self, entry: &IndexEntry, offset: u64, add: &mut impl FnMut(Finding)) {
        let (id, names) = (entry.id.get(), self.name_count);
        let (frame, slots) = (entry.frame.get(), self.shown.slots);
        let (flags, kind) = (entry.flags, entry.kind);
        self.extent(entry, offset).into_iter().for_each(&mut *add);
        if entry.m.get() == 0 {
            add(Finding::Columns { offset });
        }
        if ChunkType::from_number(kind).is_none() {
            add(Finding::Kind { offset, kind });
        }
        if flags != 0 {
            add(Finding::Flags { offset, flags });
        }
        if u32::from(id) >= names {
            add(Finding::Unnamed { offset, id, names });
        }
        if frame >= slots {
            add(Finding::Frame { offset, frame, slots });
        }
    }

    /// Checks the place and the size of the chunk, without overlaps.
    #[inline]
    fn extent(&self, entry: &IndexEntry, offset: u64) -> Option<Finding> {
        let (location, n, m) = (entry.location.get(), entry.n.get(), entry.m.get());
        if location < 256 {
            return Some(Finding::Location { offset, location });
        }
        let kind = ChunkType::from_number(entry.kind)?;
        match span_of(entry) {
            None => Some(Finding::Extent { offset, n, m, kind }),
            Some(span) if span.fits(self.file_len) => None,
            Some(span) => Some(Finding::Outside {
                offset,
                start: span.offset(),
                len: span.len(),
                file_len: self.file_len,
            }),
        }
    }

    /// Finds the parts of the file that the chunk overlaps. The header is missing here: the check
    /// of the location finds it.
    #[inline]
    fn overlaps(&self, entry: &IndexEntry, offset: u64, add: &mut impl FnMut(Finding)) {
        let Some(chunk) = span_of(entry) else { return };
        let (start, len) = (chunk.offset(), chunk.len());
        let shadow = self.shadow.and_then(|shadow| Span::new(shadow, Shadow::BOTH_LEN));
        for (part, span) in [
            (Part::Index, self.index.span()),
            (Part::Names, self.names.span()),
            (Part::Shadow, shadow),
        ] {
            if span.is_some_and(|span| chunk.overlaps(span)) {
                add(Finding::Overlap { offset, start, len, part });
            }
        }
    }

    #[inline]
    fn order(&self, before: &IndexEntry, entry: &IndexEntry, offset: u64) -> Option<Finding> {
        let (frame, id) = (entry.frame.get(), entry.id.get());
        let (frame_before, before) = (before.frame.get(), before.id.get());
        if frame < frame_before {
            return Some(Finding::Order { offset, frame, before: frame_before });
        }
        if frame > frame_before {
            return None;
        }
        if id == before {
            return Some(Finding::Duplicate { offset, frame, id });
        }
        (self.version.is_sorted() && id < before).then_some(Finding::Unsorted {
            offset,
            frame,
            id,
            before,
        })
    }
}

/// The span of the entry's chunk, which may be anywhere.
#[inline]
fn span_of(entry: &IndexEntry) -> Option<Span> {
    let start = u64::try_from(entry.location.get()).ok()?;
    let kind = ChunkType::from_number(entry.kind)?;
    Span::new(start, chunk_len(entry.n.get(), entry.m.get(), kind)?)
}
