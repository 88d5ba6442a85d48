//! Chunks that need few checks: an earlier chunk had all of them, and nothing but chunks and frames
//! came since. On a device, code is dearer than checks.

use super::waiting::{FEW_CHECKS, draft};
use super::{Book, Slot};
use crate::gsd::disk::chunk::Chunk;
use crate::gsd::disk::header::Version;
use crate::gsd::kind::ChunkType;
use crate::gsd::layout::MAX_LEN;
use crate::span::Span;
use zerocopy::IntoBytes;

impl<B: AsMut<[Slot]>> Book<B> {
    /// Notes that all checks of a chunk without checksums, which was just added, are good for the
    /// next ones as well: as long as there is memory, until the book works in a store or gives a
    /// place away, or a frame without chunks ends.
    #[inline]
    pub(in crate::gsd) fn note_checks(&mut self) {
        let tail = &self.tail;
        let is_plain = !tail.sums.is_known() && tail.version >= Version::LAYER;
        // Of later frames, each has a chunk at least: they never need more padding than this one.
        let is_plain = is_plain && tail.align == 0 && tail.is_writable();
        let is_plain = is_plain && tail.frame < u64::MAX / 2;
        self.counts.set_checked(FEW_CHECKS && is_plain);
    }

    /// The place of a chunk of `len` bytes, if the checks of an earlier one are good for it. Its
    /// entry waits in unused memory until the chunk is [added](Self::add_drafted).
    #[inline]
    pub(in crate::gsd) fn draft(
        &mut self,
        id: u16,
        kind: ChunkType,
        (n, m): (u64, u32),
        len: u64,
    ) -> Option<Chunk> {
        let tail = &self.tail;
        let may = FEW_CHECKS && self.counts.is_checked(id) && u32::from(id) < tail.names_count;
        let span = Span::new(tail.data_end, len).filter(|span| may && span.end() <= MAX_LEN)?;
        let chunk = Chunk { frame: tail.frame, id, kind, n, m, span };
        draft(self.memory.as_mut().as_mut_bytes(), &self.counts, &chunk).then_some(chunk)
    }

    /// Adds the chunk that was drafted last, whose bytes are in the store.
    #[inline]
    pub(in crate::gsd) fn add_drafted(&mut self, chunk: &Chunk) {
        self.counts.take_last(chunk.id);
        let end = chunk.span.end();
        (self.tail.data_end, self.tail.store_len) = (end, self.tail.store_len.max(end));
    }
}
