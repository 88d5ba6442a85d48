//! The layout of a GSD file: numbers in, spans out.

use super::error::Error;
use super::kind::ChunkType;
use super::raw::{Header, IndexEntry};
use crate::exact::Exact;
use crate::field::FieldId;
use crate::span::Span;
use core::num::NonZeroU64;
use core::ops::Range;
use zerocopy::FromZeros;

/// The least alignment of blocks: a sector.
pub const SECTOR: NonZeroU64 = NonZeroU64::MIN.saturating_add(511);

/// The bytes of a slot of the index.
pub const ENTRY_LEN: u64 = 32;

/// The bytes of a unit of the name list, and of a name of layer 1.
pub const NAME_UNIT: u64 = 64;

/// The most names of a file: ids are 0 to 65534, and 65535 means no name.
pub const MAX_NAMES: u32 = 65535;

/// The most slots of the index of a new file; readers have no such limit.
pub const MAX_SLOTS: u64 = 1 << 40;

/// The most bytes of a name list that a writer makes; readers have no such limit.
pub const MAX_NAMES_LEN: u64 = (1 << 31) - NAME_UNIT;

/// The largest number of a frame: the number of frames is also a `u64`.
pub const MAX_FRAME: u64 = u64::MAX - 1;

/// The slots of an index (`spec/gsd.md#index`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromZeros)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct IndexBlock {
    /// The offset of the first slot in the file.
    pub location: u64,
    /// The number of slots of [`ENTRY_LEN`] bytes.
    pub slots: u64,
}

impl IndexBlock {
    /// The span of the block, or `None` if its end exceeds `u64::MAX`.
    #[must_use]
    pub const fn span(self) -> Option<Span> {
        Span::of_table(self.location, self.slots, ENTRY_LEN)
    }

    /// The offset of slot number `slot`; it saturates at `u64::MAX`.
    #[must_use]
    pub const fn offset_of(self, slot: u64) -> u64 {
        self.location.saturating_add(slot.saturating_mul(ENTRY_LEN))
    }

    /// The span of a block that was checked to have one.
    pub(super) const fn exact_span(self) -> Span {
        Span::exact(self.location, self.slots.wrapping_mul(ENTRY_LEN))
    }

    /// The offset of slot number `slot` of a block that has a [span](Self::span), or its end. No
    /// product or sum can be too large there: a device needs no code for that case.
    pub(super) const fn slot(self, slot: u64) -> u64 {
        self.location.wrapping_add(slot.wrapping_mul(ENTRY_LEN))
    }

    /// Offset of a field of slot number `slot`, as [`slot`](Self::slot).
    #[must_use]
    pub(super) fn field_of(self, slot: u64, field: FieldId) -> u64 {
        self.slot(slot).wrapping_add(field.offset().into())
    }

    /// The last `slots` slots of the block, which a header shows while there are no entries; `None`
    /// if that leaves no slot before them.
    #[must_use]
    pub const fn last(self, slots: u64) -> Option<Self> {
        match self.slots.checked_sub(slots) {
            None | Some(0) => None,
            Some(before) => Some(Self { location: self.slot(before), slots }),
        }
    }

    /// The whole block of so many `reserved` slots, if this is the part of it that a header shows
    /// after a commit of so many `entries`; `None` if it is not.
    pub(super) fn whole(self, (entries, reserved): (u64, u64)) -> Option<Self> {
        let slots = reserved.max(self.slots);
        let location = match entries {
            // the header shows the last slots
            0 => {
                let before = Span::of_table(0, slots.exact_sub(self.slots), ENTRY_LEN)?.len();
                self.location.checked_sub(before).filter(|&location| location >= HEADER_END)?
            }
            _ => self.location,
        };
        Some(Self { location, slots }).filter(|block| block.span().is_some())
    }

