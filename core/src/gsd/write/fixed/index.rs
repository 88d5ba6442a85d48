//! Moving the index.

#[twin(FixedError)]
use super::FixedError;
use super::desk::Desk;
use super::fault::Fault;
use super::form::Form;
use super::log::Log;
use crate::gsd::layout::{ENTRY_LEN, IndexBlock, grown};
use crate::gsd::write::medium::PIECE;
use crate::span::Span;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::usize_to_u64;
use striae_twin::twin;

#[twin(WriteAt, FixedError)]
impl<S: WriteAt, F: Form, const N: usize> Desk<S, F, N> {
    /// Moves the index to the end of the file if the current frame has no room in it. The next
    /// commit makes it visible.
    #[inline(never)]
    pub(super) async fn grow(&mut self) -> Result<(), FixedError<S>> {
        let Some(block) = self.log.larger_index()? else { return Ok(()) };
        self.disk.recognise(&self.log).await?;
        self.disk.reserve(block.slot(block.slots)).await?;
        let used = self.log.record.entries.saturating_mul(ENTRY_LEN);
        let [to, from] = [block, self.log.form.index()].map(|at| Span::exact(at.location, used));
        self.disk.fill(to, from, &[]).await?;
        self.log.move_index(block);
        Ok(())
    }
}

impl<F: Form, const N: usize> Log<F, N> {
    /// A larger index at the end of the file, if the current frame needs one.
    fn larger_index(&self) -> Result<Option<IndexBlock>, Fault> {
        let room = self.room();
        let entries = room.with(usize_to_u64(self.entries.len()));
        if self.entries.is_empty() || entries <= room.usable {
            return Ok(None);
        }
        let slots = grown(room.slots, entries).ok_or(Fault::Full)?;
        let block = IndexBlock { location: 0, slots };
        let len = block.span().ok_or(Fault::Full)?.len();
        Ok(Some(IndexBlock { location: self.at_end(len)?.offset(), slots }))
    }

    /// Notes that the index is in `block`.
    fn move_index(&mut self, block: IndexBlock) {
        self.form.move_index(block);
        self.data_end = self.data_end.max(self.form.end());
    }
}

const _: () = assert!(PIECE.is_multiple_of(32), "whole entries are copied at once");
