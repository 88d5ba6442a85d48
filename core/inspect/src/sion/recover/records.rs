//! Where the records of a recovered stream of key-value records end.

use crate::sion::verify::Failed;
use alloc::vec::Vec;
use striae_core::endian::ByteOrder;
use striae_core::sion::position::{Lengths, Stretch};
use striae_core::sion::{Chunks, Records, Stream};
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// A chunk with data, or a chunk of a sealed file that had data.
#[derive(Debug, Clone, Copy)]
pub(super) struct Used {
    pub(super) chunk: u32,
    pub(super) local: u32,
    pub(super) len: u64,
}

/// The chunks of a stream that have bytes. A task may have left many others empty.
struct Filled(Vec<Stretch>);

impl<E> Lengths<E> for Filled {
    fn stretch_at(&mut self, position: u64) -> Result<Option<Stretch>, E> {
        let end = |stretch: &Stretch| stretch.begin.saturating_add(stretch.len);
        let index = self.0.partition_point(|stretch| end(stretch) <= position);
        Ok(self.0.get(index).copied())
    }

    fn stretch(&mut self, chunk: u64) -> Result<Option<Stretch>, E> {
        let index = self.0.partition_point(|stretch| stretch.chunk < chunk);
        Ok(self.0.get(index).copied().filter(|stretch| stretch.chunk == chunk))
    }

    fn count(&self) -> u64 {
        self.0.last().map_or(0, |last| last.chunk.saturating_add(1))
    }

    fn total(&mut self) -> Result<u64, E> {
        Ok(self.0.last().map_or(0, |last| last.begin.saturating_add(last.len)))
    }
}

/// Where the records of a stream end.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ends {
    /// The end of the last whole record.
    pub(super) whole: u64,
    /// The end of the last one that is not all zeros: that those after it are records, nothing
    /// shows but a seal.
    pub(super) seen: u64,
}

/// The ends of records of the stream in `used`, chunks of one task in order.
pub(super) fn record_ends<S: ReadAt>(
    store: &S,
    chunks: Chunks,
    used: &[Used],
    order: ByteOrder,
) -> Result<Ends, Failed<S>> {
    let mut begin = 0u64;
    let filled = used.iter().filter(|used| used.len > 0).map(|used| {
        let stretch = Stretch { chunk: used.chunk.into(), begin, len: used.len };
        begin = begin.saturating_add(used.len);
        stretch
    });
    let mut stream = Stream::new(store, chunks, Filled(filled.collect()));
    let mut ends = Ends::default();
    for record in Records::new(&mut stream, order)? {
        match record {
            Ok(record) => {
                ends.whole = record.position.saturating_add(record.len);
                if record.key != 0 || record.len != 0 {
                    ends.seen = ends.whole;
                }
            }
            Err(DriveError::Format(_)) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(ends)
}

/// Shortens the chunks from index `from` on to `len` bytes together.
pub(super) fn cut(used: &mut Vec<Used>, from: usize, len: u64) {
    let (mut left, mut end) = (len, from);
    for used in used.iter_mut().skip(from) {
        if left == 0 {
            break;
        }
        used.len = used.len.min(left);
        left = left.saturating_sub(used.len);
        end = end.saturating_add(1);
    }
    used.truncate(end);
}
