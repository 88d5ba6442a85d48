//! How often a card's sectors are written for each frame of a log, by the store under the log.
//!
//! The numbers are in the documentation of `Logger`; `cargo test -p striae-core --test all wear --
//! --nocapture` prints them.

use core::cell::RefCell;
use embedded_io::ErrorKind;
use std::collections::BTreeMap;
use std::rc::Rc;
use striae_core::gsd::{Attributes, ChunkType, Logger};
use striae_core::store::{BlockDevice, BlockStore, Cached, ReadAt, WriteAt};

/// Frames that are counted.
const FRAMES: u64 = 4000;

/// Bytes of the card.
const LEN: usize = 16 << 20;

/// A card that counts how often each sector was written, and how many were read. A clone is the
/// same card.
#[derive(Clone)]
struct Card(Rc<RefCell<Inner>>);

struct Inner {
    bytes: Vec<u8>,
    writes: BTreeMap<u64, u64>,
    reads: u64,
}

impl Card {
    fn new() -> Self {
        let inner = Inner { bytes: vec![0xFF; LEN], writes: BTreeMap::new(), reads: 0 };
        Self(Rc::new(RefCell::new(inner)))
    }
}

impl BlockDevice for Card {
    type Error = ErrorKind;

    fn blocks(&mut self) -> Result<u64, ErrorKind> {
        Ok((LEN / 512) as u64)
    }

    fn read_blocks(&mut self, first: u64, bytes: &mut [u8]) -> Result<(), ErrorKind> {
        let inner = &mut *self.0.borrow_mut();
        inner.reads += (bytes.len() / 512) as u64;
        bytes.copy_from_slice(&inner.bytes[first as usize * 512..][..bytes.len()]);
        Ok(())
    }

