//! The shadows of the header: they tell what a torn header should be, and which commit comes after
//! it.

use crate::gsd::layout::ENTRY_LEN;
use crate::gsd::raw::{Image, Shadow};
use crate::integrity::{Checksum, crc32c};
use crate::span::Span;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// The offset of the shadows in a new file: they are in one sector, which is not the header's.
pub const SHADOW: u64 = 512;

/// The offset of the second shadow of a new file, which the name list follows.
pub(in crate::gsd) const OTHER_SHADOW: u64 = Shadow::offset_of(SHADOW, 1);

/// The offset of the shadows in files of earlier versions of striae: the first one is in the
/// sector of the header.
pub const OLD_SHADOW: u64 = 256;

/// The most bytes of chunks, and of entries, that a commit of one sync adds: a reader may have to
/// read them when it opens the file.
pub const MAX_ADDED: u64 = 1 << 20;

/// The bytes that a commit of one sync added (`spec/gsd.md#a-commit-of-one-sync`).
///
/// Nothing else may have changed, so that only these bytes can be missing after a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Added {
    /// The bytes from the end of the previous commit to the end of this one.
    pub chunks: Span,
    /// The entries after those of the previous commit.
    pub entries: Span,
}

impl Added {
    /// The bytes that `new` adds to `old`, or `None` if that cannot be a commit of one sync.
    #[must_use]
    pub fn between(old: &Image, new: &Image) -> Option<Self> {
        let (before, behind) = (&old.commit, &new.commit);
        // The fields that such a commit may change.
        let mut changed = *old;
        changed.index_allocated_entries = new.index_allocated_entries;
        (changed.commit.entries, changed.commit.data_end) = (behind.entries, behind.data_end);
        (changed.commit.sequence, changed.commit.index_crc) = (behind.sequence, behind.index_crc);
        (changed.commit.one_sync, changed.commit.commit_crc) = (behind.one_sync, behind.commit_crc);
        let is_same = changed.as_bytes() == new.as_bytes();
        let is_next = behind.sequence.get() == before.sequence.get().wrapping_add(1);
        let (from, to) = (before.entries.get(), behind.entries.get());
        let first = old.index().offset_of(from);
        let entries = Span::of_table(first, to.checked_sub(from)?, ENTRY_LEN)?;
        let (from, to) = (before.data_end.get(), behind.data_end.get());
        let chunks = Span::new(from, to.checked_sub(from)?)?;
        let is_short = chunks.len() <= MAX_ADDED && entries.len() <= MAX_ADDED;
        let is_shown = before.entries.get() > 0 && !entries.is_empty();
        let may = before.one_sync == 1 && is_short && is_shown && is_same && is_next;
        may.then_some(Self { chunks, entries })
    }

    /// Whether a file of this length has all of the bytes.
    pub(in crate::gsd) const fn fits(&self, file_len: u64) -> bool {
        self.chunks.fits(file_len) && self.entries.fits(file_len)
    }

    /// Skips the first `len` bytes of the chunks, or, if none are left, of the entries.
    pub(in crate::gsd) fn pass(&mut self, len: u64) {
        let left = if self.chunks.is_empty() { &mut self.entries } else { &mut self.chunks };
        *left = left.part(len, left.len().saturating_sub(len)).unwrap_or(Span::ZERO);
    }

    /// The checksum of both parts, from the checksums of the parts.
    #[must_use]
    pub fn crc(chunks: u32, entries: u32, checksum: Checksum) -> u32 {
        checksum(checksum(0, &chunks.to_le_bytes()), &entries.to_le_bytes())
    }
}

/// The judgement of a header whose record has a wrong checksum, by its shadow.
///
/// Of two shadows, the one with the lesser judgement is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Settled {
    /// A commit was interrupted: its header is torn. The whole header is the shadow's `new`.
    Torn,
    /// gsd has appended since: the header is right, and the record is the old one.
    Appended,
    /// Neither: the header is damaged.
    Damaged,
}

impl Shadow {
    /// The bytes of a shadow.
    pub const LEN: u64 = 256;

    /// The bytes of both shadows, one after the other.
    pub const BOTH_LEN: u64 = 2 * Self::LEN;

    /// The offset of the shadow of commit number `sequence`, if the two shadows are at `both`: they
    /// alternate.
    #[must_use]
    pub const fn offset_of(both: u64, sequence: u32) -> u64 {
        if sequence.is_multiple_of(2) { both } else { both.saturating_add(Self::LEN) }
    }

    /// Makes the shadow of a commit that replaces the header `old` by `new`. `added_crc` is the
    /// checksum of a commit of one sync, or 0.
    #[must_use]
    pub fn of(old: &Image, new: &Image, added_crc: u32, checksum: Checksum) -> Self {
        let mut shadow = Self::new_zeroed();
        (shadow.old, shadow.new) = (*old, *new);
        shadow.seal(added_crc, checksum);
        shadow
    }

    /// Makes this the shadow of the commit that replaces its `old` by its `new`.
    pub(in crate::gsd) fn seal(&mut self, added_crc: u32, checksum: Checksum) {
        (self.magic, self.added_crc) = (Self::MAGIC, added_crc.into());
        self.crc = self.computed_crc(checksum).into();
    }

    fn computed_crc(&self, checksum: Checksum) -> u32 {
        checksum(0, self.as_bytes().get(..252).unwrap_or_default())
    }

