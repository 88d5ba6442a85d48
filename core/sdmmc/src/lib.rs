//! SD cards of [`embedded-sdmmc`](https://docs.rs/embedded-sdmmc) as devices of blocks for striae.
//!
//! [`Blocks`] takes any `BlockDevice` of `embedded-sdmmc` 0.10, such as its `SdCard` on SPI, and is
//! a device for [`BlockStore`](striae_core::store::BlockStore). The card needs no file system: the
//! log is in a range of its blocks.
//!
//! After an error, call `SdCard::mark_card_uninit` before the call that failed is repeated: the
//! driver takes a card that was taken away and put back for one that it has initialised, and each
//! command to it fails.
//!
//! ```
//! use striae_core::gsd::{Attributes, ChunkType, Logger};
//! use striae_core::store::{BlockStore, Cached};
//! use striae_sdmmc::Blocks;
//! # use embedded_sdmmc_types::blockdevice::{Block, BlockCount, BlockDevice, BlockIdx};
//! # struct Ram(core::cell::RefCell<Vec<Block>>);
//! # impl BlockDevice for Ram {
//! #     type Error = core::fmt::Error;
//! #     fn read(&self, blocks: &mut [Block], first: BlockIdx) -> Result<(), Self::Error> {
//! #         Ok(blocks.clone_from_slice(&self.0.borrow()[first.0 as usize..][..blocks.len()]))
//! #     }
//! #     fn write(&self, blocks: &[Block], first: BlockIdx) -> Result<(), Self::Error> {
//! #         let mut all = self.0.borrow_mut();
//! #         Ok(all[first.0 as usize..][..blocks.len()].clone_from_slice(blocks))
//! #     }
//! #     fn num_blocks(&self) -> Result<BlockCount, Self::Error> { Ok(BlockCount(4096)) }
//! # }
//! # let sd_card = Ram(core::cell::RefCell::new(vec![Block::new(); 4096]));
//!
//! // let sd_card = embedded_sdmmc::SdCard::new(spi, delay);
//! let store = BlockStore::<_, _>::new(Blocks(&sd_card), [Cached::EMPTY; 1])?;
//! let about = Attributes { application: "probe 1.0", align: 512, ..Attributes::default() };
//! let mut log = Logger::<_, 4>::open_or_create(store, &about)?;
//! let temperature = log.name("temperature")?;
//! log.chunk(temperature, ChunkType::F32, 1, &21.5_f32.to_le_bytes())?;
//! log.end_frame()?; // it is safe
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

// The packages whose types and traits are in the interfaces here.
pub use embedded_sdmmc_types;
pub use striae_core;

use core::ops::Deref;
use embedded_sdmmc_types::blockdevice::{Block, BlockDevice as SdBlockDevice, BlockIdx};
use striae_core::store::BlockDevice;

/// A reference to a block device of `embedded-sdmmc`. Several stores may share the device, each
/// with a partition of its own.
///
/// Each call needs 512 bytes of stack for a block.
#[derive(Debug, Clone, Copy)]
pub struct Blocks<P>(pub P);

/// Why [`Blocks`] failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error<E> {
    /// The device failed.
    Device(E),
    /// `embedded-sdmmc` counts blocks in 32 bits.
    TooFar {
        /// The number of the block.
        block: u64,
    },
}

impl<E: core::fmt::Display> core::fmt::Display for Error<E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Device(error) => error.fmt(f),
            Self::TooFar { block } => {
                write!(
                    f,
                    "block {block} has no number in embedded-sdmmc, must be at most {}",
                    u32::MAX
                )
            }
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for Error<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Device(error) => error.source(),
            Self::TooFar { .. } => None,
        }
    }
}

impl<E: core::error::Error + 'static> embedded_io::Error for Error<E> {
    fn kind(&self) -> embedded_io::ErrorKind {
        match self {
            Self::Device(_) => embedded_io::ErrorKind::Other,
            Self::TooFar { .. } => embedded_io::ErrorKind::InvalidInput,
        }
    }
}

/// The numbers of blocks from `first` on.
fn numbers<E>(first: u64) -> impl Iterator<Item = Result<BlockIdx, Error<E>>> {
    (first..).map(|block| u32::try_from(block).map(BlockIdx).map_err(|_| Error::TooFar { block }))
}

impl<P: Deref<Target: SdBlockDevice>> BlockDevice for Blocks<P> {
    type Error = Error<<P::Target as SdBlockDevice>::Error>;

    fn blocks(&mut self) -> Result<u64, Self::Error> {
        self.0.num_blocks().map(|count| count.0.into()).map_err(Error::Device)
    }

    fn read_blocks(&mut self, first: u64, bytes: &mut [u8]) -> Result<(), Self::Error> {
        let mut block = [Block::new()];
        for (number, to) in numbers(first).zip(bytes.chunks_exact_mut(Block::LEN)) {
            self.0.read(&mut block, number?).map_err(Error::Device)?;
            let [block] = &block;
            to.copy_from_slice(&block.contents);
        }
        Ok(())
    }

    fn write_blocks(&mut self, first: u64, bytes: &[u8]) -> Result<(), Self::Error> {
        let mut block = [Block::new()];
        for (number, from) in numbers(first).zip(bytes.chunks_exact(Block::LEN)) {
            let [Block { contents }] = &mut block;
            contents.copy_from_slice(from);
            self.0.write(&block, number?).map_err(Error::Device)?;
        }
        Ok(())
    }
}
