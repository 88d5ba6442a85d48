//! [`Buffer`]: short pieces of the subfiles wait in memory until they make a long one.

use super::writer::Writer;
use crate::error::Error;
use crate::posix::PosixFile;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use striae_core::cdf::Values;
use striae_core::endian::ByteOrder;
use striae_core::store::usize_to_u64;

/// The bytes of a page.
const PAGE: usize = 1 << 17;
/// A piece of so many bytes is written at once if it does not continue another one: to keep it
/// costs as much as a call.
const LONG: usize = 1 << 14;
/// How many ends of long pieces are remembered: of as many ranks or threads that take turns.
const ENDS: usize = 32;
/// The bytes that pages have by default.
pub(super) const DEFAULT: usize = 1 << 26;

/// The subfile, and the place of the page in it.
type Key = (u32, u64);

/// Pages of subfiles of which some bytes were handed over, and are not in the file yet.
#[derive(Debug)]
pub(super) struct Buffer {
    max_pages: usize,
    pages: Mutex<Pages>,
}

#[derive(Debug, Default)]
struct Pages {
    pages: BTreeMap<Key, Arc<Mutex<Page>>>,
    /// The pages by age.
    ages: BTreeMap<u64, Key>,
    made: u64,
    /// The ends of long pieces, the latest last.
    ends: VecDeque<(u32, u64)>,
    /// Memory of pages that were written.
    free: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct Page {
    age: u64,
    bytes: Vec<u8>,
    /// What is before this place is in the file, as far as is known.
    from: usize,
    /// What was handed over, in order and apart.
    filled: Vec<Range<usize>>,
    /// Whether all of it is in the file, and the page in the buffer no longer.
    is_written: bool,
}

/// Where bytes go next.
enum Way {
    /// Into this page.
    Page(Arc<Mutex<Page>>),
    /// So many of them into the file.
    File(usize),
    /// Nowhere before this page has been written.
    Full(Key, Arc<Mutex<Page>>),
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The page of an offset, and the place in it.
fn page_of(offset: u64) -> (u64, usize) {
    let page = usize_to_u64(PAGE);
    let place = offset.checked_rem(page).and_then(|place| usize::try_from(place).ok());
    (offset.checked_div(page).unwrap_or(0), place.unwrap_or(0))
}

fn offset_of(page: u64) -> u64 {
    page.saturating_mul(usize_to_u64(PAGE))
}

impl Pages {
    /// Memory for a page.
    fn memory(&mut self) -> Vec<u8> {
        self.free.pop().unwrap_or_else(|| vec![0; PAGE])
    }

    /// Keeps the memory of a page, if there are fewer than `max` pages.
    fn keep(&mut self, memory: Vec<u8>, max: usize) {
        if self.pages.len().saturating_add(self.free.len()) < max {
            self.free.push(memory);
        }
    }
}

impl Buffer {
    /// Pages of at most `bytes` bytes altogether.
    pub(super) fn new(bytes: usize) -> Self {
        Self { max_pages: bytes / PAGE, pages: Mutex::default() }
    }

    /// Sets the most bytes of pages; those that have bytes stay.
    pub(super) const fn set(&mut self, bytes: usize) {
        self.max_pages = bytes / PAGE;
    }

    /// Gives memory free in which nothing is.
    pub(super) fn free(&self) {
        locked(&self.pages).free = Vec::new();
    }

    /// Whether a piece waits until its pages are complete: it is short, or begins where another one
    /// has ended, as if a thread writes the same variable of one rank after the other.
    fn keeps(&self, subfile: u32, offset: u64, len: usize) -> bool {
        if len < LONG {
            return true;
        }
        let mut state = locked(&self.pages);
        let known = state.ends.iter().position(|&end| end == (subfile, offset));
        match known {
            Some(known) => _ = state.ends.remove(known),
            None if state.ends.len() < ENDS => {}
            None => _ = state.ends.pop_front(),
        }
        state.ends.push_back((subfile, offset.saturating_add(usize_to_u64(len))));
        known.is_some()
    }

    /// Where the `rest` bytes of `subfile` from `offset` on go, or the first of them.
    fn way(&self, subfile: u32, offset: u64, rest: usize, keeps: bool) -> Way {
        let (page, start) = page_of(offset);
        let mut state = locked(&self.pages);
        if let Some(known) = state.pages.get(&(subfile, page)) {
            return Way::Page(Arc::clone(known)); // as nearly always
        }
        let next = state.pages.range((subfile, page)..=(subfile, u64::MAX)).next();
        let mut to_next = usize::MAX;
        if let Some((&(_, next), _)) = next {
            let bytes = offset_of(next).saturating_sub(offset);
            to_next = usize::try_from(bytes).unwrap_or(usize::MAX);
        }
        let len = rest.min(to_next);
        if len >= PAGE || !keeps || self.max_pages == 0 {
            return Way::File(len);
        }
        if state.pages.len() >= self.max_pages {
            let oldest = state.ages.first_key_value().map(|(_, &key)| key);
            let oldest = oldest.and_then(|key| Some((key, Arc::clone(state.pages.get(&key)?))));
            return oldest.map_or(Way::File(len), |(key, page)| Way::Full(key, page));
        }
        let age = state.made;
        state.made = age.saturating_add(1);
        let bytes = state.memory();
        let from = if rest < LONG { 0 } else { start };
        let new = Page { age, bytes, from, filled: Vec::new(), is_written: false };
        let new = Arc::new(Mutex::new(new));
        state.pages.insert((subfile, page), Arc::clone(&new));
        state.ages.insert(age, (subfile, page));
        Way::Page(new)
    }

