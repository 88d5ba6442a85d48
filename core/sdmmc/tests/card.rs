//! A log on a card of embedded-sdmmc: on its blocks, and in a file of its FAT file system; and how
//! often sectors are written for each frame.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests: a panic fails them, and figures are for people"
)]

use embedded_sdmmc::{
    Block, BlockCount, BlockDevice, BlockIdx, Mode, TimeSource, Timestamp, VolumeIdx, VolumeManager,
};
use std::cell::RefCell;
use std::rc::Rc;
use striae_core::gsd::{Attributes, ChunkType, Logger, Reader};
use striae_core::step::DriveError;
use striae_core::store::{
    BlockDevice as _, BlockStore, Cached, ReadAt, SeekStore, StoreBlocks, WriteAt,
};
use striae_sdmmc::{Blocks, Error};

/// Frames that are logged.
const FRAMES: u64 = 200;

/// A card in memory that counts what is written. A clone is the same card.
#[derive(Clone)]
struct Card(Rc<RefCell<Inner>>);

struct Inner {
    blocks: Vec<Block>,
    writes: Vec<u64>,
    /// Reads and writes until somebody takes the card away.
    calls_left: u64,
}

impl Inner {
    fn call(&mut self) -> Result<(), core::fmt::Error> {
        self.calls_left = self.calls_left.checked_sub(1).ok_or(core::fmt::Error)?;
        Ok(())
    }
}

impl Card {
    /// A card of 32 MiB and a bit with an empty FAT16 volume from block 64 on.
    fn formatted() -> Self {
        const SECTORS: u32 = 65536;
        let mut blocks = vec![Block::new(); 64 + SECTORS as usize];
        let put = |block: &mut Block, at: usize, bytes: &[u8]| {
            block.contents[at..at + bytes.len()].copy_from_slice(bytes);
        };
        let entry = [&[0, 0, 0, 0, 6, 0, 0, 0][..], &64_u32.to_le_bytes(), &SECTORS.to_le_bytes()];
        put(&mut blocks[0], 446, &entry.concat());
        put(&mut blocks[0], 510, &[0x55, 0xAA]);
        let boot = &mut blocks[64];
        put(boot, 0, b"\xEB\x3C\x90striae  ");
        put(boot, 11, &[0, 2, 8, 1, 0, 2, 0, 2, 0, 0, 0xF8, 32, 0]); // 8 sectors a cluster, 2 FATs
        put(boot, 32, &SECTORS.to_le_bytes());
        put(boot, 38, b"\x29\x01\x02\x03\x04NO NAME    FAT16   ");
        put(boot, 510, &[0x55, 0xAA]);
        for fat in [65, 65 + 32] {
            put(&mut blocks[fat], 0, &[0xF8, 0xFF, 0xFF, 0xFF]);
        }
        let writes = vec![0; blocks.len()];
        Self(Rc::new(RefCell::new(Inner { blocks, writes, calls_left: u64::MAX })))
    }

    /// Lets it be taken away after so many reads and writes; `u64::MAX` puts it back.
    fn stays_for(&self, calls: u64) {
        self.0.borrow_mut().calls_left = calls;
    }

    fn begin(&self) {
        self.0.borrow_mut().writes.fill(0);
    }

    /// Sector writes of a frame, and those of the sector that was written most often.
    fn wear(&self, name: &str) -> (f64, f64) {
        let inner = self.0.borrow();
        let (all, most) = (inner.writes.iter().sum::<u64>(), inner.writes.iter().max().unwrap());
        let wear = (all as f64 / FRAMES as f64, *most as f64 / FRAMES as f64);
        println!("{name}: {:.2} writes a frame, hottest {:.2}", wear.0, wear.1);
        wear
    }
}

impl BlockDevice for Card {
    type Error = core::fmt::Error;

    fn read(&self, blocks: &mut [Block], first: BlockIdx) -> Result<(), Self::Error> {
        self.0.borrow_mut().call()?;
        let inner = self.0.borrow();
        let from = inner.blocks.get(first.0 as usize..).ok_or(core::fmt::Error)?;
        blocks.clone_from_slice(from.get(..blocks.len()).ok_or(core::fmt::Error)?);
        Ok(())
    }

    fn write(&self, blocks: &[Block], first: BlockIdx) -> Result<(), Self::Error> {
        let inner = &mut *self.0.borrow_mut();
        inner.call()?;
        let range = first.0 as usize..first.0 as usize + blocks.len();
        inner.blocks.get_mut(range.clone()).ok_or(core::fmt::Error)?.clone_from_slice(blocks);
        inner.writes[range].iter_mut().for_each(|count| *count += 1);
        Ok(())
    }

