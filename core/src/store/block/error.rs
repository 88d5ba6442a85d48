//! The errors of a store of blocks.

use embedded_io::ErrorKind;

/// Why a [`BlockStore`](super::BlockStore) failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum BlockStoreError<E> {
    /// The device failed.
    Device(E),
    /// The partition begins or ends after the last block of the device.
    Outside {
        /// The end of the partition: a block number.
        end: u64,
        /// The number of blocks of the device.
        blocks: u64,
    },
    /// A write, or the length that was asked for, ends at `wanted`; the store has a fixed size.
    FixedSize {
        /// The length of the store in bytes.
        len: u64,
        /// The length that was needed.
        wanted: u64,
    },
    /// The cache has no block.
    NoCache,
    /// The store is in use by another call that has not ended.
    Busy,
}

impl<E: core::fmt::Display> core::fmt::Display for BlockStoreError<E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Device(error) => error.fmt(f),
            Self::Outside { end, blocks } => {
                write!(f, "the partition ends at block {end}, must end at {blocks} or before")
            }
            Self::FixedSize { len, wanted } => {
                write!(f, "a store of {len} bytes cannot become one of {wanted}")
            }
            Self::NoCache => f.write_str("the cache has no block, must have at least one"),
            Self::Busy => f.write_str("the store is in use"),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for BlockStoreError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Device(error) => error.source(),
            _ => None,
        }
    }
}

impl<E: embedded_io::Error + 'static> embedded_io::Error for BlockStoreError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Device(error) => error.kind(),
            Self::Outside { .. } | Self::NoCache => ErrorKind::InvalidInput,
            Self::FixedSize { .. } => ErrorKind::OutOfMemory,
            Self::Busy => ErrorKind::Other,
        }
    }
}
