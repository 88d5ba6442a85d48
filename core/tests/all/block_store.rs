//! A store on a device of blocks holds what was written, whatever its cache, its partition and the
//! faults of the device, and writes no block outside the partition.

use core::cell::RefCell;
use embedded_io::{Error as _, ErrorKind};
use std::rc::Rc;
use striae_core::gsd::{Attributes, ChunkType, Logger};
use striae_core::store::{
    BlockDevice, BlockStore, BlockStoreError, Cached, FixedSize, ReadAt, StoreBlocks, WriteAt,
};

/// A card that fails from an operation on, and counts flushes. A clone is the same card.
#[derive(Debug, Clone)]
struct Card<const B: usize>(Rc<RefCell<Inner>>);

#[derive(Debug)]
struct Inner {
    bytes: Vec<u8>,
    /// Operations until one fails.
    fuel: usize,
    /// Blocks that were written, in their order; `None` is a flush.
    written: Vec<Option<u64>>,
}

impl<const B: usize> Card<B> {
    fn new(blocks: usize) -> Self {
        let bytes = (0..blocks * B).map(|at| (at % 251) as u8).collect();
        Self(Rc::new(RefCell::new(Inner { bytes, fuel: usize::MAX, written: Vec::new() })))
    }

    /// Fails once when the fuel is used up.
    fn spend(&self) -> Result<(), ErrorKind> {
        let fuel = &mut self.0.borrow_mut().fuel;
        let is_empty = *fuel == 0;
        *fuel = fuel.wrapping_sub(1);
        if is_empty { Err(ErrorKind::TimedOut) } else { Ok(()) }
    }
}

impl<const B: usize> BlockDevice<B> for Card<B> {
    type Error = ErrorKind;

    fn blocks(&mut self) -> Result<u64, ErrorKind> {
        Ok((self.0.borrow().bytes.len() / B) as u64)
    }

    fn read_blocks(&mut self, first: u64, bytes: &mut [u8]) -> Result<(), ErrorKind> {
        assert!(!bytes.is_empty() && bytes.len().is_multiple_of(B));
        let spent = self.spend();
        bytes.fill(0xEE); // a failed read may leave anything
        spent?;
        bytes.copy_from_slice(&self.0.borrow().bytes[first as usize * B..][..bytes.len()]);
        Ok(())
    }

    fn write_blocks(&mut self, first: u64, bytes: &[u8]) -> Result<(), ErrorKind> {
        assert!(!bytes.is_empty() && bytes.len().is_multiple_of(B));
        let spent = self.spend();
        let written = if spent.is_ok() { bytes.len() } else { B.min(bytes.len() - B) };
        let inner = &mut *self.0.borrow_mut();
        inner.bytes[first as usize * B..][..written].copy_from_slice(&bytes[..written]);
        inner.written.extend((first..).take(written / B).map(Some));
        spent
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        self.spend()?;
        self.0.borrow_mut().written.push(None);
        Ok(())
    }
}

fn cache<const B: usize>(len: usize) -> Vec<Cached<B>> {
    vec![Cached::EMPTY; len]
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) as usize % end
    }
}

