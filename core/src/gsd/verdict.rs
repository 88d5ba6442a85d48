//! The judgement of a file, which opening, verifying and recovering share
//! (`spec/gsd.md#reading-the-commit-record`).
//!
//! It follows from the header, the shadows, the bytes that a commit of one sync added, and the slot
//! after the last entry. [`Judge`] asks for the ones that it needs; usually that is one slot.

pub mod check_entry;
mod state;

pub use state::{Basis, Head, State};
pub(super) use state::{Counted, Kind, Read};

use super::disk::header::Version;
use super::disk::record::Record;
use super::disk::shadow::{Added, OLD_SHADOW, SHADOW, SHADOW_LEN, Settled, shadows};
use super::error::Error;
use super::layout::ENTRY_LEN;
use super::raw::{Commit, Image, IndexEntry, Shadow};
use crate::integrity::crc32c;
use crate::span::Span;
use crate::step::{ReadMachine, ReadStep};
use crate::store::usize_to_u64;
use core::convert::Infallible;
use zerocopy::{FromBytes, FromZeros};

/// The damage of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Damage {
    /// This error; the right bytes are unknown.
    Error(Error),
    /// The header differs from a shadow.
    Shadow,
    /// One bit is wrong, by the checksum of the commit record.
    Bit,
}

/// The machine that judges a header. It needs a buffer of [`Judge::WINDOW`] bytes.
///
/// When a file is opened, a commit record with a right checksum is trusted; the shadows are read
/// only if there may be a later commit, or if the checksum is wrong. A `DEEP` judge, for verifying,
/// always reads them, and finds what a damaged header should be. An `OWN` judge only knows what its
/// own commits of two syncs leave, whole or torn: all else is damage, and its code is not linked.
#[derive(Debug)]
pub struct Judge<const DEEP: bool, const OWN: bool = false> {
    pub(super) file_len: u64,
    stage: Stage,
    /// The header as stored, or the header that replaces it in the judgement.
    pub(super) image: Image,
    /// What the state is; its record is that of the image.
    pub(super) kind: Kind,
    pub(super) is_torn: bool,
    /// Whether all fields that gsd reads are new in the torn header.
    is_torn_behind: bool,
    /// Whether the header is whole, and two commits older than the image.
    is_two_behind: bool,
    pub(super) damage: Option<Damage>,
    has_lost_magic: bool,
    /// The header that a shadow proves, and the checksum of the bytes that a commit of one sync
    /// added.
    next: (Image, u32),
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    /// Reads the first of two shadows to explain a header with a wrong checksum.
    Shadow(u64),
    /// Reads the second one; with the opinion of the first one.
    OtherShadow(u64, Option<Opinion>),
    /// Reads the shadow that may be ahead of the header.
    NextShadow,
    /// Reads the bytes that its commit added: those left to read, and the checksums so far.
    Added(Added, (u32, u32)),
    /// Reads the first shadow for a commit later than the header's.
    Later,
    /// Reads the second shadow for a commit later than the header's.
    OtherLater,
    /// Reads the slot after the committed entries: gsd may have used it without moving the index.
    SlotBehind(u64),
    Done,
}

impl<const DEEP: bool> Judge<DEEP> {
    /// Makes a judge of a file of `file_len` bytes; `image` is the part of its header that commits
    /// change.
    #[must_use]
    pub fn new(image: &Image, file_len: u64) -> Self {
        let mut judge = Self::unasked(image, file_len);
        judge.start();
        judge
    }
}

impl<const DEEP: bool, const OWN: bool> Judge<DEEP, OWN> {
    /// The bytes that the buffer needs.
    pub const WINDOW: usize = SHADOW_LEN;

    /// A judge that must be [started](Self::start) later, which saves memory on a small stack.
    #[inline]
    pub(super) fn unasked(image: &Image, file_len: u64) -> Self {
        Self {
            file_len,
            stage: Stage::Done,
            image: *image,
            kind: Kind::Plain,
            is_torn: false,
            is_torn_behind: false,
            is_two_behind: false,
            damage: None,
            has_lost_magic: false,
            next: (Image::new_zeroed(), 0),
        }
    }

