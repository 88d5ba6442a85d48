//! Bytes that wait for a writer.

use super::shared::Segment;
use striae_core::store::usize_to_u64;

/// Pieces of a file in the order in which they were written.
#[derive(Debug)]
pub(super) struct Runs {
    memory: Memory,
    /// Number of bytes in the memory.
    len: usize,
    /// Offset in the file and length. Their bytes follow one another.
    runs: Vec<(u64, usize)>,
    /// Number of bytes that the runs have: those after them belong to the last one, which learns
    /// of it by [`end_lane`](Self::end_lane).
    counted: usize,
    /// The number of bytes and the places of what was handed over. The bytes are still in the
    /// memory, as nothing was put there since.
    handed: Option<(usize, Vec<(u64, usize)>)>,
}

#[derive(Debug)]
enum Memory {
    Own(Vec<u8>),
    /// The slot of this rank.
    Shared(Segment),
}

impl Runs {
    /// In memory of this rank.
    pub(super) const fn own() -> Self {
        Self::of(Memory::Own(Vec::new()))
    }

    /// In the slot of this rank.
    pub(super) const fn shared(segment: Segment) -> Self {
        Self::of(Memory::Shared(segment))
    }

    const fn of(memory: Memory) -> Self {
        Self { memory, len: 0, runs: Vec::new(), counted: 0, handed: None }
    }

    /// The memory that all ranks of the group can read.
    pub(super) const fn segment(&self) -> Option<&Segment> {
        match &self.memory {
            Memory::Own(_) => None,
            Memory::Shared(segment) => Some(segment),
        }
    }

    /// Number of bytes.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Offsets in the file and lengths. Their bytes follow one another in memory.
    pub(super) fn places(&self) -> &[(u64, usize)] {
        &self.runs
    }

    /// Where in the file the last piece ends.
    fn end(&self) -> Option<u64> {
        self.runs.last().map(|(at, len)| end(*at, *len))
    }

    /// Adds a piece. Returns whether it has room, which own memory always has.
    pub(super) fn push(&mut self, offset: u64, bytes: &[u8]) -> bool {
        self.settle();
        if !self.append(bytes) {
            return false;
        }
        if self.end() != Some(offset) {
            self.runs.push((offset, 0));
        }
        self.end_lane();
        true
    }

    /// How many of `most` bytes more have room if they are at `offset`, just after the last ones; 0
    /// if they are not.
    pub(super) fn lane(&mut self, offset: u64, most: usize) -> usize {
        if self.end() != Some(offset) {
            return 0;
        }
        let room = most.saturating_sub(self.len);
        if let Memory::Own(memory) = &mut self.memory {
            memory.reserve(room);
        }
        room
    }

    /// Adds bytes, for which there is a [`lane`](Self::lane), to the last piece. It does not know
    /// of them before [`end_lane`](Self::end_lane). Returns whether they have room.
    #[inline]
    pub(super) fn append(&mut self, bytes: &[u8]) -> bool {
        let has_room = match &mut self.memory {
            Memory::Own(memory) => {
                memory.extend_from_slice(bytes);
                true
            }
            Memory::Shared(segment) => segment.put(self.len, bytes),
        };
        if has_room {
            self.len = self.len.saturating_add(bytes.len());
        }
        has_room
    }

    /// Lets the last piece have what was added to it, and returns that.
    pub(super) fn end_lane(&mut self) -> &[u8] {
        let counted = std::mem::replace(&mut self.counted, self.len);
        if let Some((_, len)) = self.runs.last_mut() {
            *len = len.saturating_add(self.len.saturating_sub(counted));
        }
        self.bytes().get(counted..).unwrap_or_default()
    }

    fn bytes(&self) -> &[u8] {
        match &self.memory {
            Memory::Own(memory) => memory.get(..self.len).unwrap_or_default(),
            Memory::Shared(segment) => segment.own(self.len),
        }
    }

    /// Drops the first pieces.
    pub(super) fn drop_first(&mut self, pieces: usize) {
        let dropped = self.runs.drain(..pieces.min(self.runs.len()));
        let dropped: usize = dropped.map(|(_, len)| len).fold(0, usize::saturating_add);
        self.len = self.len.saturating_sub(dropped);
        self.counted = self.len;
        match &mut self.memory {
            Memory::Own(memory) => drop(memory.drain(..dropped.min(memory.len()))),
            Memory::Shared(segment) => segment.move_to_start(dropped, self.len),
        }
    }

