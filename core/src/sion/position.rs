//! Positions in a task's stream, and the (chunk, offset) pointers that SIONlib's users store.
//!
//! A stream is the used parts of the task's chunks, one after another. SIONlib addresses it by
//! (block, position in the block), and programs keep such pairs in their data
//! (`spec/sion.md#streams`); here both are exact.

/// The part of a stream that lies in one chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Stretch {
    /// Number of the chunk, from 0.
    pub chunk: u64,
    /// Stream position of its first byte.
    pub begin: u64,
    /// Bytes used of it.
    pub len: u64,
}

impl Stretch {
    /// Stream position behind its last byte.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.begin.saturating_add(self.len)
    }

    /// Whether the byte at `position` is in it.
    #[must_use]
    pub const fn contains(&self, position: u64) -> bool {
        self.begin <= position && position < self.end()
    }
}

/// The lengths of a task's chunks, however they are kept; `E` is the error of asking.
pub trait Lengths<E> {
    /// The chunk that holds the byte at stream position `position`, or `None` at and behind the
    /// end.
    ///
    /// # Errors
    /// The lengths cannot be read.
    fn stretch_at(&mut self, position: u64) -> Result<Option<Stretch>, E>;

    /// Chunk `chunk`, or `None` if the task did not use it.
    ///
    /// # Errors
    /// The lengths cannot be read.
    fn stretch(&mut self, chunk: u64) -> Result<Option<Stretch>, E>;

    /// Chunks that the task used.
    fn count(&self) -> u64;

    /// Bytes of the stream.
    ///
    /// # Errors
    /// The lengths cannot be read.
    fn total(&mut self) -> Result<u64, E>;
}

/// Lengths in memory: for each chunk the stream position behind its last byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends<T>(T);

impl<T: AsRef<[u64]>> Ends<T> {
    /// Takes the ends of all chunks, in order; `None` if one is before the one in front of it.
    #[must_use]
    pub fn new(ends: T) -> Option<Self> {
        ends.as_ref().is_sorted().then_some(Self(ends))
    }

    fn get(&self, chunk: usize) -> Option<Stretch> {
        let ends = self.0.as_ref();
        let end = *ends.get(chunk)?;
        let begin = chunk.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
        let chunk = crate::store::usize_to_u64(chunk);
        Some(Stretch { chunk, begin, len: end.saturating_sub(begin) })
    }
}

impl<T: AsRef<[u64]>, E> Lengths<E> for Ends<T> {
    fn stretch_at(&mut self, position: u64) -> Result<Option<Stretch>, E> {
        Ok(self.get(self.0.as_ref().partition_point(|&end| end <= position)))
    }

    fn stretch(&mut self, chunk: u64) -> Result<Option<Stretch>, E> {
        Ok(usize::try_from(chunk).ok().and_then(|chunk| self.get(chunk)))
    }

    fn count(&self) -> u64 {
        crate::store::usize_to_u64(self.0.as_ref().len())
    }

    fn total(&mut self) -> Result<u64, E> {
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
        let at = |ends: &mut Ends<_>, position| {
            Lengths::<Infallible>::stretch_at(ends, position).unwrap().map(|s| (s.chunk, s.begin))
        };
        assert_eq!(at(&mut ends, 0), Some((1, 0)));
        assert_eq!(at(&mut ends, 4), Some((1, 0)));
        assert_eq!(at(&mut ends, 5), Some((3, 5)));
        assert_eq!(at(&mut ends, 8), None);
        assert_eq!(Ends::new([5, 4]), None);
    }
}