    /// Begins with the header, which is known already.
    #[inline(never)]
    pub(super) fn start(&mut self) {
        self.stage = self.begin();
    }

    /// The basis of the judgement.
    #[must_use]
    pub const fn basis(&self) -> Basis {
        let number = self.image.commit.sequence.get();
        match (self.kind, self.damage) {
            (Kind::Appended, _) => Basis::Appended,
            (_, Some(_)) => Basis::Damaged,
            (Kind::Plain, None) => Basis::Plain,
            (Kind::Committed, None) => Basis::Committed(number),
            (Kind::Torn, None) => Basis::Torn(number),
            (Kind::Ahead, None) => Basis::Ahead(number),
        }
    }

    /// The state that opening returns, if the header is not damaged.
    #[must_use]
    pub const fn state(&self) -> State {
        State::of(self.kind, &self.image)
    }

    /// The part of the header that commits change: as stored, or, if it was torn or is damaged, the
    /// correct one.
    #[must_use]
    pub const fn image(&self) -> &Image {
        &self.image
    }

    /// The commit record to trust, if there is one.
    #[must_use]
    pub const fn record(&self) -> Option<Record> {
        match self.kind.has_record() {
            true => Some(Record::from_raw(&self.image.commit)),
            false => None,
        }
    }

    /// The damage of the header, if any.
    #[must_use]
    pub const fn damage(&self) -> Option<Damage> {
        self.damage
    }

    /// The correct form of a damaged header. It differs from [`image`](Self::image) only if the
    /// damage is in a commit record that is no longer needed.
    #[must_use]
    pub const fn restored(&self) -> Option<&Image> {
        match self.damage {
            Some(Damage::Shadow | Damage::Bit) => Some(&self.next.0),
            _ => None,
        }
    }

    /// Whether the header is torn; and if so, whether all fields that gsd reads are new.
    #[must_use]
    pub const fn torn(&self) -> Option<bool> {
        match self.is_torn {
            true => Some(self.is_torn_behind),
            false => None,
        }
    }

    /// Whether the header is torn, or two commits older than the image.
    pub(super) const fn is_torn_or_older(&self) -> bool {
        self.is_torn || self.is_two_behind
    }

    /// Whether the commit record was whole except for its magic, which the image has again.
    #[must_use]
    pub const fn has_lost_magic(&self) -> bool {
        self.has_lost_magic
    }

    /// Whether an image has a valid record. A `DEEP` judge accepts a record that says the file is
    /// longer than it is, since it reports this separately.
    fn is_right(&self, image: &Image) -> Result<bool, Error> {
        image.has_right_record(if DEEP { u64::MAX } else { self.file_len })
    }

    fn begin(&mut self) -> Stage {
        let has_record = self.image.has_record() || (DEEP && self.find_magic());
        if !has_record {
            return Stage::Done;
        }
        match self.is_right(&self.image) {
            Ok(true) => {
                self.kind = Kind::Committed;
                self.look_ahead()
            }
            Ok(false) => self.ask_shadows(self.image.commit.shadow.get()),
            Err(error) => self.damaged(Damage::Error(error)),
        }
    }

    /// Whether the image has a whole commit record except for its magic; then it gets the magic. A
    /// writer that was interrupted while it adopted a file leaves zeros, or the front of a magic
    /// and zeros: that does not count.
    fn find_magic(&mut self) -> bool {
        let (found, magic) = (self.image.commit.magic, Commit::MAGIC);
        let front = found.iter().zip(&magic).take_while(|(a, b)| a == b).count();
        let is_unfinished = found.iter().skip(front).all(|&byte| byte == 0);
        let whole = Image { commit: Commit { magic, ..self.image.commit }, ..self.image };
        if is_unfinished || !matches!(self.is_right(&whole), Ok(true)) {
            return false;
        }
        (self.image, self.has_lost_magic) = (whole, true);
        true
    }