    pub(super) fn clear(&mut self) {
        self.runs.clear();
        (self.len, self.counted, self.handed) = (0, 0, None);
        if let Memory::Own(memory) = &mut self.memory {
            memory.clear();
        }
    }

    /// As [`clear`](Self::clear), but the pieces can be [taken back](Self::take_back) until the
    /// next one is added.
    pub(super) fn hand_over(&mut self) {
        self.handed = Some((std::mem::take(&mut self.len), std::mem::take(&mut self.runs)));
        self.counted = 0;
    }

    /// What was handed over is where it belongs.
    pub(super) fn settle(&mut self) {
        if self.handed.is_some() {
            self.clear();
        }
    }

    /// What was handed over, and not settled, waits again.
    pub(super) fn take_back(&mut self) {
        if let Some((len, runs)) = self.handed.take() {
            (self.len, self.counted, self.runs) = (len, len, runs);
        }
    }

    /// The pieces with their bytes, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut rest = self.bytes();
        self.runs.iter().map(move |&(offset, len)| {
            let (bytes, tail) = rest.split_at_checked(len).unwrap_or((rest, &[]));
            rest = tail;
            (offset, bytes)
        })
    }
}

/// Passes pieces to `write`, adjacent ones as one of at most `window` bytes. They come in the order
/// of their offsets, or as they are if one overlaps another.
pub(super) fn write_joined<E>(
    pieces: &[(u64, &[u8])],
    window: usize,
    mut write: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut sorted = pieces.to_vec();
    sorted.sort_by_key(|(offset, _)| *offset);
    let overlap = sorted
        .windows(2)
        .any(|pair| matches!(pair, [(at, bytes), (next, _)] if end(*at, bytes.len()) > *next));
    if overlap {
        return pieces.iter().try_for_each(|(offset, bytes)| write(*offset, bytes));
    }
    let (mut joined, mut first) = (Vec::new(), 0);
    for (offset, bytes) in sorted {
        let is_next = end(first, joined.len()) == offset;
        if !is_next || joined.len().saturating_add(bytes.len()) > window {
            if !joined.is_empty() {
                write(first, &joined)?;
                joined.clear();
            }
            first = offset;
        }
        match bytes.len() >= LARGE {
            true if joined.is_empty() => write(offset, bytes)?,
            _ => joined.extend_from_slice(bytes),
        }
    }
    if joined.is_empty() { Ok(()) } else { write(first, &joined) }
}

/// A piece that is written without a copy.
pub(super) const LARGE: usize = 64 << 10;

fn end(offset: u64, len: usize) -> u64 {
    offset.saturating_add(usize_to_u64(len))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: a panic fails it")]
mod tests {
    use super::{Runs, write_joined};

    fn joined(pieces: &[(u64, &[u8])], window: usize) -> Vec<(u64, Vec<u8>)> {
        let (mut runs, mut written) = (Runs::own(), Vec::new());
        assert!(pieces.iter().all(|(offset, bytes)| runs.push(*offset, bytes)));
        let write = |offset, bytes: &[u8]| -> Result<(), ()> {
            written.push((offset, bytes.to_vec()));
            Ok(())
        };
        write_joined(&runs.iter().collect::<Vec<_>>(), window, write).unwrap();
        written
    }

    #[test]
    fn adjacent_pieces_are_one_write_of_at_most_a_window() {
        let pieces: [(u64, &[u8]); 4] = [(8, b"cd"), (4, b"ab"), (6, b"xy"), (20, b"z")];
        let one = vec![(4, b"abxycd".to_vec()), (20, b"z".to_vec())];
        assert_eq!(joined(&pieces, 8), one);
        let two = vec![(4, b"abxy".to_vec()), (8, b"cd".to_vec()), (20, b"z".to_vec())];
        assert_eq!(joined(&pieces, 5), two);
        let long: [(u64, &[u8]); 3] = [(8, b"b"), (2, b"longer"), (0, b"aa")];
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
