//! Searching: what is found is what a look at every entry would find, in few reads.

use super::*;
use core::cell::Cell;
use core::convert::Infallible;
use proptest::prelude::*;
use striae_core::gsd::Reader;
use striae_core::gsd::chunk::Key;
use striae_core::gsd::find::Find;
use striae_core::step::drive_read;
use striae_core::store::ReadAt;
use striae_kit::gsd_everything::search_reads;
use striae_kit::hosts::stride;

/// A file whose index is not in memory: entry `i` is what a function says. It has 100 names.
struct Imagined<F> {
    head: Vec<u8>,
    entries: u64,
    key: F,
    reads: Cell<u64>,
}

impl<F: Fn(u64) -> (u64, u16)> Imagined<F> {
    fn new(major: u16, entries: u64, key: F) -> Self {
        let made = Made { layer: (major, 0), slots: 0, ..Made::new(vec![], 100) };
        let mut head = made.bytes();
        let len = u64::try_from(head.len()).unwrap();
        head[8..16].copy_from_slice(&len.to_le_bytes());
        head[16..24].copy_from_slice(&(entries + 1000).to_le_bytes());
        Self { head, entries, key, reads: Cell::new(0) }
    }

    fn reader(&self) -> Reader<&Self> {
        Reader::open(self, &mut [0; 256]).unwrap()
    }

    fn entry(&self, slot: u64) -> [u8; 32] {
        if slot >= self.entries {
            return [0; 32];
        }
        let (frame, id) = (self.key)(slot);
        Entry { m: mark(slot), ..Entry::empty(frame, id) }.bytes()
    }

    /// Finds the entry in a slot and counts reads.
    fn find(&self, reader: &Reader<&Self>, key: (u64, u16), window: usize) -> (Option<u32>, u64) {
        self.reads.set(0);
        let found = reader.find(key.0, key.1, &mut vec![0; window]).unwrap();
        if let Some(chunk) = found {
            assert_eq!((chunk.frame, chunk.id), key);
        }
        (found.map(|chunk| chunk.m), self.reads.get())
    }
}

impl<F: Fn(u64) -> (u64, u16)> ReadAt for Imagined<F> {
    type Error = Infallible;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Infallible> {
        self.reads.set(self.reads.get() + 1);
        let index = u64::try_from(self.head.len()).unwrap();
        let end = offset + u64::try_from(buf.len()).unwrap();
        assert!(end <= self.size()?);
        let Some(skip) = offset.checked_sub(index) else {
            assert!(end <= index, "a read across two parts");
            return Ok(self.head.as_slice().read_at(offset, buf).unwrap());
        };
        assert_eq!((skip % 32, buf.len() % 32), (0, 0), "a read of a part of an entry");
        for (slot, place) in (skip / 32..).zip(buf.chunks_exact_mut(32)) {
            place.copy_from_slice(&self.entry(slot));
        }
        Ok(buf.len())
    }

    fn size(&self) -> Result<u64, Infallible> {
        Ok(u64::try_from(self.head.len()).unwrap() + 32 * (self.entries + 1000))
    }
}

/// What tells an entry from the others: its chunk has so many columns.
fn mark(slot: u64) -> u32 {
    u32::try_from(slot & 0x7fff_ffff).unwrap() + 1
}

fn log2(n: u64) -> u64 {
    u64::from(u64::BITS - n.leading_zeros())
}

/// Numbers below `n`: both ends, and some in between.
fn samples(n: u64) -> impl Iterator<Item = u64> {
    let spread = move |i: u64| u64::try_from(u128::from(n) * u128::from(i) / 61).unwrap();
    let near = (0..70).flat_map(move |i| [i, n.saturating_sub(i + 1)]);
    (0..61).map(spread).chain(near).filter(move |&i| i < n)
}

const SIZES: [u64; 9] = [1, 2, 3, 100, 1000, 100_000, 10_000_000, 1 << 34, 1 << 48];

#[test]
fn opening_takes_a_logarithm_of_reads() {
    for major in [1, 2] {
        for entries in SIZES {
            let file = Imagined::new(major, entries, |slot| (slot / 3, 0));
            let head = *file.reader().head();
            assert_eq!((head.entries, head.names), (entries, 100));
            assert_eq!(head.frames, (entries - 1) / 3 + 1);
            let names = u64::try_from(file.head.len() / 256).unwrap();
            assert!(file.reads.get() <= 4 + names + log2(entries + 1000), "{entries}");
        }
    }
}

