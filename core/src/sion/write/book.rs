//! A writer's state of a physical file, as a value: no store, no lock, no allocation.
//!
//! A [`Book`] holds where META2 is, which blocks tasks have entered, and where the next META2 may
//! go (`spec/sion.md#commits`). It changes when a block is entered and when a publication ends. A
//! serial writer owns one. Threads share one under a lock. Each rank of a parallel program holds a
//! copy; the copies stay equal because all ranks pass the same outcomes to [`Book::conclude`].
//!
//! [`Desk`](super::publish::Desk) carries out a Book's plan.

mod proof;

use super::tables::Publication;
use super::visible::Outcome;
use crate::integrity::Checksum;
use crate::sion::disk::meta1::Meta1;
use crate::sion::disk::varheader::{Varheader, VarheaderShape};
use crate::sion::error::Error;
use crate::sion::layout::{Blocks, widen_u32};

/// A writer's state of a physical file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Book {
    meta1: Meta1,
    /// CRC-32C of META1 before its commit fields; meaningless if commits do not seal the file.
    meta1_crc: u32,
    /// The identity of the set, which commits put into seals; 0 if it has none.
    set_identity: u32,
    blocks: Blocks,
    /// The lengths of META2 with one row, the mapping and the seal.
    shape: VarheaderShape,
    /// The place of the last commit.
    published: Option<Varheader>,
    /// The place of a commit that failed so late that readers may see it.
    unsettled: Option<Varheader>,
    /// How often such a commit became the last commit.
    settled: u64,
    /// The number of blocks that tasks have entered. META2 is never put there.
    entered: u64,
}

/// The action that is needed before a task may write to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Enter {
    /// None: the block is entered.
    GoOn,
    /// Make this commit [visible](super::visible::show); it is not known whether it is.
    Settle(Varheader),
    /// Publish the last commit again, unchanged, at this place.
    Move(Varheader),
}

/// The number of free blocks between the blocks in use and META2.
///
/// Without free blocks, a task that enters a new block first moves META2 after that block. With
/// more, META2 moves less often, and the file is longer until it is closed. If the file cannot be
/// so long, META2 is placed without free blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Ahead {
    /// This number of blocks.
    Blocks(u32),
    /// As many free blocks as there are blocks in use: META2 moves less and less often while the
    /// file grows.
    Double,
}

impl Ahead {
    /// No blocks.
    pub const NONE: Self = Self::Blocks(0);

    const fn after(self, blocks: u64) -> u64 {
        match self {
            Self::Blocks(ahead) => blocks.saturating_add(widen_u32(ahead)),
            Self::Double => blocks.saturating_mul(2),
        }
    }
}

/// The places where a close writes META2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosePlan {
    /// Where META2 is published first, if the last commit overlaps its final place.
    pub aside: Option<Varheader>,
    /// The final place: right after the blocks in use. The file ends with META2, mapping and seal.
    pub last: Varheader,
}

impl Book {
    /// The Book of a new file. `entries` is the number of entries of its mapping, which only the
    /// first of several files has.
    ///
    /// # Errors
    /// [`Error::FileFull`] if META2 has no place after block 0.
    pub const fn create(
        meta1: &Meta1,
        blocks: &Blocks,
        entries: u64,
        sealed: bool,
    ) -> Result<Self, Error> {
        let mapping_len = meta1.mapping_len(entries);
        let Some(shape) = VarheaderShape::new(meta1.layout(), 1, mapping_len, sealed) else {
            return Err(Error::FileFull { chunk: 0 });
        };
        let book = Self {
            meta1: *meta1,
            meta1_crc: 0,
            set_identity: 0,
            blocks: *blocks,
            shape,
            published: None,
            unsettled: None,
            settled: 0,
            entered: 0,
        };
        match book.check(1) {
            Ok(()) => Ok(book),
            Err(error) => Err(error),
        }
    }