    /// Checks that the block is after the header and in a file of `file_len` bytes.
    ///
    /// # Errors
    /// [`Error::TooSmall`], [`Error::Outside`].
    pub fn check(self, file_len: u64) -> Result<(), Error> {
        check_block(Header::index_location, self.location, (self.slots, ENTRY_LEN), file_len)
    }
}

/// The name list (`spec/gsd.md#name-list`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromZeros)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct NameBlock {
    /// The offset of the first name in the file.
    pub location: u64,
    /// The length in units of [`NAME_UNIT`] bytes.
    pub units: u64,
}

impl NameBlock {
    /// The span of the block, or `None` if its end exceeds `u64::MAX`.
    #[must_use]
    pub const fn span(self) -> Option<Span> {
        Span::of_table(self.location, self.units, NAME_UNIT)
    }

    /// The span of a block that was checked to have one.
    pub(super) const fn exact_span(self) -> Span {
        Span::exact(self.location, self.units.wrapping_mul(NAME_UNIT))
    }

    /// Checks that the block is after the header and in a file of `file_len` bytes.
    ///
    /// # Errors
    /// [`Error::TooSmall`], [`Error::Outside`].
    pub fn check(self, file_len: u64) -> Result<(), Error> {
        check_block(Header::namelist_location, self.location, (self.units, NAME_UNIT), file_len)
    }
}

/// Checks that a block of `count` entries of `entry_len` bytes, whose start is in `field`, is after
/// the header and in the file.
#[cfg_attr(target_os = "none", inline(never))] // a device's code is small
fn check_block(
    field: FieldId,
    start: u64,
    (count, entry_len): (u64, u64),
    file_len: u64,
) -> Result<(), Error> {
    let span = Span::of_table(start, count, entry_len);
    match check_places(&[span], HEADER_END..file_len) {
        Ok(()) => Ok(()),
        Err(_) if start < HEADER_END => {
            let [value, min] = [start, HEADER_END].map(|it| i64::try_from(it).unwrap_or(i64::MAX));
            Err(Error::TooSmall { field, offset: field.offset().into(), value, min })
        }
        Err(_) => {
            let len = count.saturating_mul(entry_len);
            Err(Error::Outside { field, start, len, file_len })
        }
    }
}

/// The end of the header, which no block may overlap.
pub(super) const HEADER_END: u64 = 256;

/// A block at a wrong place, by its number in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misplaced {
    /// It is not in the room for blocks.
    Outside(usize),
    /// It has bytes of another one, which is before it in the list.
    Overlap(usize, usize),
}

/// Checks that blocks lie in `room` and apart. A block has no span if its end exceeds `u64::MAX`.
///
/// # Errors
/// The first block of the list that is at a wrong place.
#[cfg_attr(target_os = "none", inline(never))] // a device's code is small
#[cfg_attr(not(target_os = "none"), inline)]
pub(super) fn check_places(blocks: &[Option<Span>], room: Range<u64>) -> Result<(), Misplaced> {
    for (at, block) in blocks.iter().enumerate() {
        let is_inside = |span: &Span| room.start <= span.offset() && span.fits(room.end);
        let span = block.filter(is_inside).ok_or(Misplaced::Outside(at))?;
        let is_shared = |other: &Option<Span>| other.is_some_and(|other| other.overlaps(span));
        if let Some(other) = blocks.iter().take(at).position(is_shared) {
            return Err(Misplaced::Overlap(at, other));
        }
    }
    Ok(())
}

/// The bytes of `n` rows of `m` values, or `None` if they exceed `u64::MAX`.
#[must_use]
#[inline]
pub const fn chunk_len(n: u64, m: u32, kind: ChunkType) -> Option<u64> {
    match n.checked_mul(row_len(m, kind)) {
        Some(len) if len <= i64::MAX.unsigned_abs() => Some(len),
        _ => None,
    }
}

