//! The metadata at start_of_varheader: META2, the mapping or its size, and the seal
//! (`spec/sion.md#extensions`).

use super::head::Head;
use super::mapping::Mapping;
use crate::endian::{ByteOrder, I32, I64};
use crate::sion::layout::{
    Blocks, ENTRY_LEN, LAST_OFFSET, Layout, MAX_I32, signed, span, widen, widen_u32,
};
use crate::sion::raw;
use crate::span::{Span, round_up};
use core::num::NonZeroU64;

/// The lengths of META2, the mapping and the seal, without their place.
///
/// ```
/// use striae_core::sion::{Attributes, Meta1, VarheaderShape};
///
/// let meta1 = Meta1::new(&Attributes::default(), 3)?;
/// let shape = VarheaderShape::new(meta1.layout(), 2, meta1.mapping_len(0), false).unwrap();
/// let varheader = shape.behind(5000).unwrap();
/// assert_eq!((varheader.start(), varheader.blocksizes().len()), (5120, 2 * 3 * 8));
/// assert_eq!(shape.at(100), None); // META1 is there
/// # Ok::<(), striae_core::sion::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct VarheaderShape {
    layout: Layout,
    maxchunks: u32,
    mapping_len: u64,
    sealed: bool,
}

/// META2, the mapping and the seal at their place: after META1, and inside the largest possible
/// file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Varheader {
    start: u64,
    shape: VarheaderShape,
    /// The number of the commit of the whole set; 0 if there is none.
    set_number: u32,
    /// The identity of the set; 0 if there is none.
    set_identity: u32,
}

/// The least number of bytes that storage writes as a whole. META2 of a commit starts at a multiple
/// of it, so that it shares no sector with data.
const SECTOR: NonZeroU64 = match NonZeroU64::new(512) {
    Some(sector) => sector,
    None => NonZeroU64::MIN,
};

/// The bytes of an entry of the seal's table.
const CRC_LEN: u64 = widen(raw::ChunkCrcEntry::TABLE.len);
/// The bytes of a seal's trailer.
pub(in crate::sion) const TRAILER_LEN: u64 = widen(raw::SealTrailer::TABLE.len);

impl VarheaderShape {
    /// The shape in a physical file with this layout: META2 with `maxchunks` rows of blocksizes;
    /// then `mapping_len` bytes, which are the mapping, its size or nothing
    /// ([`Meta1::mapping_len`]); then the seal, if there is one. `None` if `maxchunks` is not from
    /// 1 to 2^31 - 1.
    ///
    /// [`Meta1::mapping_len`]: super::meta1::Meta1::mapping_len
    #[must_use]
    pub const fn new(
        layout: &Layout,
        maxchunks: u32,
        mapping_len: u64,
        sealed: bool,
    ) -> Option<Self> {
        let shape = Self { layout: *layout, maxchunks: 1, mapping_len, sealed };
        shape.with_maxchunks(maxchunks)
    }

    /// This shape with `maxchunks` rows; `None` if `maxchunks` is not from 1 to 2^31 - 1.
    #[must_use]
    pub const fn with_maxchunks(self, maxchunks: u32) -> Option<Self> {
        match maxchunks {
            1..=MAX_I32 => Some(Self { maxchunks, ..self }),
            _ => None,
        }
    }

    /// This shape with or without a seal.
    #[must_use]
    pub const fn with_seal(self, sealed: bool) -> Self {
        Self { sealed, ..self }
    }

    pub(in crate::sion) const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The number of rows of blocksizes.
    #[must_use]
    pub const fn maxchunks(&self) -> u32 {
        self.maxchunks
    }

    /// The bytes between META2 and the seal: the mapping, its size or nothing.
    #[must_use]
    pub const fn mapping_len(&self) -> u64 {
        self.mapping_len
    }

