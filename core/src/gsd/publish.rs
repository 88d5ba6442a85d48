//! Publishing: the one write of the header that makes a commit visible.

use super::raw::{Image, Shadow};
use super::record::OFFSET;
use crate::integrity::Checksum;
use crate::step::{Machine, Step};
use core::convert::Infallible;
use zerocopy::IntoBytes;

/// Offset of the part of an image that stands in front of application and schema.
const FIELDS: u64 = 8;

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

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Shadow,
    Before,
    Fields,
    Record,
    /// The header is durable, or, of a commit of one sync, to be seen before what comes later.
    Behind,
    Done,
}

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

    /// Whether the header may have been written to: what was begun must be ended then, before the
    /// shadow is used for anything else.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.stage > Stage::Fields
    }
}

impl Machine for Publish {
    type Output = ();
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, ()> {
        let (stage, next) = match self.stage {
            Stage::Shadow => (Stage::Shadow, Stage::Before),
            Stage::Before => (Stage::Before, Stage::Fields),
            Stage::Fields => (Stage::Fields, Stage::Record),
            Stage::Record => (Stage::Record, Stage::Behind),
            Stage::Behind | Stage::Done => (self.stage, Stage::Done),
        };
        self.stage = next;
        let is_of_one_sync = self.is_of_one_sync();
        let new = self.shadow.new.as_bytes();
        let (fields, record) = new.split_at_checked(40).unwrap_or((new, &[]));
        match stage {
            Stage::Shadow => Step::Write { offset: self.offset, bytes: self.shadow.as_bytes() },
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