/// The bytes of a row of `m` values.
#[must_use]
#[inline]
#[allow(clippy::as_conversions, reason = "const, and lossless")]
pub const fn row_len(m: u32, kind: ChunkType) -> u64 {
    (m as u64).saturating_mul(kind.size().get()) // exact: at most 2^35
}

/// The smallest size of an index with room for `slots`: it doubles, as in gsd.
#[must_use]
#[cfg_attr(target_os = "none", inline(never))] // a device's code is small
pub fn grown(reserved: u64, slots: u64) -> Option<u64> {
    let mut size = reserved.max(1);
    while size < slots {
        size = size.checked_mul(2)?;
    }
    Some(size)
}

/// The units of a new name list for `len` bytes, in place of one of `reserved` units: it doubles up
/// to the most that a file can have. `None` if `len` exceeds [`MAX_NAMES_LEN`].
pub(in crate::gsd) fn grown_names(reserved: u64, len: u64) -> Option<u64> {
    let most = MAX_NAMES_LEN / NAME_UNIT;
    let wanted = Some(len.div_ceil(NAME_UNIT)).filter(|&wanted| wanted <= most)?;
    grown(reserved.min(most), wanted).map(|units| units.min(most))
}

/// The least number of slots that gsd needs, as in its own new files.
pub const SHOWN_SLOTS: u64 = 128;

/// The most entries that pad an index for frames without chunks: 32 MiB.
///
/// A writer refuses chunks of frames that need more padding. Such a frame comes only from a program
/// that ends that many empty frames, or from a file that gsd cannot read either.
pub const MAX_PADDING: u64 = 1 << 20;

/// The number of entries that an index must have: the largest of `entries`, `least` and, if the
/// padding is at most [`MAX_PADDING`], `frames`.
///
/// gsd refuses an entry whose frame is not less than the number of slots, also in files that gsd
/// itself made so by appending.
#[must_use]
pub const fn padded(entries: u64, frames: u64, least: u64) -> u64 {
    let is_near = frames > entries && frames.wrapping_sub(entries) <= MAX_PADDING;
    let most = if is_near { frames } else { entries };
    if least > most { least } else { most }
}

/// The length of the longest file: the reference programs use signed offsets.
pub(super) const MAX_LEN: u64 = i64::MAX.unsigned_abs();

/// The next `len` free bytes of a file that ends at `data_end`: they start at a multiple of `unit`,
/// a power of two, if there are any. `None` if a file cannot have them.
#[inline]
pub(super) fn free(data_end: u64, unit: NonZeroU64, len: u64) -> Option<Span> {
    let mask = unit.get().wrapping_sub(1);
    // A store may say that it is longer than any file: then this is, too.
    let start = if len == 0 { data_end } else { data_end.saturating_add(mask) & !mask };
    Span::new(start, len).filter(|span| span.end() <= MAX_LEN)
}

/// The smallest multiple of `unit`, a power of two, that is at least `value`, which is so small
/// that there is one.
pub(super) const fn aligned(value: u64, unit: NonZeroU64) -> u64 {
    let mask = unit.get().wrapping_sub(1);
    debug_assert!(value.checked_add(mask).is_some(), "there is one");
    value.wrapping_add(mask) & !mask
}

/// The number of slots, rounded up to whole sectors if chunks start at sectors: then the entries of
/// a commit start at a sector, too, and no sector with committed entries is written again.
pub(super) const fn whole_sectors(slots: u64, align: NonZeroU64) -> u64 {
    const SLOTS: NonZeroU64 = NonZeroU64::MIN.saturating_add(15);
    match align.get() >= SECTOR.get() {
        true => aligned(slots, SLOTS),
        false => slots,
    }
}

/// An index that does not move.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// All slots.
    pub(super) slots: u64,
    /// Slots that the next commit may use: the last ones are shown while there are no entries.
    pub(super) usable: u64,
    /// Slots in use.
    pub(super) entries: u64,
    /// Frames that have ended.
    pub(super) frames: u64,
    /// The least number of slots that a header shows.
    pub(super) shown: u64,
    /// The alignment of chunks.
    pub(super) align: NonZeroU64,
}