    /// The shadow in `bytes`, if there is a valid one.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<&Self> {
        let (shadow, _) = Self::ref_from_prefix(bytes).ok()?;
        let is_right =
            shadow.magic == Self::MAGIC && shadow.crc.get() == shadow.computed_crc(crc32c);
        is_right.then_some(shadow)
    }

    /// Makes `proved` the header that the shadow in `bytes`, at `offset` of the file, proves if the
    /// header's sector was erased (`spec/gsd.md#erased-sectors`): if it is later than `proved`,
    /// which is all zeros in the beginning. The result has a layer only if it is proved: neither
    /// the commit nor the previous one may have taken one sync, and a new file has no commit.
    #[inline(never)]
    pub(in crate::gsd) fn prove(bytes: &[u8], offset: u64, proved: &mut Image) {
        let Some(shadow) = Self::parse(bytes) else { return };
        let (old, new, before) = (&shadow.old.commit, &shadow.new.commit, &proved.commit);
        let number = new.sequence.get();
        let both = offset.saturating_sub(Self::offset_of(0, number));
        let is_here = new.shadow.get() == both && both <= SHADOW;
        let is_later = number.wrapping_sub(before.sequence.get()) <= u32::MAX / 2;
        let is_first = before.shadow.get() == 0;
        if is_here && (is_first || (is_later && before.shadow == new.shadow)) {
            proved.copy_from(&shadow.new);
            if old.sequence == new.sequence || (old.one_sync | new.one_sync) != 0 {
                proved.commit.layer = 0;
            }
        }
    }

    /// The bytes that this commit added to `header`, if it is a commit of one sync that may be the
    /// next one.
    #[must_use]
    pub fn added_to(&self, header: &Image) -> Option<Added> {
        let is_next = header.differs_in_version(&self.old) && header.version_of(&self.old);
        let may = is_next && self.added_crc.get() != 0;
        if may { Added::between(&self.old, &self.new) } else { None }
    }

    /// Whether `header` is the front of the new header followed by the rest of the old one.
    pub(in crate::gsd) fn is_torn_in(&self, header: &Image) -> bool {
        let mut found = *header;
        // gsd may have raised the version of a file of layer 2.0 to 2.1 when it opened the file.
        if header.version_of(&self.new) {
            found.gsd_version = self.new.gsd_version;
        }
        is_mix(found.as_bytes(), self.new.as_bytes(), self.old.as_bytes())
    }

    /// Judges `header`, whose record has a wrong checksum.
    #[must_use]
    pub fn settle(&self, header: &Image) -> Settled {
        if self.is_torn_in(header) {
            return Settled::Torn;
        }
        // gsd keeps the record as it is, even if only half of it was written; then all other fields
        // were written.
        let (record, old) = (header.commit.as_bytes(), self.old.commit.as_bytes());
        let is_append = if record == old {
            is_append(&self.old, &[&self.old, &self.new], header)
        } else if is_mix(record, self.new.commit.as_bytes(), old) {
            is_append(&self.new, &[&self.new], header)
        } else {
            false
        };
        if is_append { Settled::Appended } else { Settled::Damaged }
    }

    /// The image of the shadow, old or new, that differs from `header` in fewer bytes.
    pub(in crate::gsd) fn nearer(&self, header: &Image) -> &Image {
        let differing = |image: &Image| {
            header.as_bytes().iter().zip(image.as_bytes()).filter(|(a, b)| a != b).count()
        };
        match differing(&self.old) < differing(&self.new) {
            true => &self.old,
            false => &self.new,
        }
    }

    /// Whether gsd has made `header`, except for changes in its commit record, which is no longer
    /// needed.
    pub(in crate::gsd) fn is_append_with_wrong_record(&self, header: &Image) -> bool {
        let records = [self.old.commit, self.new.commit];
        let is_append = |commit| self.settle(&Image { commit, ..*header }) == Settled::Appended;
        !records.contains(&header.commit) && records.into_iter().any(is_append)
    }
}

/// Whether `found` is the front of `new` followed by the rest of `old`.
fn is_mix(found: &[u8], new: &[u8], old: &[u8]) -> bool {
    let front = found.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = found.iter().rev().zip(old.iter().rev()).take_while(|(a, b)| a == b).count();
    front.saturating_add(rest) >= found.len()
}

/// Whether gsd can have made `now` by appending to one of the headers `before`; the record of `now`
/// is the record of `said_by`. gsd moves the index, the name list or both after everything else,
/// and makes them larger. The name list is written first, and alone if the frame is not ended.
fn is_append(said_by: &Image, before: &[&Image], now: &Image) -> bool {
    let data_end = said_by.commit.data_end.get();
    let (index, names) = (now.index(), now.name_block());
    let index_kept = before.iter().any(|before| before.index() == index);
    let names_kept = before.iter().any(|before| before.name_block() == names);
    let larger = |before: &&Image| before.index().slots < index.slots;
    let index_moved = index.location >= data_end && before.iter().any(larger);
    let larger = |before: &&Image| before.name_block().units < names.units;
    let names_moved = names.location >= data_end && before.iter().any(larger);
    match (index_kept, names_kept) {
        (true, true) => false,
        (true, false) => names_moved,
        (false, true) => index_moved,
        (false, false) => index_moved && names_moved,
    }
}

/// The span of both shadows at `offset`, if it lies in the file.
pub(in crate::gsd) fn shadows(offset: u64, file_len: u64) -> Option<Span> {
    Span::new(offset, Shadow::BOTH_LEN).filter(|span| offset >= 256 && span.fits(file_len))
}

/// Bytes of a shadow as memory.
pub(in crate::gsd) const SHADOW_LEN: usize = size_of::<Shadow>();

const _: () = assert!(Shadow::LEN == 256 && SHADOW_LEN == 256);