    /// Writes what is in a page, and takes it out. After an error it stays.
    fn write(&self, file: &PosixFile, key: Key, page: &mut Page) -> io::Result<()> {
        if page.is_written {
            return Ok(());
        }
        for range in &page.filled {
            let bytes = page.bytes.get(range.clone()).unwrap_or_default();
            file.write_all_at(offset_of(key.1).saturating_add(usize_to_u64(range.start)), bytes)?;
        }
        page.is_written = true;
        let bytes = std::mem::take(&mut page.bytes);
        let mut state = locked(&self.pages);
        state.pages.remove(&key);
        state.ages.remove(&page.age);
        state.keep(bytes, self.max_pages);
        Ok(())
    }

    /// The pages of a subfile, in order.
    fn of(&self, subfile: u32) -> Vec<(Key, Arc<Mutex<Page>>)> {
        let state = locked(&self.pages);
        let pages = state.pages.range((subfile, 0)..=(subfile, u64::MAX));
        pages.map(|(&key, page)| (key, Arc::clone(page))).collect()
    }
}

impl Page {
    fn is_full(&self) -> bool {
        matches!(self.filled.as_slice(), [one] if one.start <= self.from && one.end == PAGE)
    }

    /// Takes bytes from `start` on, at most `len` of them, which `store` stores. `None` if the page
    /// is written already.
    fn take(&mut self, start: usize, len: usize, store: impl Fn(&mut [u8])) -> Option<&[u8]> {
        if self.is_written {
            return None;
        }
        let range = start..PAGE.min(start.saturating_add(len));
        store(self.bytes.get_mut(range.clone())?);
        self.fill(range.clone());
        self.bytes.get(range)
    }

    /// Notes that this range was handed over.
    fn fill(&mut self, range: Range<usize>) {
        let first = self.filled.partition_point(|one| one.end < range.start);
        let end = self.filled.partition_point(|one| one.start <= range.end);
        let Some([one, others @ ..]) = self.filled.get_mut(first..end) else {
            self.filled.insert(first, range);
            return;
        };
        let last = others.last().unwrap_or(one).end;
        *one = one.start.min(range.start)..last.max(range.end);
        self.filled.drain(first.saturating_add(1)..end);
    }
}

/// Stores the bytes of `values` from byte `from` on in `order`: as many as `buf` has room for.
fn store(values: Values<'_>, mut from: usize, order: ByteOrder, mut buf: &mut [u8]) {
    let size = usize::try_from(values.nc_type().size()).unwrap_or(1);
    while !buf.is_empty() && from < values.len() {
        let inside = from.checked_rem(size).unwrap_or(0);
        let mut len = if inside == 0 { values.write_to(from, order, buf) } else { 0 };
        if len == 0 {
            let mut value = [0; 8]; // a part of one value: a page begins or ends in it
            let whole = values.write_to(from.saturating_sub(inside), order, &mut value);
            let part = value.get(inside..whole.min(size)).unwrap_or_default();
            len = part.len().min(buf.len());
            let (front, part) = (buf.get_mut(..len), part.get(..len));
            front.unwrap_or_default().copy_from_slice(part.unwrap_or_default());
        }
        if len == 0 {
            break; // never: there is a value, and room
        }
        from = from.saturating_add(len);
        buf = std::mem::take(&mut buf).get_mut(len..).unwrap_or_default();
    }
}

impl Writer {
    /// Writes values in `order` from `place` of a subfile on, at once or later. Returns the
    /// checksum of their bytes, if it is to continue one.
    pub(super) fn write(
        &self,
        (subfile, file): (u32, &PosixFile),
        place: u64,
        values: Values<'_>,
        order: ByteOrder,
        mut crc: Option<u32>,
    ) -> Result<Option<u32>, Error> {
        let at = |error| self.error(subfile, error);
        let mut sum = |bytes: &[u8]| crc = crc.map(|crc| crc32c::crc32c_append(crc, bytes));
        let keeps = self.buffer.keeps(subfile, place, values.len());
        let (mut from, mut piece) = (0, None);
        while from < values.len() {
            let offset = place.saturating_add(usize_to_u64(from));
            let rest = values.len().saturating_sub(from);
            let len = match self.buffer.way(subfile, offset, rest, keeps) {
                Way::Full(key, page) => {
                    self.write_page(&*self.open(key.0)?, key, &page)?;
                    0
                }
                Way::File(len) => {
                    let bytes = if let Some(bytes) = values.stored(order) {
                        bytes.get(from..from.saturating_add(len)).unwrap_or_default()
                    } else {
                        let piece =
                            piece.get_or_insert_with(|| locked(&self.buffer.pages).memory());
                        let piece = piece.get_mut(..len.min(PAGE)).unwrap_or_default();
                        store(values, from, order, piece);
                        piece
                    };
                    sum(bytes);
                    file.write_all_at(offset, bytes).map_err(at)?;
                    bytes.len()
                }
                Way::Page(page) => {
                    let (mut page, (number, start)) = (locked(&page), page_of(offset));
                    let bytes = page.take(start, rest, |bytes| store(values, from, order, bytes));
                    let len = bytes.map_or(0, |bytes| {
                        sum(bytes);
                        bytes.len()
                    });
                    if page.is_full() {
                        self.buffer.write(file, (subfile, number), &mut page).map_err(at)?;
                    }
                    len
                }
            };
            from = from.saturating_add(len);
        }
        if let Some(piece) = piece {
            locked(&self.buffer.pages).keep(piece, self.buffer.max_pages.max(1));
        }
        Ok(crc)
    }