    /// Whether there is a seal.
    #[must_use]
    pub const fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// This shape at `start`; `None` if `start` is inside META1 or if the end exceeds
    /// [`LAST_OFFSET`].
    #[must_use]
    pub const fn at(&self, start: u64) -> Option<Varheader> {
        let Some(len) = self.len() else { return None };
        match Span::new(start, len) {
            Some(span) if start >= self.layout.meta1_end() && span.end() <= LAST_OFFSET => {
                Some(Varheader { start, shape: *self, set_number: 0, set_identity: 0 })
            }
            _ => None,
        }
    }

    /// This shape at the first sector from `offset` on, if it has a place there.
    #[must_use]
    #[inline(never)] // one function for all places: a device's code is small
    pub const fn behind(&self, offset: u64) -> Option<Varheader> {
        match round_up(offset, SECTOR) {
            Some(start) => self.at(start),
            None => None,
        }
    }

    /// This shape after the first `reach` of `blocks`, at the start of a sector, and not over
    /// `old`.
    #[must_use]
    pub fn aside(&self, blocks: &Blocks, reach: u64, old: Option<&Varheader>) -> Option<Varheader> {
        let place = self.behind(blocks.end(reach)?)?;
        match old {
            Some(old) if old.span().overlaps(place.span()) => self.behind(old.span().end()),
            _ => Some(place),
        }
    }

    /// Whether there are three places, one after another, after the `maxchunks` blocks: commits and
    /// the close need up to three.
    #[must_use]
    pub const fn has_places(&self, blocks: &Blocks) -> bool {
        let (mut end, mut places) = (blocks.end(widen_u32(self.maxchunks)), 0_u8);
        while let Some(offset) = end {
            let Some(place) = self.behind(offset) else { return false };
            (end, places) = (Some(place.span().end()), places.saturating_add(1));
            if places == 3 {
                return true;
            }
        }
        false
    }

    /// The length of all parts.
    const fn len(&self) -> Option<u64> {
        let (counts, entries) = (self.layout.table_len(), self.entries());
        let entry_len = if self.sealed { ENTRY_LEN.saturating_add(CRC_LEN) } else { ENTRY_LEN };
        let trailer = if self.sealed { TRAILER_LEN } else { 0 };
        match Span::of_table(counts.saturating_add(trailer), entries, entry_len) {
            Some(tables) => tables.end().checked_add(self.mapping_len),
            None => None,
        }
    }

    /// The number of entries of a table with `maxchunks` rows.
    const fn entries(&self) -> u64 {
        // exact: both are u32
        widen_u32(self.layout.ntasks.get()).saturating_mul(widen_u32(self.maxchunks))
    }

    /// The index of chunk `chunk` of task `local` in such a table, or `None` for a wrong `local`.
    fn index(&self, local: u32, chunk: u64) -> Option<u64> {
        let ntasks = self.layout.ntasks.get();
        let row = chunk.checked_mul(ntasks.into())?;
        row.checked_add(local.into()).filter(|_| local < ntasks)
    }
}

impl Varheader {
    /// The varheader of a closed file, without a seal; `None` if the file was never closed.
    /// `mapping` is the mapping of the first file of several.
    #[must_use]
    pub fn of(head: &Head, mapping: Option<&Mapping>) -> Option<Self> {
        let meta2 = head.meta2?;
        let entries = mapping.map_or(0, Mapping::len);
        let left = head.file_len.saturating_sub(meta2.end());
        let mapping_len = head.meta1.mapping_len_within(entries, left);
        let layout = head.meta1.layout();
        VarheaderShape::new(layout, meta2.maxchunks(), mapping_len, false)?.at(meta2.start())
    }

    /// This varheader with a seal; `None` if the end exceeds [`LAST_OFFSET`].
    #[must_use]
    pub fn sealed(&self) -> Option<Self> {
        self.shape.with_seal(true).at(self.start)
    }

    /// The offset of META2.
    #[must_use]
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// The number of the commit of the whole set that it belongs to, which a seal stores; 0 if the
    /// file was committed by itself.
    #[must_use]
    pub const fn set_number(&self) -> u32 {
        self.set_number
    }

    /// This varheader as part of the commit of the whole set that `other` is part of.
    pub(in crate::sion) const fn of_set_like(self, other: &Self) -> Self {
        Self { set_number: other.set_number, ..self }
    }