/// Random reads, writes and syncs of a partition from block 2 to 12 of 16; each failed operation is
/// tried again.
fn is_like_memory<const B: usize>(slots: usize, seed: u64, faults: bool) {
    let card = Card::<B>::new(16);
    let before = card.0.borrow().bytes.clone();
    let mut model = before[2 * B..12 * B].to_vec();
    let mut store = BlockStore::partition(card.clone(), cache(slots), 2..12).unwrap();
    let mut random = Random(seed);
    let fail = |random: &mut Random| {
        card.0.borrow_mut().fuel = if faults { random.below(6) } else { usize::MAX };
    };
    for step in 0..600 {
        let at = random.below(model.len());
        let most = [7, 100, B, 4 * B][random.below(4)];
        let len = random.below(most + 1);
        let (at, len) = match random.below(4) {
            0 => (at / B * B, len.next_multiple_of(B)),
            _ => (at, len),
        };
        let len = len.min(model.len() - at);
        fail(&mut random);
        let of = |error: &BlockStoreError<ErrorKind>| {
            assert_eq!(*error, BlockStoreError::Device(ErrorKind::TimedOut));
        };
        match random.below(5) {
            0 => {
                while store.sync().inspect_err(of).is_err() {}
                assert_eq!(card.0.borrow().bytes[2 * B..12 * B], model, "{step}");
                assert_eq!(card.0.borrow().written.last(), Some(&None));
            }
            1 | 2 => {
                let bytes: Vec<u8> = (0..len).map(|_| random.below(256) as u8).collect();
                while store.write_all_at(at as u64, &bytes).inspect_err(of).is_err() {}
                model[at..at + len].copy_from_slice(&bytes);
            }
            _ => {
                let mut bytes = vec![0; len];
                while store.read_exact_at(at as u64, &mut bytes).is_err() {}
                assert_eq!(bytes, model[at..at + len], "{step}");
            }
        }
    }
    let after = &card.0.borrow().bytes;
    assert_eq!((&after[..2 * B], &after[12 * B..]), (&before[..2 * B], &before[12 * B..]));
}

#[test]
fn it_holds_what_was_written_with_any_cache_and_any_fault() {
    for seed in 1..=20 {
        for slots in 1..=4 {
            for faults in [false, true] {
                is_like_memory::<512>(slots, seed, faults);
            }
            is_like_memory::<4096>(slots, seed, true);
        }
    }
}

#[test]
fn a_sync_writes_every_changed_block_once_before_it_flushes() {
    let card = Card::<512>::new(8);
    let mut store = BlockStore::new(card.clone(), cache(3)).unwrap();
    for at in [0, 600, 1100, 20, 700, 1500] {
        store.write_all_at(at, b"some bytes").unwrap();
    }
    assert!(card.0.borrow().written.is_empty());
    store.sync().unwrap();
    store.sync().unwrap();
    let mut written = core::mem::take(&mut card.0.borrow_mut().written);
    assert_eq!(written.split_off(3), [None, None]);
    written.sort_unstable();
    assert_eq!(written, [Some(0), Some(1), Some(2)]);

    // What is ordered is on the device, without a flush.
    store.write_all_at(0, b"0").unwrap();
    store.order().unwrap();
    assert_eq!(card.0.borrow().written, [Some(0)]);
}

#[test]
fn an_unchanged_block_is_replaced_before_a_changed_one() {
    let card = Card::<512>::new(8);
    let mut store = BlockStore::new(card.clone(), cache(2)).unwrap();
    store.write_all_at(0, b"changed").unwrap();
    for block in 1..8 {
        store.read_exact_at(block * 512, &mut [0; 8]).unwrap();
    }
    assert!(card.0.borrow().written.is_empty());
    store.write_all_at(512, b"too").unwrap();
    store.read_exact_at(1024, &mut [0; 8]).unwrap();
    assert_eq!(card.0.borrow().written, [Some(0)]); // the one that was used first
}