#[test]
fn evenly_spread_frames_take_one_or_two_reads() {
    for entries in SIZES {
        for (major, per_frame, apart) in [
            (2, 1, 1),
            (2, 2, 1),
            (2, 10, 3),
            (2, 100, 1),
            (2, 25, 9),
            (2, 1, 1000),
            (1, 1, 1),
            (1, 20, 7),
        ] {
            let key = |slot: u64| {
                let id = u16::try_from(slot % per_frame).unwrap();
                let id = if major == 1 { id ^ 5 } else { id };
                (slot / per_frame * apart, id)
            };
            let file = Imagined::new(major, entries, key);
            let reader = file.reader();
            for slot in samples(entries) {
                let (found, reads) = file.find(&reader, key(slot), 4096);
                let wanted = mark(slot);
                assert_eq!(found, Some(wanted), "{slot} of {entries}");
                assert!((1..=2).contains(&reads), "{reads} reads for {slot} of {entries}");
                // a name that no frame has
                let (found, reads) = file.find(&reader, (key(slot).0, 100), 4096);
                assert_eq!(found, None);
                assert!(reads <= 3, "{reads} reads for nothing at {slot} of {entries}");
            }
        }
    }
}

/// The frame of an entry, by its number and that of all entries.
type Shape = fn(u64, u64) -> u64;

/// Rising frames.
const SHAPES: [(&str, Shape); 7] = [
    ("square", |i, _| i.saturating_mul(i).min(1 << 62)),
    ("root", |i, _| i.isqrt()),
    ("powers of two", |i, n| 1 << (u128::from(i) * 62 / u128::from(n))),
    ("a jump in the middle", |i, n| if i < n / 2 { i } else { i + (1 << 60) }),
    ("a jump at the start", |i, _| if i < 3 { i } else { i + (1 << 60) }),
    ("a jump at the end", |i, n| if i + 3 < n { i } else { i + (1 << 60) }),
    ("two frames", |i, n| u64::from(i > n / 3)),
];

#[test]
fn any_frames_take_twice_the_logarithm_of_reads_at_most() {
    for (name, shape) in SHAPES {
        for entries in SIZES.into_iter().filter(|&entries| entries <= 1 << 34) {
            // ids rise within a frame, as far as there are ids
            let key = move |slot: u64| {
                let id = slot * 99 / entries.max(99);
                (shape(slot, entries), u16::try_from(id).unwrap())
            };
            let file = Imagined::new(2, entries, key);
            let reader = file.reader();
            for window in [32, 64, 160, 4096, 65536] {
                for slot in samples(entries).step_by(5 * stride(5)) {
                    let (found, reads) = file.find(&reader, key(slot), window);
                    // the first of those that are the same
                    let found = found.unwrap();
                    assert!(found <= mark(slot));
                    let most = search_reads(entries);
                    assert!(reads <= most, "{name}: {reads} reads for {slot} of {entries}");
                }
                let (_, reads) = file.find(&reader, (u64::MAX, 0), window);
                assert_eq!(reads, 0, "a frame that is not there");
            }
        }
    }
}

/// Frames of 0 to 18 chunks, by chance; the frame and id of each.
fn uneven(entries: usize) -> Vec<(u64, u16)> {
    let (mut keys, mut state) = (Vec::new(), 1u64);
    for frame in 0.. {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        keys.extend((0..(state >> 33) % 19).map(|id| (frame, u16::try_from(id).unwrap())));
        if keys.len() >= entries {
            break;
        }
    }
    keys
}

#[test]
fn frames_that_differ_by_chance_take_few_reads() {
    let keys = uneven(1_000_000);
    let n = u64::try_from(keys.len()).unwrap();
    for major in [1, 2] {
        let keys = keys.clone();
        let key = move |slot: u64| keys[usize::try_from(slot).unwrap()];
        let file = Imagined::new(major, n, key.clone());
        let reader = file.reader();
        let (mut sum, mut count) = (0, 0);
        for slot in (0..n).step_by(997) {
            let (found, reads) = file.find(&reader, key(slot), 4096);
            assert_eq!(found, Some(mark(slot)));
            assert!(reads <= 6, "{reads} reads for {slot}");
            (sum, count) = (sum + reads, count + 1);
        }
        assert!(sum <= 3 * count, "{sum} reads for {count} chunks");
    }
}