    fn write_page(&self, file: &PosixFile, key: Key, page: &Mutex<Page>) -> Result<(), Error> {
        let written = self.buffer.write(file, key, &mut locked(page));
        written.map_err(|error| self.error(key.0, error))
    }

    /// Writes all that is in memory.
    pub(super) fn write_out(&self) -> Result<(), Error> {
        for number in 0..self.nsubfiles() {
            let pages = self.buffer.of(number);
            if !pages.is_empty() {
                let file = self.open(number)?;
                pages.iter().try_for_each(|(key, page)| self.write_page(&file, *key, page))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "tests: a panic fails them")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(from: usize) -> Page {
        Page { age: 0, bytes: vec![0; PAGE], from, filled: Vec::new(), is_written: false }
    }

    #[test]
    fn a_page_is_full_if_all_from_its_first_piece_on_was_handed_over() {
        let mut page = page(10);
        page.fill(10..20);
        page.fill(30..PAGE);
        assert!(!page.is_full());
        page.fill(20..30);
        assert!(page.is_full());
        page.fill(2..5); // what was before comes late
        assert!(!page.is_full());
        page.fill(5..10);
        assert!(page.is_full());
    }

    #[test]
    fn a_long_piece_waits_if_it_continues_another_one() {
        let buffer = Buffer::new(DEFAULT);
        let long = usize_to_u64(LONG);
        assert!(!buffer.keeps(0, 100, LONG));
        assert!(!buffer.keeps(1, 100 + long, LONG), "of another subfile");
        assert!(buffer.keeps(0, 100 + long, LONG));
        assert!(!buffer.keeps(0, 100 + long, LONG), "a piece has one that continues it");
        assert!(buffer.keeps(0, 7, LONG - 1), "short");
    }

    proptest! {
        /// The ranges are those of a plain array of flags.
        #[test]
        fn a_page_knows_what_was_handed_over(
            pieces in prop::collection::vec((0..60_usize, 1..9_usize), 0..30),
        ) {
            let (mut page, mut flags) = (page(0), vec![false; 70]);
            for (start, len) in pieces {
                page.fill(start..start + len);
                flags[start..start + len].fill(true);
            }
            let within = |place: &usize| page.filled.iter().any(|range| range.contains(place));
            let known: Vec<_> = (0..flags.len()).map(|place| within(&place)).collect();
            prop_assert_eq!(&known, &flags);
            prop_assert!(page.filled.windows(2).all(|two| two[0].end < two[1].start));
        }

        /// Values are stored alike however pages cut them.
        #[test]
        fn values_are_stored_in_any_parts(
            values in prop::collection::vec(any::<f64>(), 1..20),
            cuts in prop::collection::vec(1..40_usize, 1..30),
        ) {
            let given = Values::from(values.as_slice());
            let big = values.iter().flat_map(|value| value.to_be_bytes());
            let little = values.iter().flat_map(|value| value.to_le_bytes());
            let (big, little) = (big.collect::<Vec<_>>(), little.collect());
            for (order, bytes) in [(ByteOrder::Big, big), (ByteOrder::Little, little)] {
                let (mut stored, mut from) = (vec![0; bytes.len()], 0);
                for cut in cuts.iter().copied().cycle() {
                    let end = bytes.len().min(from + cut);
                    store(given, from, order, &mut stored[from..end]);
                    from = end;
                    if from == bytes.len() {
                        break;
                    }
                }
                prop_assert_eq!(&stored, &bytes);
            }
        }
    }
}