    /// Notes the damage; an `OWN` judge only notes that there is some.
    fn damaged(&mut self, damage: Damage) -> Stage {
        self.damage = Some(if OWN { Damage::Shadow } else { damage });
        self.committed()
    }

    /// Notes that the checksum of the record is wrong.
    #[cfg_attr(target_os = "none", inline(never))] // a device's code is small
    fn note_wrong_crc(&mut self) {
        self.damage = Some(match OWN {
            true => Damage::Shadow,
            false => Damage::Error(self.image.crc_error()),
        });
    }

    /// The checksum of the record is wrong, and nothing explains it.
    fn wrong_crc(&mut self) -> Stage {
        self.note_wrong_crc();
        self.committed()
    }

    /// The record's checksum is wrong: the shadows at `both` may explain it.
    fn ask_shadows(&mut self, both: u64) -> Stage {
        match shadows(both, self.file_len) {
            Some(_) => Stage::Shadow(both),
            None if DEEP => self.unexplained(both),
            None => self.wrong_crc(),
        }
    }

    /// No shadow at `both` explains the record's wrong checksum.
    fn unexplained(&mut self, both: u64) -> Stage {
        let said = self.image.commit.shadow.get(); // may be wrong, too
        let next = match both {
            SHADOW if said != OLD_SHADOW => Some(OLD_SHADOW),
            SHADOW | OLD_SHADOW if both != said => None,
            _ => Some(SHADOW),
        };
        if let Some(next) = next.filter(|&next| DEEP && shadows(next, self.file_len).is_some()) {
            return Stage::Shadow(next);
        }
        // A record is stale only if a writer made it: its shadows can be where it says.
        let was_made = !DEEP || shadows(said, self.file_len).is_some();
        if !OWN && was_made && self.image.is_moved() {
            self.kind = Kind::Appended;
            return Stage::Done;
        }
        if DEEP && self.correct_bit() {
            return self.damaged(Damage::Bit);
        }
        self.wrong_crc()
    }

    /// Corrects the wrong bit that the record's checksum shows, if only one bit is wrong.
    fn correct_bit(&mut self) -> bool {
        let Some(right) = self.image.corrected() else { return false };
        (self.image, self.next.0) = (right, right);
        self.believe();
        true
    }

    /// Accepts the record of the image, if it has a valid one.
    fn believe(&mut self) {
        let is_right = matches!(self.is_right(&self.image), Ok(true));
        self.kind = if is_right { Kind::Committed } else { Kind::Plain };
    }

    /// Judges the header by one of the shadows. Of two judgements, the lesser one counts; of equal
    /// ones, that of the later shadow.
    #[inline(never)]
    fn feed_shadow(&mut self, both: u64, bytes: &[u8], before: Option<Opinion>) -> Option<Opinion> {
        // The header may be wrong about the place.
        let fits = |one: &&Shadow| !DEEP || one.new.commit.shadow.get() == both;
        let Some(shadow) = Shadow::parse(bytes).filter(fits) else { return before };
        let settled = match OWN {
            true if shadow.is_torn_in(&self.image) => Settled::Torn,
            true => Settled::Damaged,
            false => shadow.settle(&self.image),
        };
        let number = shadow.new.commit.sequence.get();
        if let Some(other) = before {
            let is_later = number.wrapping_sub(other.number) <= u32::MAX / 2;
            if other.settled < settled || (other.settled == settled && !is_later) {
                return before;
            }
        }
        self.next.0.copy_from(&shadow.new);
        let mut is_useless = false;
        if DEEP && settled == Settled::Damaged {
            let nearer = shadow.nearer(&self.image);
            is_useless = shadow.is_append_with_wrong_record(&self.image);
            self.next.0 = match is_useless {
                true => Image { commit: nearer.commit, ..self.image },
                false => *nearer,
            };
        }
        Some(Opinion { settled, number, is_useless })
    }

