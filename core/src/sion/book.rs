//! What a writer knows of a physical file, as a value: no store, no lock, no allocation.
//!
//! A Book says where META2 is, which blocks tasks have entered, and where the next META2 may go
//! (`spec/sion.md#commits`). It changes by what it is asked and by what it is told of the end of a
//! publication. A serial writer owns one, threads share one under a lock, and ranks of a parallel
//! program hold one copy each, which stay equal because all conclude alike.
//!
//! [`Publish`](super::publish::Publish) is the machine that does what a Book says.

use super::error::Error;
use super::layout::Blocks;
use super::meta1::Meta1;
use super::tables::Publication;
use super::varheader::{Varheader, VarheaderShape};
use super::visible::Outcome;
use crate::integrity::Checksum;

/// What a writer knows of a physical file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Book {
    meta1: Meta1,
    /// CRC-32C of META1 before its commit fields; of no meaning if nothing is sealed.
    meta1_crc: u32,
    blocks: Blocks,
    /// META2 of one row, and what stands behind it.
    shape: VarheaderShape,
    /// What the last commit wrote.
    published: Option<Varheader>,
    /// What a commit wrote that failed so late that readers may see it.
    unsettled: Option<Varheader>,
    /// How often such a commit was made the visible one.
    settled: u64,
    /// Blocks that tasks have entered. META2 is never put there.
    entered: u64,
}

/// What must happen before a task may write to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enter {
    /// Nothing: the block is entered.
    GoOn,
    /// This must be made visible for sure, by [`Visible::settle`](super::visible::Visible::settle).
    Settle(Varheader),
    /// The last commit must be published once more, unchanged, at this place.
    Move(Varheader),
}

/// Blocks that stay free between those in use and META2, for tasks that go on.
///
/// Without any, a task that enters a new block first moves META2 behind it. With more, that is
/// rarer, and the file is longer in between. A place without them is taken where the file cannot be
/// so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ahead {
    /// So many.
    Blocks(u32),
    /// As many again as are in use, so that META2 moves ever more rarely while a file grows.
    Double,
}

impl Ahead {
    /// No blocks.
    pub const NONE: Self = Self::Blocks(0);

    const fn after(self, blocks: u64) -> u64 {
        match self {
            Self::Blocks(ahead) => blocks.saturating_add(super::layout::widen_u32(ahead)),
            Self::Double => blocks.saturating_mul(2),
        }
    }
}

/// The places of the META2s that a close writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosePlan {
    /// Where META2 is published first, if the last commit is where the closed file will have it.
    pub aside: Option<Varheader>,
    /// Where the closed file has it: right behind its blocks. The file ends with it.
    pub last: Varheader,
}

impl Book {
    /// Of a new file; `entries` are those of its mapping, which only the first of several files
    /// has.
    ///
    /// # Errors
    /// [`Error::FileFull`] if META2 has no place behind block 0.
    pub fn create(
        meta1: &Meta1,
        blocks: &Blocks,
        entries: u64,
        sealed: bool,
    ) -> Result<Self, Error> {
        let mapping_len = meta1.mapping_len(entries);
        let shape = VarheaderShape::new(meta1.layout(), 1, mapping_len, sealed);
        let shape = shape.ok_or(Error::FileFull { chunk: 0 })?;
        let book = Self {
            meta1: *meta1,
            meta1_crc: 0,
            blocks: *blocks,
            shape,
            published: None,
            unsettled: None,
            settled: 0,
            entered: 0,
        };
        book.check(1).map(|()| book)
    }

    /// Of a file whose last commit is at `published`. `sealed` says whether the commits that follow
    /// seal it.
    #[must_use]
    pub fn reopen(meta1: &Meta1, blocks: &Blocks, published: Varheader, sealed: bool) -> Self {
        let used = u64::from(published.maxchunks());
        Self {
            meta1: *meta1,
            meta1_crc: 0,
            blocks: *blocks,
            shape: published.shape().with_seal(sealed),
            published: Some(published),
            unsettled: None,
            settled: 0,
            // Of a file that others wrote, META2 may be in front of blocks in use.
            entered: used.min(blocks.before(published.start())),
        }
    }

    /// Knows the CRC-32C of META1 before its commit fields, which a seal needs.
    #[must_use]
    pub const fn with_meta1_crc(self, meta1_crc: u32) -> Self {
        Self { meta1_crc, ..self }
    }

    /// META1 of the file.
    #[must_use]
    pub const fn meta1(&self) -> &Meta1 {
        &self.meta1
    }

    /// Where its blocks are.
    #[must_use]
    pub const fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// Whether commits seal the file.
    #[must_use]
    pub const fn is_sealed(&self) -> bool {
        self.shape.is_sealed()
    }

    /// What the last commit wrote.
    #[must_use]
    pub const fn published(&self) -> Option<&Varheader> {
        self.published.as_ref()
    }

    /// What a commit wrote that failed so late that readers may see it: it or the last one. It must
    /// be settled before anything else is published.
    #[must_use]
    pub const fn unsettled(&self) -> Option<&Varheader> {
        self.unsettled.as_ref()
    }

    /// How often a commit of unknown outcome was made the visible one.
    #[must_use]
    pub const fn settled(&self) -> u64 {
        self.settled
    }

