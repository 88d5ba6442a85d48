//! The card: its partitions, and the stores on them.

use crate::pl022::{ChipSelect, Cycles, Pl022};
use crate::quirk::Patient;
use core::convert::Infallible;
use core::ops::Range;
use embedded_hal_bus::spi::{ExclusiveDevice, NoDelay};
use embedded_sdmmc::{
    Block, BlockCount, BlockDevice, BlockIdx, Directory, File, Mode, SdCard, SdCardError,
    TimeSource, Timestamp,
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

/// The blocks of the card's second partition, which has no file system: entry 1 of the table in
/// block 0.
pub fn second_partition(card: &Sd) -> Result<Range<u64>, SdCardError> {
    let mut table = [Block::new()];
    card.read(&mut table, BlockIdx(0))?;
    let [Block { contents }] = &table;
    let number = |at: usize| {
        let bytes = [contents[at], contents[at + 1], contents[at + 2], contents[at + 3]];
        u64::from(u32::from_le_bytes(bytes))
    };
    let (first, blocks) = (number(446 + 16 + 8), number(446 + 16 + 12));
    Ok(first..first + blocks)
}

pub type RawError = BlockStoreError<striae_sdmmc::Error<SdCardError>>;

/// A store of blocks of the card, behind a cache of one.
pub fn raw(card: &Sd, blocks: Range<u64>) -> Result<impl WriteAt<Error = RawError>, RawError> {
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

pub type Folder<'v, 'c> = Directory<'v, Shared<'c>, NoClock, 4, 4, 1>;
pub type OnCard<'v, 'c> = File<'v, Shared<'c>, NoClock, 4, 4, 1>;
pub type Growing<'v, 'c> = SeekStore<OnCard<'v, 'c>>;
pub type FileError = SeekStoreError<embedded_sdmmc::Error<SdCardError>>;
pub type FixedFileError = BlockStoreError<DriveError<FileError, Infallible>>;

/// A store of `len` bytes in a file, behind a cache of one block: the file gets its length first, so
/// that later writes change none of the file system's tables.
pub fn in_file(
    folder: &Folder<'_, '_>,
    name: &str,
    len: u64,
) -> Result<impl WriteAt<Error = FixedFileError>, FixedFileError> {
    let device = |error| BlockStoreError::Device(DriveError::Store(error));
    let mut file = growing(folder, name).map_err(device)?;
    if file.size().map_err(device)? < len {
        file.set_size(len).map_err(device)?;
        file.sync().map_err(device)?;
    }
    BlockStore::<_, _>::new(StoreBlocks(file), [Cached::EMPTY; 1])
}

/// The card, beside whoever else has it.
#[derive(Clone, Copy)]
pub struct Shared<'c>(pub &'c Sd);

impl BlockDevice for Shared<'_> {
    type Error = SdCardError;

    fn read(&self, blocks: &mut [Block], first: BlockIdx) -> Result<(), SdCardError> {
        self.0.read(blocks, first)
    }

    fn write(&self, blocks: &[Block], first: BlockIdx) -> Result<(), SdCardError> {
        self.0.write(blocks, first)
    }

    fn num_blocks(&self) -> Result<BlockCount, SdCardError> {
        self.0.num_blocks()
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
