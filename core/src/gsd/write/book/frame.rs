//! Frames: how they begin and end.

use super::desk::{Desk, Failure};
use super::tail::{NO_NAME, Tail};
use super::waiting::Counts;
use crate::exact::Exact;
use crate::gsd::disk::checksums;
use crate::gsd::error::Error;
use crate::gsd::kind::ChunkType;
use crate::gsd::raw::ChecksumRow;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::usize_to_u64;
use striae_twin::twin;
use zerocopy::IntoBytes;

#[twin(WriteAt)]
impl<S: WriteAt> Desk<'_, S, S::Error> {
    /// Makes the file ready for chunks, with room for one: the entries of ended frames go to the
    /// index.
    pub(super) async fn make_ready(&mut self) -> Result<(), Failure> {
        self.adopt().await?;
        match self.waiting.counts.has_room() {
            true => Ok(()),
            false => self.spill().await,
        }
    }

    /// Ends the current frame.
    pub(super) async fn end_frame(&mut self) -> Result<(), Failure> {
        // readers do not see these slots; after an error, the entries stay in memory
        if self.waiting.counts.is_half_full() {
            self.spill().await?;
        }
        if self.tail.checksums && self.waiting.counts.open_len() > 0 {
            self.write_checksums().await?;
        }
        end_now(self.tail, self.waiting.counts);
        Ok(())
    }

    /// Adds the chunk of checksums to the current frame.
    async fn write_checksums(&mut self) -> Result<(), Failure> {
        if self.tail.checksums_id == NO_NAME {
            self.add_name(checksums::NAME).await?;
        }
        let (id, frame) = (self.tail.checksums_id, self.tail.frame);
        if self.waiting.position(id).is_err() {
            return Err(self.disk.fail(&Error::Duplicate { id, frame }));
        }
        // Its room is reserved.
        let n = usize_to_u64(self.waiting.counts.open_len()).exact_add(1);
        let chunk = self.disk.check(self.tail.place(id, ChunkType::U32, n, 2))?;
        let (start, end) = (chunk.span.offset(), chunk.span.end());
        let rows = self.waiting.rows();
        let crc = chunk.to_raw().sealed_crc((self.checksum)(0, rows), self.checksum);
        let mut sums = self.tail.sums;
        sums.add_chunk(start, rows, self.checksum);
        self.disk.write(start, rows).await?;
        // The last row is that of the chunk of checksums itself.
        let row = ChecksumRow { id: u32::from(id).into(), crc: crc.into() };
        let last = end.exact_sub(usize_to_u64(size_of::<ChecksumRow>()));
        sums.add_chunk(last, row.as_bytes(), self.checksum);
        self.disk.write(last, row.as_bytes()).await?;
        self.waiting.insert_entry(&chunk.to_raw(), crc);
        self.tail.sums = sums;
        self.tail.use_up_to(end);
        Ok(())
    }
}

/// Makes the current frame an ended one.
#[inline]
pub(super) fn end_now(tail: &mut Tail, counts: &mut Counts) {
    counts.end_frame();
    tail.frame = tail.frame.saturating_add(1);
    tail.placed_from = None;
}
