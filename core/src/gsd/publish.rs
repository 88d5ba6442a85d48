//! The machine that publishes a commit: one write of the header makes the commit visible.

use super::raw::{Image, Shadow};
use super::record::OFFSET;
use crate::integrity::Checksum;
use crate::step::{Machine, Step};
use crate::store::{copy_front, usize_to_u64};
use core::convert::Infallible;
use core::mem::offset_of;
use zerocopy::{FromZeros, IntoBytes};

/// Offset of the part of an image that is before application and schema.
const FIELDS: u64 = 8;

/// Replaces the part of a header that commits change: after a crash, the header is the old or the
/// new one.
///
/// All bytes that the new header refers to must be written before. The shadow is written first and
/// made durable together with them. The header is then written in the order of its bytes, so that a
/// torn header is the start of the new one and the rest of the old one. The shadow tells this state
/// from any other.
///
/// After a commit of one sync, the next commit makes the header durable; until then the shadow
/// proves the commit.
#[derive(Debug)]
pub struct Publish {
    shadow: Shadow,
    stage: Stage,
}

/// The next step of a publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Shadow,
    Before,
    Fields,
    Record,
    /// The header is written: sync it, or, for a commit of one sync, order it before later writes.
    Behind,
    Done,
}

impl Stage {
    const fn next(self) -> Self {
        match self {
            Self::Shadow => Self::Before,
            Self::Before => Self::Fields,
            Self::Fields => Self::Record,
            Self::Record => Self::Behind,
            Self::Behind | Self::Done => Self::Done,
        }
    }
}

impl Publish {
    /// Makes a machine that replaces `old`, which is in the header, by `new`; both have the same
    /// shadows. `added_crc` is the checksum of a commit of one sync, or 0.
    #[must_use]
    pub fn new(old: &Image, new: &Image, added_crc: u32, checksum: Checksum) -> Self {
        Self { shadow: Shadow::of(old, new, added_crc, checksum), stage: Stage::Shadow }
    }

    /// Makes a machine that completes a commit that was interrupted before the header was durable.
    /// The bytes that the header refers to are written and are made durable first: a program may
    /// have been killed before it did that.
    #[must_use]
    pub fn again(new: &Image, checksum: Checksum) -> Self {
        Self { shadow: Shadow::of(new, new, 0, checksum), stage: Stage::Before }
    }

    /// A machine with nothing to publish.
    pub(super) fn nothing() -> Self {
        Self { shadow: Shadow::new_zeroed(), stage: Stage::Done }
    }

    /// Sets this to publish a shadow, which `fill` fills, from `stage` on.
    pub(super) fn set<T>(&mut self, stage: Stage, fill: impl FnOnce(&mut Shadow) -> T) -> T {
        self.stage = stage;
        fill(&mut self.shadow)
    }

    /// The memory of the shadow, free while nothing is published.
    pub(super) fn memory(&mut self) -> &mut [u8] {
        self.stage = Stage::Done;
        self.shadow.as_mut_bytes()
    }

    /// The bytes of that memory.
    pub(super) fn bytes(&self) -> &[u8] {
        self.shadow.as_bytes()
    }

    /// Whether the commit takes one sync.
    #[must_use]
    pub fn is_of_one_sync(&self) -> bool {
        self.shadow.added_crc.get() != 0
    }

    /// Whether the next step is a commit's first write to the header. From then on, the publication
    /// must be completed before the shadow is used for another commit.
    pub(super) fn is_about_to_begin(&self) -> bool {
        self.stage == Stage::Fields
    }

    /// Whether the publication is complete.
    pub(super) fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }
}

impl Machine for Publish {
    type Output = ();
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, ()> {
        let stage = self.stage;
        self.stage = stage.next();
        let is_of_one_sync = self.is_of_one_sync();
        let commit = &self.shadow.new.commit;
        let shadows = commit.shadow.get();
        let offset = Shadow::offset_of(shadows, commit.sequence.get());
        let (fields, record) = self.shadow.new.parts();
        match stage {
            Stage::Shadow => Step::Write { offset, bytes: self.shadow.as_bytes() },
            Stage::Behind if is_of_one_sync => Step::Order,
            Stage::Before | Stage::Behind => Step::Sync,
            Stage::Fields => Step::Write { offset: FIELDS, bytes: fields },
            Stage::Record => Step::Write { offset: OFFSET, bytes: record },
            Stage::Done => Step::Done(()),
        }
    }

    fn feed(&mut self, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Image {
    /// The bytes that prove that a file has this header, and their offset and length. They are its
    /// commit record, whose checksums cover the rest; that in the shadow, while the header may be
    /// half written or erased; or the fields before the record, if it may be invalid.
    #[inline(never)]
    pub(super) fn proof(
        &self,
        has_record: bool,
        is_torn: bool,
        known: &mut [u8; 80],
    ) -> (u64, usize) {
        let (fields, record) = self.parts();
        if !has_record {
            return (FIELDS, copy_front(fields, known));
        }
        let shadow = Shadow::offset_of(self.commit.shadow.get(), self.commit.sequence.get());
        let in_shadow = shadow.saturating_add(usize_to_u64(offset_of!(Shadow, new.commit)));
        (if is_torn { in_shadow } else { OFFSET }, copy_front(record, known))
    }

    /// The fields before the commit record, and the record.
    fn parts(&self) -> (&[u8], &[u8]) {
        self.as_bytes().split_at_checked(40).unwrap_or_default()
    }
}