impl Room {
    /// The number of entries after another frame of `chunks` chunks and its commit.
    pub(super) const fn with(&self, chunks: u64) -> u64 {
        // A frame after the last one that has a number would need more padding than there can be.
        let (entries, frames) = (self.entries.wrapping_add(chunks), self.frames.wrapping_add(1));
        whole_sectors(padded(entries, frames, self.shown), self.align)
    }

    /// The number of committed frames of `chunks` chunks that fit.
    pub(super) fn frames_left(&self, chunks: u64) -> u64 {
        let chunks = chunks.max(1);
        let first = self.with(chunks);
        let left = self.slots.checked_sub(first).filter(|_| first <= self.usable);
        let Some(left) = left else { return 0 };
        let each = NonZeroU64::new(whole_sectors(chunks, self.align)).unwrap_or(NonZeroU64::MIN);
        (left / each).saturating_add(1)
    }
}

const _: () = assert!(SECTOR.get() == 16 * ENTRY_LEN);
const _: () = assert!(IndexEntry::TABLE.len == 32);

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Range<u64> = 2..8;

    /// A few blocks: no end, in the room, across each of its ends, empty.
    fn blocks() -> impl Iterator<Item = Option<Span>> {
        let spans = (0..10).flat_map(|offset| (0..4).map(move |len| Span::new(offset, len)));
        core::iter::once(None).chain(spans)
    }

    /// By bytes: whether all blocks are in the room, and no byte is of two.
    fn are_right(blocks: [Option<Span>; 3]) -> bool {
        let has = |span: Span, at: u64| span.offset() <= at && at < span.end();
        let is_inside = |span: Span| span.offset() >= ROOM.start && span.end() <= ROOM.end;
        let is_of_two = |at| blocks.iter().flatten().filter(|span| has(**span, at)).count() > 1;
        blocks.iter().all(|block| block.is_some_and(is_inside)) && !(0..16).any(is_of_two)
    }

    #[test]
    fn a_name_list_doubles_up_to_the_most_that_a_file_has() {
        let most = (1 << 25) - 1;
        for (reserved, len, units) in [
            (0, 1, Some(1)),
            (1, 65, Some(2)),
            (3, 200, Some(6)),
            (1 << 24, (1 << 30) + 1, Some(most)),
            (u64::MAX, 1, Some(most)),
            (1, MAX_NAMES_LEN, Some(most)),
            (1, MAX_NAMES_LEN + 1, None),
        ] {
            assert_eq!(grown_names(reserved, len), units, "{reserved} units, {len} bytes");
        }
    }

    #[test]
    fn blocks_are_in_the_room_and_apart_in_any_order_or_in_none() {
        let mut right = 0;
        for a in blocks() {
            for b in blocks() {
                for c in blocks() {
                    let expected = are_right([a, b, c]);
                    right += usize::from(expected);
                    for order in [[a, b, c], [a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]]
                    {
                        let checked = check_places(&order, ROOM);
                        assert_eq!(checked.is_ok(), expected, "{order:?}: {checked:?}");
                    }
                }
            }
        }
        assert!(right > 1000, "{right}");
    }

    #[test]
    fn the_first_misplaced_block_is_named() {
        let span = |offset, len| Span::new(offset, len);
        let check = |blocks: &[_]| check_places(blocks, ROOM);
        assert_eq!(check(&[span(2, 2), span(7, 2), None]), Err(Misplaced::Outside(1)));
        assert_eq!(check(&[span(2, 2), None]), Err(Misplaced::Outside(1)));
        let shared = [span(2, 2), span(5, 3), span(3, 3), span(1, 1)];
        assert_eq!(check(&shared), Err(Misplaced::Overlap(2, 0)));
        assert_eq!(check(&[]), Ok(()));
    }
}