    fn write_blocks(&mut self, first: u64, bytes: &[u8]) -> Result<(), ErrorKind> {
        let inner = &mut *self.0.borrow_mut();
        for number in (first..).take(bytes.len() / 512) {
            *inner.writes.entry(number).or_default() += 1;
        }
        inner.bytes[first as usize * 512..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

/// What a store without a cache does: each write changes sectors on the card.
struct WriteThrough(Card);

impl ReadAt for WriteThrough {
    type Error = ErrorKind;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        Ok(self.0.0.borrow().bytes.as_slice().read_at(offset, buf).unwrap_or(0))
    }

    fn size(&self) -> Result<u64, ErrorKind> {
        Ok(LEN as u64)
    }
}

impl WriteAt for WriteThrough {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), ErrorKind> {
        let inner = &mut *self.0.0.borrow_mut();
        for number in offset / 512..(offset + bytes.len() as u64).div_ceil(512) {
            *inner.writes.entry(number).or_default() += 1;
        }
        inner.bytes[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn set_size(&mut self, len: u64) -> Result<(), ErrorKind> {
        assert_eq!(len, LEN as u64);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

/// How a log is written.
#[derive(Clone, Copy)]
struct Way {
    /// Rows of each of the three chunks, which come one by one.
    rows: usize,
    /// Frames of a commit.
    every: u64,
    attributes: Attributes<'static>,
}

/// Per frame: sector writes, those of the sector that is written most often, sector reads.
#[derive(Debug, Clone, Copy)]
struct Wear {
    writes: f64,
    hottest: f64,
    reads: f64,
}

/// Logs what an inertial unit measures.
fn log<S: WriteAt<Error: core::fmt::Debug>, const N: usize>(
    store: S,
    card: &Card,
    way: Way,
) -> Wear {
    let mut log = Logger::<_, N>::open_or_create(store, &way.attributes).unwrap();
    let ids = ["acceleration", "rotation", "field"].map(|name| log.name(name).unwrap());
    log.commit().unwrap();
    card.0.borrow_mut().writes.clear();
    card.0.borrow_mut().reads = 0;
    for frame in 0..FRAMES {
        for (id, scale) in ids.into_iter().zip(1u8..) {
            let mut chunk = log.begin_chunk(id, ChunkType::F32, 3).unwrap();
            for row in 0..way.rows {
                let value = (frame as f32).sin() * f32::from(scale) + row as f32;
                let bytes: Vec<u8> = [value; 3].into_iter().flat_map(f32::to_le_bytes).collect();
                chunk.write(&bytes).unwrap();
            }
            chunk.finish().unwrap();
        }
        match (frame + 1) % way.every {
            0 => assert_eq!(log.end_frame().unwrap(), frame),
            _ => assert_eq!(log.writer().end_frame().unwrap(), frame),
        }
    }
    let inner = card.0.borrow();
    let per_frame = |count: u64| count as f64 / FRAMES as f64;
    Wear {
        writes: per_frame(inner.writes.values().sum()),
        hottest: per_frame(inner.writes.values().copied().max().unwrap()),
        reads: per_frame(inner.reads),
    }
}

/// By a store with a cache of so many blocks.
fn cached<const N: usize>(slots: usize, way: Way) -> Wear {
    let card = Card::new();
    let store = BlockStore::new(card.clone(), vec![Cached::EMPTY; slots]).unwrap();
    show(&format!("{slots} blocks, {N} slots"), way, log::<_, N>(store, &card, way))
}

fn write_through(way: Way) -> Wear {
    let card = Card::new();
    show("no cache", way, log::<_, 4>(WriteThrough(card.clone()), &card, way))
}

fn show(store: &str, way: Way, wear: Wear) -> Wear {
    let Way { rows, every, attributes } = way;
    let (index, align) = (attributes.index_slots, attributes.align);
    println!(
        "{store}, {rows} rows, a commit every {every}, index of {index}, align {align}: \
         {:.2} writes, hottest {:.2}, {:.2} reads a frame",
        wear.writes, wear.hottest, wear.reads
    );
    wear
}

fn about(align: u64, index_slots: u64) -> Attributes<'static> {
    Attributes { application: "imu", align, index_slots, ..Attributes::default() }
}

/// What the documentation of `Logger` says: with an index that never moves, one cached sector and a
/// frame that fits in a sector.
#[test]
fn a_frame_costs_four_sector_writes_and_no_sector_is_written_twice() {
    let way = Way { rows: 1, every: 1, attributes: about(1, 1 << 14) };
    let one = cached::<4>(1, way);
    assert!(one.writes <= 4.2 && one.hottest <= 1.0, "{one:?}");
    // Further sectors save reads, and nothing else.
    let four = cached::<4>(4, way);
    assert!(four.writes <= one.writes && four.reads * 4.0 < one.reads, "{four:?}");
    let none = write_through(way);
    assert!(none.writes > 7.0 && none.hottest > 1.9, "{none:?}");

    // Each move of an index copies it.
    let growing = cached::<4>(1, Way { attributes: about(1, 128), ..way });
    assert!(growing.writes <= 4.75 && growing.hottest <= 1.01, "{growing:?}");
}

/// Data, index, shadow and header. What three chunks of 12 bytes cost more is from frames that
/// cross a sector: 2 of 16 with their entries, and 36 of 512 with their bytes.
#[test]
fn a_frame_that_crosses_no_sector_costs_exactly_four_sector_writes() {
    let card = Card::new();
    let store = BlockStore::new(card.clone(), [Cached::EMPTY; 1]).unwrap();
    let mut log = Logger::<_, 4>::open_or_create(store, &about(1, 1 << 15)).unwrap();
    let ids = ["a", "b", "c", "d"].map(|name| log.name(name).unwrap());
    log.commit().unwrap();
    let mut before = 0;
    for frame in 0..FRAMES {
        for id in ids {
            log.write(id, &[[frame as f32; 8]]).unwrap();
        }
        log.end_frame().unwrap();
        let writes: u64 = card.0.borrow().writes.values().sum();
        // The first frame comes after the names, and fills the index up to 128 entries.
        assert!(frame == 0 || writes - before == 4, "frame {frame}: {}", writes - before);
        before = writes;
    }
}

#[test]
fn a_commit_every_eighth_frame_costs_at_most_a_sector_and_a_half_for_each() {
    for (index, most) in [(128, 1.31), (1 << 14, 0.95)] {
        let way = Way { rows: 1, every: 8, attributes: about(1, index) };
        // Either the cache has two sectors, or the logger keeps the entries of some frames.
        for wear in [cached::<4>(2, way), cached::<28>(1, way), cached::<52>(1, way)] {
            assert!(wear.writes <= most && wear.hottest <= 0.13, "{wear:?}");
        }
        cached::<4>(1, way);
    }
}

/// Shadow and header are written once for all frames of a commit; with their data and entries that
/// fit in a sector or two, a frame costs at most 2 + 2/k.
#[test]
fn a_commit_of_k_frames_costs_at_most_two_and_two_kths_sector_writes_for_each() {
    for every in [2, 4, 8, 16] {
        let way = Way { rows: 1, every, attributes: about(1, 1 << 14) };
        // So the entries of a commit wait in memory: they take at most half of it.
        let wear = match every {
            2 => cached::<10>(1, way),
            4 => cached::<20>(1, way),
            8 => cached::<40>(1, way),
            _ => cached::<80>(1, way),
        };
        assert!(wear.writes <= 2.0 + 2.0 / every as f64, "{every}: {wear:?}");
        assert!(wear.hottest <= 1.01 / every as f64, "{every}: {wear:?}");
    }
}

/// Rows that come one by one are written sector by sector.
#[test]
fn rows_cost_what_their_bytes_cost() {
    for rows in [8, 32] {
        let way = Way { rows, every: 1, attributes: about(1, 1 << 14) };
        let bytes = rows * 3 * 12;
        let wear = cached::<4>(1, way);
        assert!(wear.writes <= 4.2 + bytes as f64 / 512.0, "{wear:?}");
        assert!(write_through(way).writes > 4.0 * wear.writes);
    }
}

/// What is committed shares no sector with what is written: each chunk has sectors of its own.
#[test]
fn chunks_in_sectors_of_their_own_cost_a_sector_each() {
    for rows in [1, 8] {
        let way = Way { rows, every: 1, attributes: about(512, 1 << 17) };
        let wear = cached::<4>(1, way);
        assert!(wear.writes <= 6.01 && wear.hottest <= 1.01, "{wear:?}");
        cached::<4>(1, Way { attributes: about(512, 1 << 14), ..way });
    }
}

/// The least number of sectors in which a log can be begun and has room for a frame.
#[test]
fn the_smallest_medium_has_23_sectors_or_6_or_7() {
    let least = |attributes: &Attributes<'_>| {
        (1..64).find(|sectors| {
            let mut card = vec![0xFF; sectors * 512];
            let begun = Logger::<_, 4>::open_or_create(card.as_mut_slice(), attributes);
            let logged = begun.and_then(|mut log| {
                let id = log.name("t")?;
                log.chunk(id, ChunkType::F32, 1, &[0; 4])?;
                log.end_frame()
            });
            logged.is_ok()
        })
    };
    assert_eq!(least(&Attributes::default()), Some(23));
    let (index_slots, shown_slots, names_len) = (16, 1, 64);
    let small = Attributes { index_slots, shown_slots, names_len, ..Attributes::default() };
    assert_eq!(least(&small), Some(6));
    assert_eq!(least(&Attributes { align: 512, ..small }), Some(7));
}
