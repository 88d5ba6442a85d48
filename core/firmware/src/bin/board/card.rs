//! The card: its partitions, and the stores on them.

use crate::pl022::{ChipSelect, Cycles, Pl022};
use crate::quirk::Patient;
use core::convert::Infallible;
use core::fmt;
use core::ops::Range;
use embedded_hal_bus::spi::{ExclusiveDevice, NoDelay};
use embedded_sdmmc::{
    Block, BlockCount, BlockDevice, BlockIdx, Directory, File, Mode, SdCard, SdCardError,
    TimeSource, Timestamp, VolumeManager,
};
use striae_core::step::DriveError;
use striae_core::store::{
    BlockStore, BlockStoreError, Cached, ReadAt, SeekStore, SeekStoreError, StoreBlocks, WriteAt,
};
use striae_sdmmc::Blocks;

pub type Sd = SdCard<Patient<ExclusiveDevice<Pl022, ChipSelect, NoDelay>>, Cycles>;

/// A card, not initialised yet.
pub fn new() -> Sd {
    let mut bus = Pl022::new();
    let select = ChipSelect::new();
    bus.wake();
    let Ok(device) = ExclusiveDevice::new_no_delay(bus, select);
    SdCard::new(Patient::new(device), Cycles)
}

/// The blocks of the card's first two partitions: a FAT volume, and one without a file system. They
/// are in the table in block 0.
pub fn partitions(card: &Sd) -> Result<[Range<u32>; 2], SdCardError> {
    let mut table = [Block::new()];
    card.read(&mut table, BlockIdx(0))?;
    let [Block { contents }] = &table;
    let number = |at: usize| {
        let bytes = [contents[at], contents[at + 1], contents[at + 2], contents[at + 3]];
        u32::from_le_bytes(bytes)
    };
    Ok([446, 446 + 16].map(|entry| {
        let first = number(entry + 8);
        first..first.saturating_add(number(entry + 12))
    }))
}

pub type RawError = BlockStoreError<striae_sdmmc::Error<SdCardError>>;

/// A store of blocks of the card, with a cache of one.
pub fn raw(card: &Sd, blocks: Range<u32>) -> Result<impl WriteAt<Error = RawError>, RawError> {
    let blocks = blocks.start.into()..blocks.end.into();
    BlockStore::<_, _>::partition(Blocks(card), [Cached::EMPTY; 1], blocks)
}

/// A store in a file that grows with it.
pub fn growing<'v, 'c>(folder: &Folder<'v, 'c>, name: &str) -> Result<Growing<'v, 'c>, FileError> {
    let file = folder.open_file_in_dir(name, Mode::ReadWriteCreateOrAppend);
    file.map(SeekStore::new).map_err(SeekStoreError::Device)
}

/// A store in a new file. An old one of this name is deleted, which is one write; its clusters stay
/// in use until somebody checks the file system. To cut it would be many writes, and a power cut
/// between them would leave a length for which there are no clusters.
pub fn anew<'v, 'c>(folder: &Folder<'v, 'c>, name: &str) -> Result<Growing<'v, 'c>, FileError> {
    folder.delete_entry_in_dir(name).map_err(SeekStoreError::Device)?;
    growing(folder, name)
}

pub type Volumes<'c> = VolumeManager<Volume<'c>, NoClock>;
pub type Folder<'v, 'c> = Directory<'v, Volume<'c>, NoClock, 4, 4, 1>;
pub type OnCard<'v, 'c> = File<'v, Volume<'c>, NoClock, 4, 4, 1>;
pub type Growing<'v, 'c> = SeekStore<OnCard<'v, 'c>>;
pub type FileError = SeekStoreError<embedded_sdmmc::Error<VolumeError>>;
pub type FixedFileError = BlockStoreError<DriveError<FileError, Infallible>>;

/// A store in a file of fixed length, with a cache of one block. A new file gets `len` bytes
/// first, so that later writes change none of the file system's tables.
pub fn in_file(
    folder: &Folder<'_, '_>,
    name: &str,
    len: u64,
) -> Result<impl WriteAt<Error = FixedFileError>, FixedFileError> {
    let device = |error| BlockStoreError::Device(DriveError::Store(error));
    let mut file = growing(folder, name).map_err(device)?;
    if file.size().map_err(device)? == 0 {
        file.set_size(len).map_err(device)?;
        file.sync().map_err(device)?;
    }
    BlockStore::<_, _>::new(StoreBlocks(file), [Cached::EMPTY; 1])
}

/// The card as the file system's device: it writes only to its volume. Without this,
/// embedded-sdmmc 0.10 may write after the end of a volume that is nearly full: its search for a
/// free cluster reads the last sector of the FAT to the end, also past the last cluster.
pub struct Volume<'c> {
    pub card: &'c Sd,
    pub blocks: Range<u32>,
}

/// Why a [`Volume`] failed.
#[derive(Debug)]
pub enum VolumeError {
    /// The card failed.
    Card(SdCardError),
    /// The volume has no such block.
    Full { block: u32 },
}

impl fmt::Display for VolumeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Card(error) => error.fmt(f),
            Self::Full { block } => write!(f, "block {block} is not in the volume"),
        }
    }
}

impl core::error::Error for VolumeError {}

impl BlockDevice for Volume<'_> {
    type Error = VolumeError;

    fn read(&self, blocks: &mut [Block], first: BlockIdx) -> Result<(), VolumeError> {
        self.card.read(blocks, first).map_err(VolumeError::Card)
    }

    fn write(&self, blocks: &[Block], first: BlockIdx) -> Result<(), VolumeError> {
        for (block, content) in (first.0..).zip(blocks) {
            if !self.blocks.contains(&block) {
                return Err(VolumeError::Full { block });
            }
            let content = core::slice::from_ref(content);
            self.card.write(content, BlockIdx(block)).map_err(VolumeError::Card)?;
        }
        Ok(())
    }

    fn num_blocks(&self) -> Result<BlockCount, VolumeError> {
        self.card.num_blocks().map_err(VolumeError::Card)
    }
}

/// The board has no clock: its files are of the day that FAT begins with.
pub struct NoClock;

impl TimeSource for NoClock {
    fn get_timestamp(&self) -> Timestamp {
        Timestamp {
            year_since_1970: 10,
            zero_indexed_month: 0,
            zero_indexed_day: 0,
            hours: 0,
            minutes: 0,
            seconds: 0,
        }
    }
}