    /// Judges the header by both shadows: if it was torn, one of them proves it.
    #[inline(never)]
    fn settle(&mut self, both: u64, opinion: Option<Opinion>) -> Stage {
        let Some(Opinion { settled, is_useless, .. }) = opinion else {
            return self.unexplained(both);
        };
        match settled {
            Settled::Torn => {
                let right = self.is_right(&self.next.0);
                if matches!(right, Ok(false)) {
                    self.note_wrong_crc();
                }
                self.is_torn_behind = self.image.has_fields_of(&self.next.0);
                self.image.copy_from(&self.next.0);
                self.is_torn = true;
                match right {
                    Ok(true) => {
                        self.kind = Kind::Torn;
                        self.look_ahead()
                    }
                    Ok(false) => self.committed(),
                    Err(error) => self.damaged(Damage::Error(error)),
                }
            }
            Settled::Appended if !OWN => {
                self.kind = Kind::Appended;
                Stage::Done
            }
            Settled::Damaged if DEEP => {
                if !is_useless {
                    self.image = self.next.0;
                    self.believe();
                }
                self.damaged(Damage::Shadow)
            }
            Settled::Appended | Settled::Damaged => self.wrong_crc(),
        }
    }

    /// The header's record is valid, or was valid before the header was torn. There may be a later
    /// commit.
    fn look_ahead(&mut self) -> Stage {
        if !self.kind.has_record() {
            return Stage::Done;
        }
        let commit = &self.image.commit;
        match shadows(commit.shadow.get(), self.file_len) {
            Some(_) if !OWN && commit.one_sync == 1 => Stage::NextShadow,
            _ => self.look_for_later(),
        }
    }

    #[inline(never)]
    fn feed_next_shadow(&mut self, bytes: &[u8]) -> Stage {
        let Some(shadow) = Shadow::parse(bytes) else { return self.look_for_later() };
        let added = shadow.added_to(&self.image).filter(|added| added.fits(self.file_len));
        let Some(added) = added else { return self.look_for_later() };
        self.next.0.copy_from(&shadow.new);
        self.next.1 = shadow.added_crc.get();
        Stage::Added(added, (0, 0))
    }

    /// Sums up the bytes that a commit added, and accepts the commit if all of them are present.
    #[inline(never)]
    fn feed_added(
        &mut self,
        mut left: Added,
        (mut chunks, mut entries): (u32, u32),
        bytes: &[u8],
    ) -> Stage {
        let crc = if left.chunks.is_empty() { &mut entries } else { &mut chunks };
        *crc = crc32c(*crc, bytes);
        left.pass(usize_to_u64(bytes.len()));
        if !left.entries.is_empty() {
            return Stage::Added(left, (chunks, entries));
        }
        let (new, want) = &mut self.next;
        new.gsd_version = self.image.gsd_version; // gsd may have looked, and raised it
        let is_right = matches!(new.has_right_record(self.file_len), Ok(true))
            && Added::crc(chunks, entries, crc32c) == *want
            && new.check_blocks(self.file_len).is_ok();
        if !is_right {
            return self.look_for_later();
        }
        self.image.copy_from(new);
        match self.kind {
            // The power went while the shadow of the commit after this one was written: nothing
            // says that the header is durable before it.
            Kind::Committed => {
                self.kind = Kind::Ahead;
                self.look_ahead()
            }
            kind => {
                (self.kind, self.is_two_behind) = (Kind::Ahead, kind == Kind::Ahead);
                self.committed()
            }
        }
    }

    /// The header is valid and no shadow is ahead of it. A `DEEP` judge checks if a shadow was made
    /// for a later header.
    fn look_for_later(&mut self) -> Stage {
        let both = self.image.commit.shadow.get();
        match self.kind {
            Kind::Committed if DEEP && shadows(both, self.file_len).is_some() => Stage::Later,
            _ => self.committed(),
        }
    }

    /// Takes the header that this shadow's commit replaced, if it is later than the stored one: it
    /// was durable, and no crash leaves the stored header.
    fn feed_later(&mut self, bytes: &[u8]) {
        let Some(shadow) = Shadow::parse(bytes).filter(|_| self.kind.has_record()) else { return };
        let (later, commit) = (&shadow.old.commit, &self.image.commit);
        let ahead = later.sequence.get().wrapping_sub(commit.sequence.get());
        let is_later = (1..=u32::MAX / 2).contains(&ahead) && later.shadow == commit.shadow;
        if is_later && matches!(self.is_right(&shadow.old), Ok(true)) {
            (self.image, self.next.0) = (shadow.old, shadow.old);
            self.kind = Kind::Committed;
            self.damage = Some(Damage::Shadow);
        }
    }

