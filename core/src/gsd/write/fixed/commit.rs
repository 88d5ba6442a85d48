//! Ending a frame.

#[twin(FixedError)]
use super::FixedError;
use super::desk::Desk;
use super::fault::Fault;
use super::form::Form;
use crate::gsd::disk::record::Record;
use crate::gsd::layout::ENTRY_LEN;
use crate::gsd::raw::Shadow;
use crate::integrity::crc32c;
use crate::span::Span;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::{copy_front, usize_to_u64};
use striae_twin::twin;
use zerocopy::{FromZeros, IntoBytes};

const ENTRY: usize = 32;

#[twin(WriteAt, FixedError)]
impl<S: WriteAt, F: Form, const N: usize> Desk<S, F, N> {
    /// Ends the current frame and commits it, after the last commit if that was interrupted;
    /// returns its number.
    pub(super) async fn end_frame(&mut self) -> Result<u64, FixedError<S>> {
        if F::MOVES {
            self.grow().await?;
        }
        self.commit().await?;
        Ok(self.log.frames.saturating_sub(1))
    }

    #[inline(never)]
    async fn commit(&mut self) -> Result<(), FixedError<S>> {
        self.disk.recognise(&self.log).await?;
        let next = match self.log.next() {
            Err(Fault::NoChunks) if self.log.is_torn => None,
            next => Some(next?),
        };
        if self.log.is_torn {
            self.settle().await?;
        }
        let Some(next) = next else { return Ok(()) };
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