    fn num_blocks(&self) -> Result<BlockCount, Self::Error> {
        Ok(BlockCount(self.0.borrow().blocks.len() as u32))
    }
}

struct NoTime;

impl TimeSource for NoTime {
    fn get_timestamp(&self) -> Timestamp {
        Timestamp::from_calendar(2026, 1, 1, 0, 0, 0).unwrap()
    }
}

const NAMES: [&str; 3] = ["acceleration", "rotation", "field"];

fn value(frame: u64, row: u64) -> Vec<u8> {
    [frame as f32, row as f32, 1.5].into_iter().flat_map(f32::to_le_bytes).collect()
}

/// Logs frames of three chunks of 8 rows that come one by one.
fn log<S: WriteAt<Error: core::fmt::Debug>>(store: S, card: &Card) {
    let about = Attributes { application: "imu", index_slots: 1024, ..Attributes::default() };
    let mut log = Logger::<_, 4>::open_or_create(store, &about).unwrap();
    let ids = NAMES.map(|name| log.name(name).unwrap());
    log.commit().unwrap();
    card.begin();
    for frame in 0..FRAMES {
        for id in ids {
            let mut chunk = log.begin_chunk(id, ChunkType::F32, 3).unwrap();
            (0..8).for_each(|row| chunk.write(&value(frame, row)).unwrap());
            chunk.finish().unwrap();
        }
        assert_eq!(log.end_frame().unwrap(), frame);
    }
}

fn check<S: ReadAt<Error: core::fmt::Debug>>(store: S) {
    let mut window = [0; 512];
    let file = Reader::open(store, &mut window).unwrap();
    assert_eq!(file.frames(), FRAMES);
    for frame in 0..FRAMES {
        for name in NAMES {
            let id = file.name_id(name.as_bytes(), &mut window).unwrap().unwrap();
            let chunk = file.find(frame, id, &mut window).unwrap().unwrap();
            let n = file.read(chunk.span, &mut window).unwrap();
            let want: Vec<u8> = (0..8).flat_map(|row| value(frame, row)).collect();
            assert_eq!(window[..n], want);
        }
    }
}

#[test]
fn a_log_in_blocks_of_a_card_is_read_again() {
    let card = Card::formatted();
    let store =
        || BlockStore::<_, _>::partition(Blocks(&card), [Cached::EMPTY; 1], 4096..8192).unwrap();
    log(store(), &card);
    let (writes, _) = card.wear("blocks of the card, one cached");
    assert!(writes < 5.0, "{writes}");
    check(store());
    assert!(
        card.0.borrow().blocks[4096].contents.starts_with(&0x65DF_65DF_65DF_65DF_u64.to_le_bytes())
    );
}

/// A file of its final length, under a cache: the file system's own sectors are written when it is
/// synced, and not for each piece.
#[test]
fn a_cache_before_a_file_of_a_fat_card_saves_most_writes() {
    let in_file = |name: &str, is_cached: bool| {
        let card = Card::formatted();
        let volumes = VolumeManager::new(card.clone(), NoTime);
        let volume = volumes.open_volume(VolumeIdx(0)).unwrap();
        let folder = volume.open_root_dir().unwrap();
        let open = || folder.open_file_in_dir("LOG.GSD", Mode::ReadWriteCreateOrAppend).unwrap();
        let mut file = SeekStore::new(open());
        file.set_size(1 << 18).unwrap();
        if is_cached {
            let blocks = StoreBlocks(&mut file);
            log(BlockStore::<_, _>::new(blocks, [Cached::EMPTY; 1]).unwrap(), &card);
        } else {
            log(&mut file, &card);
        }
        let wear = card.wear(name);
        check(&file);
        wear
    };
    let (plain, _) = in_file("a FAT file by SeekStore", false);
    let (cached, _) = in_file("a FAT file by SeekStore, one block cached", true);
    assert!(cached * 3.0 < plain, "{cached} {plain}");
}

/// Logs four frames. If the card is away at one, it is put back, and the frame is written again as
/// the documentation of `Logger` says. Returns how often the card was away.
fn log_patiently<S: WriteAt<Error: core::fmt::Debug>>(store: S, card: &Card, calls: u64) -> u64 {
    let about = Attributes { application: "imu", index_slots: 64, ..Attributes::default() };
    let mut log = Logger::<_, 4>::open_or_create(store, &about).unwrap();
    let id = log.name("acceleration").unwrap();
    let frame = |log: &mut Logger<S, 4>, number: u64| {
        log.chunk(id, ChunkType::F32, 3, &value(number, 0))?;
        log.end_frame().map(drop)
    };
    let mut away = 0;
    card.stays_for(calls);
    for number in 0..4 {
        if let Err(error) = frame(&mut log, number) {
            assert!(matches!(error, DriveError::Store(_)), "{error:?}");
            away += 1;
            card.stays_for(u64::MAX);
            if log.frames() > number {
                log.commit().unwrap();
            } else {
                log.discard_frame();
                frame(&mut log, number).unwrap();
            }
        }
    }
    card.stays_for(u64::MAX);
    away
}