#[test]
fn a_search_that_starts_near_ends_there_and_one_that_starts_anywhere_finds_all_the_same() {
    let keys = uneven(100_000);
    let n = u64::try_from(keys.len()).unwrap();
    let key = move |slot: u64| keys[usize::try_from(slot).unwrap()];
    for major in [1, 2] {
        let file = Imagined::new(u16::try_from(major).unwrap(), n, key.clone());
        let reader = file.reader();
        for slot in (0..n).step_by(1009) {
            let (frame, id) = key(slot);
            let starts = [slot, slot.saturating_sub(10), slot + 10, 0, n / 2, n, u64::MAX];
            for (number, near) in starts.into_iter().enumerate() {
                file.reads.set(0);
                let mut find = Find::new(reader.head(), frame, id, 128).near(near);
                let found = drive_read(&mut find, &file, &mut [0; 4096]).unwrap();
                assert_eq!(found.map(|chunk| chunk.m), Some(mark(slot)));
                // in layer 1 the end of the frame is looked for, and then the chunk
                let most = if number < 3 { [3, 1][major - 1] } else { 1 + 6 };
                assert!(file.reads.get() <= most, "{} reads from {near}", file.reads.get());
            }
        }
    }
}

#[test]
fn a_first_read_of_any_length_changes_no_answer_and_costs_one_read_at_most() {
    let keys = uneven(100_000);
    let n = u64::try_from(keys.len()).unwrap();
    let key = move |slot: u64| keys[usize::try_from(slot).unwrap()];
    for major in [1, 2] {
        let file = Imagined::new(major, n, key.clone());
        let reader = file.reader();
        for slot in (0..n).step_by(1009) {
            let (frame, id) = key(slot);
            for first in [0, 1, 2, 4, 5, 8, 31, 128, 1000] {
                for (id, wanted) in [(id, Some(mark(slot))), (100, None)] {
                    file.reads.set(0);
                    let find = Find::new(reader.head(), frame, id, 128).first_window(first);
                    let found = drive_read(&mut { find }, &file, &mut [0; 32 * 1000]).unwrap();
                    assert_eq!(found.map(|chunk| chunk.m), wanted);
                    assert!(file.reads.get() <= 6 + 1, "{} reads", file.reads.get());
                }
            }
        }
    }
}

#[test]
fn entries_that_are_known_change_no_answer_and_spare_reads_and_lies_about_them_end_too() {
    let keys = uneven(100_000);
    let n = u64::try_from(keys.len()).unwrap();
    let key = move |slot: u64| keys[usize::try_from(slot).unwrap()];
    for major in [1, 2] {
        let file = Imagined::new(major, n, key.clone());
        let reader = file.reader();
        for slot in (0..n).step_by(1009) {
            let (frame, id) = key(slot);
            for apart in [0, 1, 2, 3, 50, 5_000, n, u64::MAX] {
                let known = [slot.saturating_sub(apart), slot.saturating_add(apart).min(n - 1)];
                for (id, wanted) in [(id, Some(mark(slot))), (100, None)] {
                    let (mut true_find, mut lie) = (Find::new(reader.head(), frame, id, 128), None);
                    for at in known.into_iter().chain([n, u64::MAX]) {
                        let (frame, id) = key(at.min(n - 1));
                        true_find = true_find.knowing(at, Key { frame, id });
                        let wrong = Key { frame: u64::MAX - frame, id };
                        lie = Some(lie.unwrap_or(true_find).knowing(at, wrong));
                    }
                    file.reads.set(0);
                    let found = drive_read(&mut true_find, &file, &mut [0; 4096]).unwrap();
                    assert_eq!(found.map(|chunk| chunk.m), wanted, "{slot}, {apart}");
                    let most = if apart <= 50 { 3 } else { 6 };
                    assert!(file.reads.get() <= most, "{} reads", file.reads.get());
                    file.reads.set(0);
                    let found = drive_read(&mut lie.unwrap(), &file, &mut [0; 4096]).unwrap();
                    assert!(found.is_none_or(|chunk| Some(chunk.m) == wanted));
                    assert!(file.reads.get() <= search_reads(n), "{} reads", file.reads.get());
                }
            }
        }
    }
}

