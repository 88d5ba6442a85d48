//! A log and its store: what loggers of this kind do. What differs between them is a [`Form`].

use super::fault::Fault;
#[twin(FixedError)]
use super::fault::FixedError;
use super::form::Form;
use super::log::{Log, Place};
use super::medium::Medium;
use crate::gsd::disk::record::Record;
use crate::gsd::element::{Element, TOGETHER, is_file_order, to_file};
use crate::gsd::kind::ChunkType;
use crate::gsd::layout::ENTRY_LEN;
use crate::gsd::raw::Shadow;
use crate::gsd::write::book::count_rows;
use crate::gsd::write::medium::PIECE;
use crate::integrity::crc32c;
use crate::span::Span;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::{copy_front, usize_to_u64};
use striae_twin::twin;
use zerocopy::{FromZeros, IntoBytes};

const ENTRY: usize = 32;

/// A log of at most `N` chunks a frame, and its store.
///
/// The log changes only when the store has done what the change says, so a call may end anywhere,
/// by an error or a dropped future, and be made again.
#[derive(Debug)]
pub(super) struct Desk<S, F, const N: usize> {
    pub(super) disk: Medium<S>,
    pub(super) log: Log<F, N>,
}

impl<S, F: Form, const N: usize> Desk<S, F, N> {
    #[inline]
    pub(super) fn new(store: S, form: F) -> Self {
        Self { disk: Medium::new(store), log: Log::new(form) }
    }
}

#[twin(WriteAt, FixedError)]
impl<S: WriteAt, F: Form, const N: usize> Desk<S, F, N> {
    pub(super) async fn chunk(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<(), FixedError<S>> {
        let n = count_rows(kind, m, usize_to_u64(bytes.len())).map_err(|_| Fault::Rows)?;
        self.put(Place { id, kind, n, m }, bytes).await
    }

    #[inline]
    pub(super) async fn write<T: Element, const M: usize>(
        &mut self,
        id: u16,
        rows: &[[T; M]],
    ) -> Result<(), FixedError<S>> {
        let place = Place::of(id, rows)?;
        if is_file_order::<T>() {
            return self.put(place, rows.as_bytes()).await;
        }
        self.disk.recognise(&self.log).await?;
        let (start, end) = self.log.place(&place, size_of_val(rows))?;
        let mut offset = start;
        for values in rows.as_flattened().chunks(TOGETHER) {
            self.disk.put(offset, to_file(values, &mut [T::new_zeroed(); TOGETHER])).await?;
            offset = offset.saturating_add(usize_to_u64(size_of_val(values)));
        }
        self.log.add(&place, start, end);
        Ok(())
    }

    async fn put(&mut self, place: Place, bytes: &[u8]) -> Result<(), FixedError<S>> {
        self.disk.recognise(&self.log).await?;
        let (start, end) = self.log.place(&place, bytes.len())?;
        self.disk.put(start, bytes).await?;
        self.log.add(&place, start, end);
        Ok(())
    }

    /// Ends the current frame and commits it, after the last commit if that was interrupted;
    /// returns its number.
    pub(super) async fn end_frame(&mut self) -> Result<u64, FixedError<S>> {
        self.disk.recognise(&self.log).await?;
        // The last frame counts already: it is completed, also if there is no room for this one.
        let is_late = self.log.is_torn;
        if is_late {
            self.settle().await?;
        }
        if !is_late || !self.log.entries.is_empty() {
            if F::MOVES {
                self.grow().await?;
            }
            self.commit().await?;
        }
        Ok(self.log.frames.saturating_sub(1))
    }

    /// Moves the index to the end of the file if the current frame has no room in it. The next
    /// commit makes it visible.
    #[inline(never)]
    async fn grow(&mut self) -> Result<(), FixedError<S>> {
        let Some(block) = self.log.larger_index()? else { return Ok(()) };
        self.disk.reserve(block.slot(block.slots)).await?;
        let used = self.log.record.entries.saturating_mul(ENTRY_LEN);
        let [to, from] = [block, self.log.form.index()].map(|at| Span::exact(at.location, used));
        self.disk.fill(to, from, &[]).await?;
        self.log.move_index(block);
        Ok(())
    }

    #[inline(never)]
    async fn commit(&mut self) -> Result<(), FixedError<S>> {
        let next = self.log.next()?;
        if F::MOVES && self.log.has_torn_name {
            self.disk.fill(self.log.form.after_names(), Span::ZERO, &[]).await?;
        }
        let mut shadow = Shadow::new_zeroed();
        self.write_entries(&next, shadow.as_mut_bytes()).await?;
        shadow.old = self.log.image();
        shadow.new = self.log.next_image(&next);
        shadow.seal(0, crc32c);
        self.disk.prepare(&shadow).await?;
        self.log.end_frame(&next); // from here on, readers may see it
        self.disk.publish(&shadow.new).await?;
        self.log.is_torn = false;
        Ok(())
    }

    /// Completes the last commit, which is in the log already.
    pub(super) async fn settle(&mut self) -> Result<(), FixedError<S>> {
        let image = self.log.image();
        self.disk.complete(&image).await?;
        self.log.is_torn = false;
        Ok(())
    }

    /// Writes the entries of the current frame, and copies of the last one up to those of `next`;
    /// `copies` is memory for these.
    async fn write_entries(
        &mut self,
        next: &Record,
        copies: &mut [u8],
    ) -> Result<(), FixedError<S>> {
        let index = self.log.form.index();
        let (open, last) = self.log.open();
        for place in copies.chunks_mut(ENTRY) {
            copy_front(last, place);
        }
        let first = self.log.record.entries;
        self.disk.write(index.slot(first), open).await?;
        let written = first.saturating_add(usize_to_u64(open.len() / ENTRY));
        let padding = next.entries.saturating_sub(written).saturating_mul(ENTRY_LEN);
        let mut left = Span::exact(index.slot(written), padding);
        while !left.is_empty() {
            let part = left.front_of(copies);
            self.disk.write(left.offset(), part).await?;
            left = left.after(part);
        }
        Ok(())
    }
}

const _: () = assert!(PIECE.is_multiple_of(ENTRY), "whole entries are copied at once");