    /// Whether META2 is where a close puts it.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        let is_close = |now: &Varheader| self.blocks.is_close(now.maxchunks(), now.start());
        self.unsettled.is_none() && self.published.as_ref().is_some_and(is_close)
    }

    /// Blocks that tasks may write to without asking.
    #[must_use]
    pub const fn entered(&self) -> u64 {
        self.entered
    }

    /// Blocks that can be written to without touching anything that a reader may see.
    ///
    /// Ranks ask this between two collectives, and never [`enter`](Self::enter), so that their
    /// Books stay equal.
    #[must_use]
    pub fn reach(&self) -> u64 {
        let visible = [self.published, self.unsettled].into_iter().flatten();
        visible.map(|at| self.blocks.before(at.start())).min().unwrap_or(u64::MAX)
    }

    /// Opens `block` to writing, or says what must be done and concluded before it is asked again.
    ///
    /// # Errors
    /// [`Error::FileFull`] if what is written there could not be committed.
    pub fn enter(&mut self, block: u32, ahead: Ahead) -> Result<Enter, Error> {
        let wanted = u64::from(block).saturating_add(1);
        if wanted <= self.entered {
            return Ok(Enter::GoOn);
        }
        self.check(block.saturating_add(1))?;
        if wanted <= self.reach() {
            self.entered = wanted;
            return Ok(Enter::GoOn);
        }
        match (self.unsettled, self.published) {
            (Some(new), _) => Ok(Enter::Settle(new)),
            (None, None) => Ok(Enter::GoOn), // nothing is published: every block is in reach
            // Behind all blocks in use: those of a file that was reopened can be behind its META2.
            (None, Some(old)) => {
                self.place(old.shape(), wanted.max(old.maxchunks().into()), ahead).map(Enter::Move)
            }
        }
    }

    /// The place of a commit of streams of which the longest has `maxchunks` chunks.
    ///
    /// # Errors
    /// [`Error::FileFull`].
    pub fn commit(&self, maxchunks: u32, ahead: Ahead) -> Result<Varheader, Error> {
        let shape = self.shape(self.rows(maxchunks))?;
        self.place(&shape, self.entered.max(shape.maxchunks().into()), ahead)
    }

    /// The places of a close with streams of which the longest has `maxchunks` chunks.
    ///
    /// # Errors
    /// [`Error::FileFull`].
    pub fn close(&self, maxchunks: u32) -> Result<ClosePlan, Error> {
        let shape = self.shape(self.rows(maxchunks))?;
        let used = u64::from(shape.maxchunks());
        let full = Error::FileFull { chunk: used };
        let last = self.blocks.end(used).and_then(|end| shape.at(end)).ok_or(full)?;
        let in_the_way = self.published.filter(|old| old.span().overlaps(last.span()));
        let aside = match in_the_way {
            Some(old) => Some(shape.behind(old.span().end().max(last.span().end())).ok_or(full)?),
            None => None,
        };
        Ok(ClosePlan { aside, last })
    }

    /// What is to be written for META2 at `new`, in a file of `file_len` bytes.
    #[must_use]
    pub const fn publication(
        &self,
        new: Varheader,
        file_len: u64,
        checksum: Checksum,
    ) -> Publication {
        let Self { meta1, meta1_crc, published: old, .. } = *self;
        Publication { meta1, meta1_crc, old, new, file_len, checksum }
    }

    /// Remembers what the file is after a publication has ended or failed.
    pub fn conclude(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Unchanged => {}
            Outcome::Unknown(new) => self.unsettled = Some(new),
            Outcome::Published(new) => {
                if self.unsettled == Some(new) {
                    self.settled = self.settled.saturating_add(1);
                }
                (self.published, self.unsettled) = (Some(new), None);
            }
        }
        // Where a close puts META2 there may be a block that was entered and left unused.
        self.entered = self.entered.min(self.reach());
    }

    /// Rows of a META2 of streams of which the longest has `maxchunks` chunks.
    fn rows(&self, maxchunks: u32) -> u32 {
        self.published.map_or(1, |old| old.maxchunks()).max(maxchunks)
    }

    /// META2 of so many rows, and what stands behind it.
    fn shape(&self, maxchunks: u32) -> Result<VarheaderShape, Error> {
        let chunk = maxchunks.saturating_sub(1).into();
        self.shape.with_maxchunks(maxchunks).ok_or(Error::FileFull { chunk })
    }

    /// Checks that META2 has a place behind `maxchunks` blocks, wherever the one before it and that
    /// of a close are.
    fn check(&self, maxchunks: u32) -> Result<(), Error> {
        match self.shape(maxchunks)?.has_places(&self.blocks) {
            true => Ok(()),
            false => Err(Error::FileFull { chunk: maxchunks.saturating_sub(1).into() }),
        }
    }

    fn place(&self, shape: &VarheaderShape, blocks: u64, ahead: Ahead) -> Result<Varheader, Error> {
        let aside = |reach| shape.aside(&self.blocks, reach, self.published.as_ref());
        let far = aside(ahead.after(blocks));
        far.or_else(|| aside(blocks)).ok_or(Error::FileFull { chunk: blocks })
    }
}
