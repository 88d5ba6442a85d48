//! Publishing: the one write of the header that makes a commit visible.

use super::raw::{Commit, Image, Shadow};
use super::record::OFFSET;
use super::shadow::SHADOW_LEN;
use crate::integrity::Checksum;
use crate::step::{Machine, Step};
use crate::store::usize_to_u64;
use core::convert::Infallible;
use zerocopy::IntoBytes;

/// Offset of the part of an image that stands in front of application and schema.
const FIELDS: u64 = 8;
const MAGIC: usize = Commit::MAGIC.len();

/// Replaces what commits change of a header, so that it is the old or the new one whatever happens.
///
/// All that the new header speaks of must have been written before. The shadow is written first and
/// made durable together with that; the header is then written in the order of its bytes, so that
/// whatever tears it leaves a front of the new and the rest of the old one, which the shadow tells
/// apart from everything else.
///
/// A commit of one sync leaves it to the next one to make the header durable: until then, the shadow
/// proves that it was made.
#[derive(Debug)]
pub struct Publish {
    shadow: Shadow,
    offset: u64,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Shadow,
    Before,
    Fields,
    Record,
    /// The header is durable, or, of a commit of one sync, to be seen before what comes later.
    Behind,
    Done,
    // Of a first commit record.
    FirstShadow,
    OtherShadow,
    SyncShadows,
    Rest,
    SyncRest,
    Magic,
}

impl Stage {
    const fn next(self) -> Self {
        match self {
            Self::Shadow => Self::Before,
            Self::Before => Self::Fields,
            Self::Fields => Self::Record,
            Self::Record | Self::Magic => Self::Behind,
            Self::Behind | Self::Done => Self::Done,
            Self::FirstShadow => Self::OtherShadow,
            Self::OtherShadow => Self::SyncShadows,
            Self::SyncShadows => Self::Rest,
            Self::Rest => Self::SyncRest,
            Self::SyncRest => Self::Magic,
        }
    }
}

const ZEROS: [u8; SHADOW_LEN] = [0; SHADOW_LEN];

impl Publish {
    /// Replaces `old`, which stands in the header, by `new`; both name the same shadows. `added_crc` is
    /// that of a commit of one sync, or 0.
    #[must_use]
    pub fn new(old: &Image, new: &Image, added_crc: u32, checksum: Checksum) -> Self {
        let commit = &new.commit;
        let offset = Shadow::offset_of(commit.shadow.get(), commit.sequence.get());
        Self { shadow: Shadow::of(old, new, added_crc, checksum), offset, stage: Stage::Shadow }
    }

    /// Ends what was cut off before the header was durable. What it speaks of is there, and is made
    /// durable first: a program may have been killed before it did that.
    #[must_use]
    pub fn again(new: &Image, checksum: Checksum) -> Self {
        Self { stage: Stage::Before, ..Self::new(new, new, 0, checksum) }
    }

    /// Whether it takes one sync.
    #[must_use]
    pub fn is_of_one_sync(&self) -> bool {
        self.shadow.added_crc.get() != 0
    }

    /// Gives a header that has no commit record the first one, that of `new`; the fields before it are
    /// what they were.
    ///
    /// The record is whole and durable before the magic that makes it one is written. The caller has
    /// cleared the magic of one that does not hold.
    #[must_use]
    pub fn first(new: &Image, checksum: Checksum) -> Self {
        Self { stage: Stage::FirstShadow, ..Self::new(new, new, 0, checksum) }
    }

    /// What the header is to be.
    #[must_use]
    pub const fn image(&self) -> &Image {
        &self.shadow.new
    }

    /// Whether the next step is the first one that writes to the header of a commit: what was begun must
    /// be ended from there on, before the shadow is used for anything else.
    #[must_use]
    pub fn is_about_to_begin(&self) -> bool {
        self.stage == Stage::Fields
    }

    /// Whether there is no further step.
    #[must_use]
    pub fn is_done(&self) -> bool {
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
        let shadows = self.shadow.new.commit.shadow.get();
        let new = self.shadow.new.as_bytes();
        let (fields, record) = new.split_at_checked(40).unwrap_or((new, &[]));
        match stage {
            Stage::Shadow => Step::Write { offset: self.offset, bytes: self.shadow.as_bytes() },
            Stage::Behind if is_of_one_sync => Step::Order,
            Stage::Before | Stage::Behind | Stage::SyncShadows | Stage::SyncRest => Step::Sync,
            Stage::Fields => Step::Write { offset: FIELDS, bytes: fields },
            Stage::Record => Step::Write { offset: OFFSET, bytes: record },
            Stage::Done => Step::Done(()),
            Stage::FirstShadow => Step::Write { offset: shadows, bytes: self.shadow.as_bytes() },
            Stage::OtherShadow => {
                Step::Write { offset: Shadow::offset_of(shadows, 1), bytes: &ZEROS }
            }
            Stage::Rest => {
                let bytes = record.get(MAGIC..).unwrap_or_default();
                Step::Write { offset: OFFSET.saturating_add(usize_to_u64(MAGIC)), bytes }
            }
            Stage::Magic => {
                Step::Write { offset: OFFSET, bytes: record.get(..MAGIC).unwrap_or_default() }
            }
        }
    }

    fn feed(&mut self, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }
}