/// All four frames are there, once.
fn check_four<S: ReadAt<Error: core::fmt::Debug>>(store: S) {
    let mut window = [0; 512];
    let file = Reader::open(store, &mut window).unwrap();
    assert_eq!(file.frames(), 4);
    for frame in 0..4 {
        let chunk = file.find(frame, 0, &mut window).unwrap().unwrap();
        let n = file.read(chunk.span, &mut window).unwrap();
        assert_eq!(window[..n], value(frame, 0));
    }
}

#[test]
fn a_card_that_is_taken_away_at_any_call_and_put_back_loses_nothing() {
    let card = Card::formatted();
    let blocks = |calls| {
        let first = 8192 + 128 * calls;
        let partition = first..first + 64;
        BlockStore::<_, _>::partition(Blocks(&card), [Cached::EMPTY; 1], partition).unwrap()
    };
    let away = |calls: u64| log_patiently(blocks(calls), &card, calls);
    let calls = (0..).take_while(|&calls| away(calls) == 1).count();
    assert!(calls > 20, "{calls}");
    (0..calls as u64).for_each(|calls| check_four(blocks(calls)));
}

#[test]
fn the_card_of_a_fat_file_may_be_taken_away_as_well() {
    let card = Card::formatted();
    let volumes = VolumeManager::new(card.clone(), NoTime);
    let volume = volumes.open_volume(VolumeIdx(0)).unwrap();
    let folder = volume.open_root_dir().unwrap();
    let log = |calls: u64| {
        let name = format!("{calls}.GSD");
        let file = folder.open_file_in_dir(&*name, Mode::ReadWriteCreateOrAppend).unwrap();
        let mut file = SeekStore::new(file);
        file.set_size(1 << 15).unwrap();
        let store = BlockStore::<_, _>::new(StoreBlocks(&mut file), [Cached::EMPTY; 1]).unwrap();
        let away = log_patiently(store, &card, calls);
        volumes.device(|_| ()); // forgets what it has in memory
        check_four(&file);
        away
    };
    let calls = (0..).take_while(|&calls| log(calls) == 1).count();
    assert!(calls > 20, "{calls}");
}

/// A file that gets its length is written once, sector by sector: not again for each piece.
#[test]
fn a_file_gets_its_length_with_one_write_of_each_sector() {
    const SECTORS: u64 = 512;
    let card = Card::formatted();
    let volumes = VolumeManager::new(card.clone(), NoTime);
    let volume = volumes.open_volume(VolumeIdx(0)).unwrap();
    let folder = volume.open_root_dir().unwrap();
    let file = folder.open_file_in_dir("LOG.GSD", Mode::ReadWriteCreateOrAppend).unwrap();
    let mut file = SeekStore::new(file);
    file.write_all_at(0, &[1; 100]).unwrap();
    card.begin();
    file.set_size(512 * SECTORS).unwrap();
    let inner = card.0.borrow();
    let data = 64 + 1 + 2 * 32 + 32..; // after the boot sector, two FATs and the root folder
    let writes: u64 = inner.writes[data].iter().sum();
    assert_eq!(writes, SECTORS);
    let tables: u64 = inner.writes[..64 + 1 + 2 * 32 + 32].iter().sum();
    assert!(tables < SECTORS, "{tables}");
}

#[test]
fn errors_are_those_of_the_card_and_of_numbers() {
    let card = Card::formatted();
    let mut blocks = Blocks(&card);
    assert_eq!(blocks.blocks(), Ok(64 + 65536));
    let mut bytes = [1; 1024];
    let failed = blocks.read_blocks(64 + 65535, &mut bytes).unwrap_err();
    assert_eq!(failed, Error::Device(core::fmt::Error));
    let too_far = blocks.write_blocks(u64::from(u32::MAX) + 1, &bytes).unwrap_err();
    assert_eq!(too_far, Error::TooFar { block: 1 << 32 });
    assert_eq!(
        too_far.to_string(),
        "block 4294967296 has no number in embedded-sdmmc, must be at most 4294967295"
    );
}
