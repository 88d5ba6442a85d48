//! How large a new file is at most, before it is written.

use crate::size::Demand;

/// What a new file gets.
///
/// A later version may add fields: end a literal with `..Default::default()`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Contents {
    /// Bytes of all chunks.
    pub data: u64,
    /// Number of chunks.
    pub chunks: u64,
    /// Number of frames; each may get a chunk of checksums.
    pub frames: u64,
    /// Bytes of all names.
    pub names: u64,
    /// Alignment of chunks in bytes.
    pub align: u64,
}

/// The parts that are no chunks and may be aligned, with the blocks that they leave when they move.
const PARTS: u64 = 64;

/// The bytes of header, shadows and first blocks.
const HEAD: u64 = 1 << 16;

/// The bytes of an index for each entry: its own, those of the blocks that are left when an index
/// of this size moves, and the row of a checksum.
const ENTRY: u64 = 3 * 32 + 8;

/// The largest alignment that a damaged file may ask for without being asked whether it should.
const USUAL: u64 = 4096;

impl Contents {
    /// The size of the file at most, if this number of bytes of its source exist. `is_asked` says
    /// whether the caller has asked for the alignment, and not the source.
    #[must_use]
    pub fn demand(&self, existing: u64, is_asked: bool) -> Demand {
        let Self { data, chunks, frames, names, align } = *self;
        let parts = |frames: u64, align: u64| {
            let entries = chunks.saturating_add(frames);
            let tables = entries.saturating_mul(ENTRY).saturating_add(names.saturating_mul(3));
            let places = entries.saturating_add(PARTS);
            let padding = places.saturating_mul(align.saturating_sub(1));
            tables.saturating_add(HEAD).saturating_add(padding)
        };
        let usual = if is_asked { align } else { align.min(USUAL) };
        // Frames without chunks may be no more than the number in an entry.
        let own = parts(frames.min(chunks), usual);
        Demand { size: data.saturating_add(parts(frames, align)), existing, own }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_without_chunks_are_no_reason_for_a_large_file() {
        let contents = Contents { data: 2, chunks: 2, frames: 1 << 20, names: 2, align: 1 };
        assert!(!contents.demand(8192, true).is_fair());
        assert!(Contents { frames: 2, ..contents }.demand(8192, true).is_fair());
        // A file whose index has room for them is as large.
        assert!(contents.demand(32 << 20, true).is_fair());
    }

    #[test]
    fn an_alignment_that_only_the_file_asks_for_is_no_reason_for_a_large_file() {
        let contents = Contents { data: 100, chunks: 1 << 20, frames: 1, names: 9, align: 1 << 30 };
        assert!(!contents.demand(100, false).is_fair());
        assert!(contents.demand(100, true).is_fair());
        assert!(Contents { align: 4096, ..contents }.demand(100, false).is_fair());
    }
}