    /// The Book of a file whose last commit is at `published`. `sealed` says whether the next
    /// commits seal it. It stays in the set that its seal names.
    #[must_use]
    pub fn reopen(meta1: &Meta1, blocks: &Blocks, published: Varheader, sealed: bool) -> Self {
        let used = u64::from(published.maxchunks());
        Self {
            meta1: *meta1,
            meta1_crc: 0,
            set_identity: published.set_identity(),
            blocks: *blocks,
            shape: published.shape().with_seal(sealed),
            published: Some(published),
            unsettled: None,
            settled: 0,
            // In a file of another writer, META2 may be before blocks in use.
            entered: used.min(blocks.before(published.start())),
        }
    }

    /// Sets the CRC-32C of META1 before its commit fields, which a seal needs.
    #[must_use]
    pub const fn with_meta1_crc(self, meta1_crc: u32) -> Self {
        Self { meta1_crc, ..self }
    }

    /// Sets the identity of the set that the file is of, which a seal stores: equal in all files of
    /// a set, and hardly ever in those of another one. With 0 there is none.
    #[must_use]
    pub const fn with_set_identity(self, set_identity: u32) -> Self {
        Self { set_identity, ..self }
    }

    /// The identity of the set that the file is of; 0 if it has none.
    #[must_use]
    pub const fn set_identity(&self) -> u32 {
        self.set_identity
    }

    /// META1 of the file.
    #[must_use]
    pub const fn meta1(&self) -> &Meta1 {
        &self.meta1
    }

    /// The places of the blocks.
    #[must_use]
    pub const fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// Whether commits seal the file.
    #[must_use]
    pub const fn is_sealed(&self) -> bool {
        self.shape.is_sealed()
    }

    /// The place of the last commit.
    #[must_use]
    pub const fn published(&self) -> Option<&Varheader> {
        self.published.as_ref()
    }

    /// The place of a commit that failed so late that readers may see either it or the last commit.
    /// It must be settled before anything else is published.
    #[must_use]
    pub const fn unsettled(&self) -> Option<&Varheader> {
        self.unsettled.as_ref()
    }

    /// How often a commit of unknown outcome became the last commit.
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

    /// The number of blocks that tasks have entered and may write to.
    #[must_use]
    pub const fn entered(&self) -> u64 {
        self.entered
    }

    /// The number of blocks that can be written without touching anything that a reader may see.
    ///
    /// Between two collective calls, ranks call this and never [`enter`](Self::enter), so that
    /// their Books stay equal.
    #[must_use]
    #[cfg_attr(target_os = "none", inline(never))] // a device's code is small
    pub fn reach(&self) -> u64 {
        let start = |at: &Option<Varheader>| at.as_ref().map_or(u64::MAX, Varheader::start);
        match start(&self.published).min(start(&self.unsettled)) {
            u64::MAX => u64::MAX, // nothing is visible
            first => self.blocks.before(first),
        }
    }