    /// The record is valid, unless another program has appended.
    fn committed(&mut self) -> Stage {
        if !self.kind.has_record() {
            return Stage::Done;
        }
        let version = Version::from_number(self.image.gsd_version.get());
        if version.is_readable() && u16::from(self.image.commit.layer) != version.major {
            self.kind = Kind::Appended; // gsd_upgrade was here
            return Stage::Done;
        }
        let (index, entries) = (self.image.index(), self.image.commit.entries.get());
        let slot = Span::new(index.offset_of(entries), ENTRY_LEN);
        match slot.filter(|slot| index.slots > entries && slot.fits(self.file_len)) {
            Some(slot) => Stage::SlotBehind(slot.offset()),
            None => Stage::Done,
        }
    }

    fn shadow_of(&self, sequence: u32) -> u64 {
        Shadow::offset_of(self.image.commit.shadow.get(), sequence)
    }

    /// The next read, or `None` if the judgement is complete.
    pub(super) fn next_read(&self) -> Option<Read> {
        let shadow = |offset| Some(Read { offset, need: SHADOW_LEN, want: Shadow::LEN });
        match self.stage {
            Stage::Shadow(both) => shadow(both),
            Stage::OtherShadow(both, _) => shadow(Shadow::offset_of(both, 1)),
            Stage::NextShadow if !OWN => {
                shadow(self.shadow_of(self.image.commit.sequence.get().wrapping_add(1)))
            }
            Stage::Added(left, _) if !OWN => {
                let left = if left.chunks.is_empty() { left.entries } else { left.chunks };
                Some(Read { offset: left.offset(), need: 1, want: left.len() })
            }
            Stage::Later if DEEP => shadow(self.shadow_of(0)),
            Stage::OtherLater if DEEP => shadow(self.shadow_of(1)),
            Stage::SlotBehind(offset) => Some(Read { offset, need: 32, want: ENTRY_LEN }),
            _ => None,
        }
    }

    pub(super) fn feed_stage(&mut self, bytes: &[u8]) {
        self.stage = match self.stage {
            Stage::Shadow(both) => Stage::OtherShadow(both, self.feed_shadow(both, bytes, None)),
            Stage::OtherShadow(both, opinion) => {
                let opinion = self.feed_shadow(both, bytes, opinion);
                self.settle(both, opinion)
            }
            Stage::NextShadow if !OWN => self.feed_next_shadow(bytes),
            Stage::Added(left, crcs) if !OWN => self.feed_added(left, crcs, bytes),
            Stage::Later if DEEP => {
                self.feed_later(bytes);
                Stage::OtherLater
            }
            Stage::OtherLater if DEEP => {
                self.feed_later(bytes);
                self.committed()
            }
            Stage::SlotBehind(_) => {
                // Only gsd uses a visible slot that is not committed.
                if IndexEntry::ref_from_prefix(bytes).is_ok_and(|(entry, _)| entry.is_used()) {
                    self.kind = Kind::Appended;
                }
                Stage::Done
            }
            _ => Stage::Done,
        };
    }
}

/// The judgement of a header with a wrong checksum, by one shadow.
#[derive(Debug, Clone, Copy)]
struct Opinion {
    settled: Settled,
    /// Number of the shadow's commit.
    number: u32,
    /// Whether gsd has appended, so that the damage is only in a record that is no longer needed.
    is_useless: bool,
}

impl<const DEEP: bool, const OWN: bool> ReadMachine for Judge<DEEP, OWN> {
    type Output = ();
    type Error = Infallible;

    fn poll(&mut self) -> ReadStep<()> {
        self.next_read().map_or(ReadStep::Done(()), Read::step)
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.feed_stage(bytes);
        Ok(())
    }
}