    /// This varheader as part of commit `number` of the whole set. Without a seal, the number is
    /// not stored. `None` for a number above 2^31 - 1.
    #[must_use]
    pub const fn with_set_number(self, number: u32) -> Option<Self> {
        match number {
            0..=MAX_I32 => Some(Self { set_number: number, ..self }),
            _ => None,
        }
    }

    /// The identity of the set that the file is of, which a seal stores; 0 if there is none.
    #[must_use]
    pub const fn set_identity(&self) -> u32 {
        self.set_identity
    }

    /// This varheader in a file of the set with this identity. Without a seal, it is not stored.
    #[must_use]
    pub const fn with_set_identity(self, set_identity: u32) -> Self {
        Self { set_identity, ..self }
    }

    /// The lengths of the parts.
    #[must_use]
    pub const fn shape(&self) -> &VarheaderShape {
        &self.shape
    }

    /// The number of rows of blocksizes.
    #[must_use]
    pub const fn maxchunks(&self) -> u32 {
        self.shape.maxchunks
    }

    /// Whether there is a seal.
    #[must_use]
    pub const fn is_sealed(&self) -> bool {
        self.shape.sealed
    }

    /// The commit fields that point to it.
    pub(in crate::sion) fn commit_fields(&self, order: ByteOrder) -> raw::CommitFields {
        raw::CommitFields {
            maxchunks: I32::new(self.shape.maxchunks.cast_signed(), order), // it was checked
            start_of_varheader: I64::new(signed(self.start), order),
        }
    }

    /// The span of all parts.
    #[must_use]
    pub const fn span(&self) -> Span {
        // `VarheaderShape::at` checked it, and so all that is in it.
        match self.shape.len() {
            Some(len) => span(self.start, len),
            None => Span::ZERO,
        }
    }

    /// The table of blockcounts.
    #[must_use]
    pub fn blockcounts(&self) -> Span {
        self.shape.layout.blockcounts(self.start).unwrap_or(Span::ZERO)
    }

    /// All rows of blocksizes.
    #[must_use]
    pub fn blocksizes(&self) -> Span {
        self.shape.layout.blocksizes(self.start, self.shape.maxchunks).unwrap_or(Span::ZERO)
    }

    /// The blocksize of chunk `chunk` of task `local`, or `None` if there is none.
    #[must_use]
    pub fn blocksize(&self, local: u32, chunk: u64) -> Option<Span> {
        let skip = self.shape.index(local, chunk)?.checked_mul(ENTRY_LEN)?;
        self.blocksizes().part(skip, ENTRY_LEN)
    }

    /// The mapping, its size or nothing.
    #[must_use]
    pub fn mapping(&self) -> Span {
        Span::new(self.blocksizes().end(), self.shape.mapping_len).unwrap_or(Span::ZERO)
    }

    /// META2 and the mapping, which have one checksum in a seal.
    pub(in crate::sion) fn meta2(&self) -> Span {
        let len = self.crcs().offset().saturating_sub(self.start);
        Span::new(self.start, len).unwrap_or(Span::ZERO)
    }

    /// All rows of checksums of chunks; empty if there is no seal.
    #[must_use]
    pub fn crcs(&self) -> Span {
        let entries = if self.shape.sealed { self.shape.entries() } else { 0 };
        Span::of_table(self.mapping().end(), entries, CRC_LEN).unwrap_or(Span::ZERO)
    }

    /// The checksum of chunk `chunk` of task `local`, or `None` if there is none.
    #[must_use]
    pub fn crc(&self, local: u32, chunk: u64) -> Option<Span> {
        self.crcs().part(self.shape.index(local, chunk)?.checked_mul(CRC_LEN)?, CRC_LEN)
    }

    /// The trailer of the seal; empty if there is no seal.
    #[must_use]
    pub fn trailer(&self) -> Span {
        let len = if self.shape.sealed { TRAILER_LEN } else { 0 };
        span(self.span().end().saturating_sub(len), len) // it is the last part
    }
}
