//! Positions in a task's stream, and the (chunk, offset) pointers that SIONlib's users store.
//!
//! A stream is the used parts of the task's chunks, in order. SIONlib addresses it by (block,
//! position in the block), and programs keep such pairs in their data (`spec/sion.md#streams`).
//! This module converts both ways exactly.

use striae_twin::twin;

/// The part of a stream that lies in one chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Stretch {
    /// The index of the chunk.
    pub chunk: u64,
    /// The stream position of its first byte.
    pub begin: u64,
    /// The bytes of the chunk that are used.
    pub len: u64,
}

impl Stretch {
    /// The stream position after its last byte.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.begin.saturating_add(self.len)
    }

    /// Whether the byte at `position` is in this stretch.
    #[must_use]
    pub const fn contains(&self, position: u64) -> bool {
        self.begin <= position && position < self.end()
    }
}

/// The lengths of a task's chunks, in memory or in a file; `E` is the error of reading them.
///
/// Other crates may implement it; a method of a later version has a default.
#[twin(Lengths)]
#[allow(async_fn_in_trait, reason = "whether a future is Send is the store's affair")]
pub trait Lengths<E> {
    /// The chunk with the byte at stream position `position`, or `None` at and after the end of the
    /// stream.
    ///
    /// # Errors
    /// An error of reading the lengths.
    async fn stretch_at(&mut self, position: u64) -> Result<Option<Stretch>, E>;

    /// The stretch in chunk `chunk`, or `None` if the task did not use it.
    ///
    /// # Errors
    /// An error of reading the lengths.
    async fn stretch(&mut self, chunk: u64) -> Result<Option<Stretch>, E>;

    /// The number of chunks that the task used.
    fn count(&self) -> u64;

    /// The length of the stream in bytes.
    ///
    /// # Errors
    /// An error of reading the lengths.
    async fn total(&mut self) -> Result<u64, E>;
}

/// Lengths in memory: for each chunk the stream position after its last byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends<T>(T);

impl<T: AsRef<[u64]>> Ends<T> {
    /// Makes the lengths from the ends of all chunks, in order; `None` if an end is less than the
    /// one before it.
    #[must_use]
    pub fn new(ends: T) -> Option<Self> {
        ends.as_ref().is_sorted().then_some(Self(ends))
    }

    /// These lengths for a reader of its own, without comparing the ends once more.
    #[must_use]
    pub fn borrowed(&self) -> Ends<&[u64]> {
        Ends(self.0.as_ref())
    }

    fn get(&self, chunk: usize) -> Option<Stretch> {
        let ends = self.0.as_ref();
        let end = *ends.get(chunk)?;
        let begin = chunk.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
        let chunk = crate::store::usize_to_u64(chunk);
        Some(Stretch { chunk, begin, len: end.saturating_sub(begin) })
    }
}

#[twin(Lengths)]
impl<T: AsRef<[u64]>, E> Lengths<E> for Ends<T> {
    async fn stretch_at(&mut self, position: u64) -> Result<Option<Stretch>, E> {
        Ok(self.get(self.0.as_ref().partition_point(|&end| end <= position)))
    }

    async fn stretch(&mut self, chunk: u64) -> Result<Option<Stretch>, E> {
        Ok(usize::try_from(chunk).ok().and_then(|chunk| self.get(chunk)))
    }

    fn count(&self) -> u64 {
        crate::store::usize_to_u64(self.0.as_ref().len())
    }

    async fn total(&mut self) -> Result<u64, E> {
        Ok(self.0.as_ref().last().copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::convert::Infallible;

    #[test]
    fn empty_chunks_hold_no_position() {
        let mut ends = Ends::new([0, 5, 5, 8]).unwrap();
        fn at(ends: &mut Ends<impl AsRef<[u64]>>, position: u64) -> Option<(u64, u64)> {
            let found = Lengths::<Infallible>::stretch_at(ends, position).unwrap();
            found.map(|stretch| (stretch.chunk, stretch.begin))
        }
        assert_eq!(at(&mut ends, 0), Some((1, 0)));
        assert_eq!(at(&mut ends, 4), Some((1, 0)));
        assert_eq!(at(&mut ends, 5), Some((3, 5)));
        assert_eq!(at(&mut ends, 8), None);
        assert_eq!(at(&mut ends.borrowed(), 4), Some((1, 0)));
        assert_eq!(Ends::new([5, 4]), None);
    }
}