#[test]
fn chunks_of_a_frame_take_no_more_reads_than_finding_it_and_them() {
    let entries = 1 << 40;
    for major in [1, 2] {
        let file =
            Imagined::new(major, entries, |slot| (slot / 50, u16::try_from(slot % 50).unwrap()));
        let reader = file.reader();
        for frame in samples(entries / 50).step_by(7) {
            file.reads.set(0);
            let chunks: Vec<_> = reader.chunks_of(frame..frame + 2, [0; 4096]).unwrap().collect();
            let first = mark(frame * 50);
            assert_eq!(chunks[0].unwrap().m, first);
            let frames = (reader.frames() - frame).min(2);
            let last = if frame + frames == reader.frames() { entries % 50 } else { 50 };
            assert_eq!(u64::try_from(chunks.len()).unwrap(), 50 * (frames - 1) + last);
            assert!(file.reads.get() <= 2 + 2, "{} reads", file.reads.get());
        }
    }
}

/// An index as it may stand in a file: gaps between frames, and the ids of each frame.
fn frames() -> impl Strategy<Value = Vec<(u64, Vec<u16>)>> {
    let gap = prop_oneof![4 => Just(1u64), 2 => 1..5u64, 1 => 1..1_000_000u64, 1 => 1..1u64 << 54];
    let ids = prop_oneof![
        3 => prop::collection::vec(0..20u16, 0..4),
        1 => prop::collection::vec(0..100u16, 0..60),
    ];
    prop::collection::vec((gap, ids), 1..80)
}

/// Its entries: sorted and unique in layer 2, as they come in layer 1.
fn entries_of(frames: Vec<(u64, Vec<u16>)>, major: u16) -> Vec<(u64, u16)> {
    let (mut frame, mut all) = (0, Vec::new());
    for (gap, mut ids) in frames {
        if major == 2 {
            ids.sort_unstable();
            ids.dedup();
        }
        all.extend(ids.into_iter().map(|id| (frame, id)));
        frame += gap;
    }
    all
}

proptest! {
    #![proptest_config(crate::config(100))]

    #[test]
    fn finding_is_a_look_at_every_entry(
        frames in frames(),
        major in 1..=2u16,
        entries_in_window in prop_oneof![Just(1usize), Just(2), Just(128), 1..40usize],
        odd in 0..32usize,
    ) {
        let keys = entries_of(frames, major);
        let n = u64::try_from(keys.len()).unwrap();
        let file = Imagined::new(major, n, |slot| keys[usize::try_from(slot).unwrap()]);
        let (reader, window) = (file.reader(), 32 * entries_in_window + odd);
        let beside = |&(frame, id): &(u64, u16)| {
            [(frame, id), (frame, (id + 1) % 100), (frame + 1, id), (frame.saturating_sub(1), id)]
        };
        for key in keys.iter().flat_map(beside).chain([(0, 0), (0, 99), (u64::MAX, 99)]) {
            let mut same = (0..).zip(&keys).filter(|(_, other)| **other == key);
            let wanted = if major == 2 { same.next() } else { same.last() };
            let (found, reads) = file.find(&reader, key, window);
            prop_assert_eq!(found, wanted.map(|(slot, _)| mark(slot)), "{:?}", key);
            let of_frame = keys.iter().filter(|(frame, _)| *frame == key.0).count();
            let backwards = match major {
                1 => u64::try_from(of_frame / entries_in_window).unwrap() + 2,
                _ => 0,
            };
            prop_assert!(reads <= search_reads(n) + backwards, "{} reads of {}", reads, n);
        }
    }

    #[test]
    fn chunks_of_frames_are_a_look_at_every_entry(
        frames in frames(),
        major in 1..=2u16,
        entries_in_window in 1..40usize,
        ends in (0..90usize, 0..90usize),
    ) {
        let keys = entries_of(frames, major);
        let n = u64::try_from(keys.len()).unwrap();
        let file = Imagined::new(major, n, |slot| keys[usize::try_from(slot).unwrap()]);
        let frame = |at: usize| keys.get(at).map_or(u64::MAX, |key| key.0);
        let range = frame(ends.0)..frame(ends.1);
        let window = vec![0; 32 * entries_in_window];
        let reader = file.reader();
        let part = reader.chunks_of(range.clone(), window).unwrap();
        let part: Vec<_> = part.map(|chunk| chunk.unwrap()).map(|it| (it.frame, it.id)).collect();
        let expected: Vec<_> =
            keys.iter().filter(|key| range.contains(&key.0)).copied().collect();
        prop_assert_eq!(part, expected);
    }
}