#[test]
fn it_has_a_fixed_size_and_says_what_is_wrong() {
    let of = |range| BlockStore::partition(Card::<512>::new(8), cache(1), range);
    let store = of(3..5).unwrap();
    assert_eq!(store.size().unwrap(), 1024);
    assert_eq!(store.read_at(1024, &mut [0; 4]).unwrap(), 0);
    assert_eq!(store.read_at(u64::MAX, &mut [0; 4]).unwrap(), 0);
    assert_eq!(store.read_at(1022, &mut [0; 4]).unwrap(), 2);
    let mut store = store;
    let fixed = |wanted| BlockStoreError::FixedSize { len: 1024, wanted };
    assert_eq!(store.write_all_at(1022, b"abc").unwrap_err(), fixed(1025));
    assert_eq!(store.write_all_at(u64::MAX, b"abc").unwrap_err(), fixed(u64::MAX));
    assert_eq!(store.set_size(1023).unwrap_err(), fixed(1023));
    assert_eq!(fixed(1023).to_string(), "a store of 1024 bytes cannot become one of 1023");
    store.set_size(1024).unwrap();
    assert_eq!(store.device().blocks().unwrap(), 8);

    let outside = |end| BlockStoreError::Outside { end, blocks: 8 };
    assert_eq!(of(3..9).unwrap_err(), outside(9));
    #[allow(clippy::reversed_empty_ranges, reason = "it is to be refused")]
    let reversed = of(9..2);
    assert_eq!(reversed.unwrap_err(), outside(9));
    assert_eq!(outside(9).to_string(), "the partition ends at block 9, must end at 8 or before");
    assert_eq!(of(8..8).unwrap().size().unwrap(), 0);
    let none = BlockStore::new(Card::<512>::new(8), cache(0)).unwrap_err();
    assert_eq!(none, BlockStoreError::NoCache);
    let kinds = [none.kind(), outside(9).kind(), fixed(1).kind()];
    assert_eq!(kinds, [ErrorKind::InvalidInput, ErrorKind::InvalidInput, ErrorKind::OutOfMemory]);
}

#[test]
fn a_store_is_a_device_of_its_whole_blocks() {
    let mut bytes = vec![7; 3 * 1024 + 100];
    let mut blocks = StoreBlocks(bytes.as_mut_slice());
    assert_eq!(BlockDevice::<1024>::blocks(&mut blocks).unwrap(), 3);
    let mut store = BlockStore::<_, _, 1024>::new(blocks, cache(2)).unwrap();
    store.write_all_at(3000, &[9; 72]).unwrap();
    assert_eq!(store.into_inner().0[3000], 7); // it was not synced
    let mut store =
        BlockStore::<_, _, 1024>::new(StoreBlocks(bytes.as_mut_slice()), cache(2)).unwrap();
    store.write_all_at(3000, &[9; 72]).unwrap();
    store.sync().unwrap();
    assert_eq!((bytes[2999], bytes[3000], bytes[3071], bytes[3072]), (7, 9, 9, 7));
    let full = BlockStoreError::<FixedSize>::FixedSize { len: 0, wanted: 1 };
    assert!(core::error::Error::source(&full).is_none());
}

/// What is below may have a cache, too.
#[test]
fn a_store_below_is_read_again_from_its_medium() {
    let mut below = BlockStore::<_, _, 512>::new(Card::<512>::new(8), cache(4)).unwrap();
    below.write_all_at(0, &[1; 1024]).unwrap();
    below.sync().unwrap();
    let store = BlockStore::<_, _, 1024>::new(StoreBlocks(below), cache(1)).unwrap();
    let (mut cached, mut medium) = ([0; 4], [0; 4]);
    store.read_at(0, &mut cached).unwrap();
    let mut below = store.into_inner().0;
    below.read_at(0, &mut cached).unwrap();
    below.device().0.borrow_mut().bytes.fill(2); // another card
    let store = BlockStore::<_, _, 1024>::new(StoreBlocks(below), cache(1)).unwrap();
    store.read_at(0, &mut cached).unwrap();
    store.reread_at(0, &mut medium).unwrap();
    assert_eq!((cached, medium), ([1; 4], [2; 4]));
}

/// A device is often lent, and its cache a static.
#[test]
fn device_and_cache_may_be_borrowed() {
    let (mut card, mut memory) = (Card::<512>::new(64), [Cached::EMPTY; 1]);
    card.0.borrow_mut().bytes.fill(0);
    let about = Attributes::default();
    for frames in 0..3 {
        let store = BlockStore::new(&mut card, &mut memory).unwrap();
        let mut log = Logger::<_, 4>::open_or_create(store, &about).unwrap();
        let id = log.name("t").unwrap();
        log.chunk(id, ChunkType::U8, 1, b"value").unwrap();
        assert_eq!(log.end_frame().unwrap(), frames);
    }
}
