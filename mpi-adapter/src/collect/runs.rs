//! Bytes that wait for a writer.

use striae_core::store::usize_to_u64;

/// Pieces of a file in the order in which they were written.
#[derive(Debug, Default)]
pub(super) struct Runs {
    bytes: Vec<u8>,
    /// Offset in the file and length. Their bytes follow one another.
    runs: Vec<(u64, usize)>,
}

impl Runs {
    /// Number of bytes.
    pub(super) const fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn push(&mut self, offset: u64, bytes: &[u8]) {
        match self.runs.last_mut() {
            Some((at, len)) if end(*at, *len) == offset => *len = len.saturating_add(bytes.len()),
            _ => self.runs.push((offset, bytes.len())),
        }
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn clear(&mut self) {
        self.runs.clear();
        self.bytes.clear();
    }

    /// The pieces with their bytes, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut rest = self.bytes.as_slice();
        self.runs.iter().map(move |&(offset, len)| {
            let (bytes, tail) = rest.split_at_checked(len).unwrap_or((rest, &[]));
            rest = tail;
            (offset, bytes)
        })
    }

    /// Passes the pieces to `write`, adjacent ones as one of at most `window` bytes. They come in
    /// the order of their offsets, or in that of writing if one overlaps another.
    pub(super) fn write_joined<E>(
        &self,
        window: usize,
        mut write: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut pieces: Vec<_> = self.iter().collect();
        pieces.sort_by_key(|(offset, _)| *offset);
        let overlap = pieces
            .windows(2)
            .any(|pair| matches!(pair, [(at, bytes), (next, _)] if end(*at, bytes.len()) > *next));
        if overlap {
            return self.iter().try_for_each(|(offset, bytes)| write(offset, bytes));
        }
        let (mut joined, mut first) = (Vec::new(), 0);
        for (offset, bytes) in pieces {
            let is_next = end(first, joined.len()) == offset;
            if !is_next || joined.len().saturating_add(bytes.len()) > window {
                if !joined.is_empty() {
                    write(first, &joined)?;
                    joined.clear();
                }
                first = offset;
            }
            match bytes.len() >= window {
                true => write(offset, bytes)?,
                false => joined.extend_from_slice(bytes),
            }
        }
        if joined.is_empty() { Ok(()) } else { write(first, &joined) }
    }
}

fn end(offset: u64, len: usize) -> u64 {
    offset.saturating_add(usize_to_u64(len))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: a panic fails it")]
mod tests {
    use super::Runs;

    fn joined(pieces: &[(u64, &[u8])], window: usize) -> Vec<(u64, Vec<u8>)> {
        let (mut runs, mut written) = (Runs::default(), Vec::new());
        pieces.iter().for_each(|(offset, bytes)| runs.push(*offset, bytes));
        let write = |offset, bytes: &[u8]| -> Result<(), ()> {
            written.push((offset, bytes.to_vec()));
            Ok(())
        };
        runs.write_joined(window, write).unwrap();
        written
    }

    #[test]
    fn adjacent_pieces_are_one_write_of_at_most_a_window() {
        let pieces: [(u64, &[u8]); 4] = [(8, b"cd"), (4, b"ab"), (6, b"xy"), (20, b"z")];
        let one = vec![(4, b"abxycd".to_vec()), (20, b"z".to_vec())];
        assert_eq!(joined(&pieces, 8), one);
        let two = vec![(4, b"abxy".to_vec()), (8, b"cd".to_vec()), (20, b"z".to_vec())];
        assert_eq!(joined(&pieces, 5), two);
        let long: [(u64, &[u8]); 3] = [(2, b"longer"), (8, b"b"), (0, b"aa")];
        let three = vec![(0, b"aa".to_vec()), (2, b"longer".to_vec()), (8, b"b".to_vec())];
        assert_eq!(joined(&long, 4), three);
    }

    #[test]
    fn a_piece_over_another_comes_after_it() {
        let pieces: [(u64, &[u8]); 3] = [(4, b"abcd"), (0, b"0"), (2, b"over")];
        let in_order = vec![(4, b"abcd".to_vec()), (0, b"0".to_vec()), (2, b"over".to_vec())];
        assert_eq!(joined(&pieces, 100), in_order);
    }
}
