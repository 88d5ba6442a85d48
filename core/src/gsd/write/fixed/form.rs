//! What differs between logs: their names, and the places of their blocks.

use super::shape::{Base, Blocks, Shape};
use crate::gsd::disk::record::Record;
use crate::gsd::layout::IndexBlock;
use crate::gsd::raw::Image;
use crate::span::Span;

/// The names of a log and the places of its blocks: after the last commit, and after the next one.
pub(super) trait Form {
    /// Whether the index moves when it is full.
    const MOVES: bool;

    fn base(&self) -> &Base;

    /// The names of a new file.
    fn first_names(&self) -> &[&str];

    /// The number of names.
    fn names(&self) -> usize;

    /// Takes the blocks of a file whose header has the image and record that were `found`, and
    /// turns `record`, that of a new file, into the one that it must have. Returns whether it can.
    fn take(&mut self, found: &Record, image: &Image, record: &mut Record) -> bool;

    /// The blocks that the header shows.
    fn shown(&self) -> Blocks;

    /// The blocks that the next commit shows.
    fn next(&self) -> Blocks;

    /// The index is at `block` with the next commit.
    fn move_index(&mut self, block: IndexBlock);

    /// Adds to `record`, that of the next commit, what other calls than those for chunks changed.
    fn complete(&self, record: &mut Record);

    /// The next commit is now the last one.
    fn commit(&mut self);

    /// The index for the next entries.
    fn index(&self) -> IndexBlock {
        self.next().index
    }

    /// What is after the names in the list of the next commit.
    #[inline]
    fn after_names(&self) -> Span {
        Span::ZERO
    }

    /// Whether that is not the first index.
    fn has_moved(&self) -> bool {
        Self::MOVES && self.index() != self.base().index
    }

    /// The end of all blocks that may have moved.
    fn end(&self) -> u64 {
        let Blocks { names, index } = self.next();
        let end = names.exact_span().end().max(index.exact_span().end());
        if Self::MOVES { end } else { 0 }
    }
}

/// All is as it was made.
impl<const N: usize> Form for &Shape<'_, N> {
    const MOVES: bool = false;

    fn base(&self) -> &Base {
        Shape::base(self)
    }

    fn first_names(&self) -> &[&str] {
        Shape::names(self)
    }

    fn names(&self) -> usize {
        N
    }

    #[inline]
    fn take(&mut self, found: &Record, _: &Image, record: &mut Record) -> bool {
        (record.entries, record.data_end) = (found.entries, found.data_end);
        (record.index_crc, record.sequence) = (found.index_crc, found.sequence);
        true
    }

    fn shown(&self) -> Blocks {
        self.base().blocks()
    }

    fn next(&self) -> Blocks {
        self.shown()
    }

    fn move_index(&mut self, _: IndexBlock) {}

    fn complete(&self, _: &mut Record) {}

    fn commit(&mut self) {}
}