    /// Enters `block`, or returns the action that must end ([`conclude`](Self::conclude)) before
    /// `enter` is called again.
    ///
    /// # Errors
    /// [`Error::FileFull`] if bytes in that block could not be committed.
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
        match (&self.unsettled, &self.published) {
            (Some(new), _) => Ok(Enter::Settle(*new)),
            (None, None) => Ok(Enter::GoOn), // nothing is published: every block is in reach
            // After all blocks in use: in a file that was reopened, blocks can be after its META2.
            (None, Some(old)) => {
                let place = self.place(old.shape(), wanted.max(old.maxchunks().into()), ahead);
                // It has the same streams, so it is of the same commit of the set.
                place.map(|place| Enter::Move(place.of_set_like(old)))
            }
        }
    }

    /// The place of the next commit. `maxchunks` is the number of chunks of the longest stream.
    ///
    /// # Errors
    /// [`Error::FileFull`] if META2 has no place in the file.
    pub fn commit(&self, maxchunks: u32, ahead: Ahead) -> Result<Varheader, Error> {
        let shape = self.shape(self.rows(maxchunks))?;
        self.place(&shape, self.entered.max(shape.maxchunks().into()), ahead)
    }

    /// The places of a close. `maxchunks` is the number of chunks of the longest stream.
    ///
    /// # Errors
    /// [`Error::FileFull`] if META2 has no place in the file.
    pub fn close(&self, maxchunks: u32) -> Result<ClosePlan, Error> {
        let shape = self.shape(self.rows(maxchunks))?;
        let used = u64::from(shape.maxchunks());
        let full = Error::FileFull { chunk: used };
        let last = self.blocks.end(used).and_then(|end| shape.at(end)).ok_or(full)?;
        let last = last.with_set_identity(self.set_identity);
        let in_the_way = self.published.filter(|old| old.span().overlaps(last.span()));
        let aside = match in_the_way {
            Some(old) => {
                let aside = shape.behind(old.span().end().max(last.span().end())).ok_or(full)?;
                Some(aside.with_set_identity(self.set_identity))
            }
            None => None,
        };
        Ok(ClosePlan { aside, last })
    }

    /// The place of a commit that is prepared before it is shown, as in a commit of the whole set.
    /// With `is_last` it is that of a close, unless the last commit is in the way: then a close has
    /// to follow. `maxchunks` is the number of chunks of the longest stream.
    ///
    /// # Errors
    /// [`Error::FileFull`] if META2 has no place in the file.
    pub fn prepared(
        &self,
        maxchunks: u32,
        is_last: bool,
        ahead: Ahead,
    ) -> Result<Varheader, Error> {
        match is_last {
            true => self.close(maxchunks).map(|plan| plan.aside.unwrap_or(plan.last)),
            false => self.commit(maxchunks, ahead),
        }
    }

    /// The description of a commit at `new`, in a file of `file_len` bytes.
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

    /// Records the outcome of a publication that has ended or failed.
    pub fn conclude(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Unchanged => {}
            Outcome::Unknown(new) => self.unsettled = Some(new),
            Outcome::Published(new) => {
                let is_again = self.unsettled.is_some_and(|at| at.start() == new.start());
                return self.shown(new, is_again);
            }
        }
        self.leave_unused();
    }

    /// Records that the commit at `new` is the last one; with `is_again`, its outcome was unknown.
    pub(in crate::sion) fn shown(&mut self, new: Varheader, is_again: bool) {
        self.settled = self.settled.saturating_add(is_again.into());
        (self.published, self.unsettled) = (Some(new), None);
        self.leave_unused();
    }

    /// Where a close puts META2 there may be a block that was entered and left unused.
    fn leave_unused(&mut self) {
        self.entered = self.entered.min(self.reach());
    }

    /// The rows of the next META2: at least `maxchunks`, and at least as many as in the last
    /// commit.
    fn rows(&self, maxchunks: u32) -> u32 {
        self.published.as_ref().map_or(1, Varheader::maxchunks).max(maxchunks)
    }

    /// The lengths of META2 with `maxchunks` rows, the mapping and the seal.
    pub(in crate::sion) fn shape(&self, maxchunks: u32) -> Result<VarheaderShape, Error> {
        self.shape.with_maxchunks(maxchunks).ok_or(full_at(maxchunks))
    }

    /// Checks that META2 has a place after `maxchunks` blocks, wherever the last commit and a later
    /// close are.
    const fn check(&self, maxchunks: u32) -> Result<(), Error> {
        match self.shape.with_maxchunks(maxchunks) {
            Some(shape) if shape.has_places(&self.blocks) => Ok(()),
            _ => Err(full_at(maxchunks)),
        }
    }

    fn place(&self, shape: &VarheaderShape, blocks: u64, ahead: Ahead) -> Result<Varheader, Error> {
        let aside = |reach| shape.aside(&self.blocks, reach, self.published.as_ref());
        let far = aside(ahead.after(blocks));
        let place = far.or_else(|| aside(blocks)).ok_or(Error::FileFull { chunk: blocks })?;
        Ok(place.with_set_identity(self.set_identity))
    }
}

/// The error if the last of `maxchunks` chunks has no place.
const fn full_at(maxchunks: u32) -> Error {
    Error::FileFull { chunk: widen_u32(maxchunks.saturating_sub(1)) }
}
