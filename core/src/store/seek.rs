//! [`SeekStore`]: stores made of anything that reads and seeks.

use super::usize_to_u64;
#[twin(ReadAt, WriteAt)]
use super::{ReadAt, WriteAt};
use core::cell::RefCell;
use embedded_io::{ErrorKind, ErrorType, Read, Seek, SeekFrom, Write};
#[cfg(feature = "async")]
use embedded_io_async::{Read as AsyncRead, Seek as AsyncSeek, Write as AsyncWrite};
use striae_twin::twin;

/// A store made of anything that reads and seeks, such as a file on an SD card.
///
/// [`sync`](WriteAt::sync) calls the device's `flush` and returns its result each time. A device
/// that drops bytes that it failed to write must itself keep failing (see [`WriteAt::sync`]).
///
/// The device is in a [`RefCell`]: one thread can share the store, several threads cannot.
///
/// [`reread_at`](ReadAt::reread_at) is a usual read, as `embedded_io` has no other. So if the
/// device has a cache, a writer that looks after an error whether its medium is another one may be
/// shown the cache. The `VolumeManager` of embedded-sdmmc 0.10 keeps one block, mostly that of the
/// last data; the header is read from the card, unless it is in that block, as it never is in a GSD
/// log with `align` 512. So another card is noticed if its header differs, but it may not be if
/// only the last data differ. Either call `VolumeManager::device` before the failed call is
/// repeated: it forgets the block. Or keep the log on blocks of the card, in a
/// [`BlockStore`](super::BlockStore), which reads all of it anew.
#[derive(Debug)]
pub struct SeekStore<T>(RefCell<T>);

impl<T> SeekStore<T> {
    /// Makes a store of all bytes of `device`.
    #[must_use]
    pub const fn new(device: T) -> Self {
        Self(RefCell::new(device))
    }

    /// Returns the device.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

/// Why a [`SeekStore`] failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SeekStoreError<E> {
    /// The device failed.
    Device(E),
    /// The device accepted no byte of a write: it is full.
    Full {
        /// The offset of the first byte that was not written.
        offset: u64,
    },
    /// The file cannot be cut: `embedded_io` has no such call.
    CannotShrink {
        /// The length of the file in bytes.
        len: u64,
        /// The length that was asked for.
        wanted: u64,
    },
    /// The device is in use by another call on this store that has not ended.
    Busy,
}

impl<E: core::fmt::Display> core::fmt::Display for SeekStoreError<E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Device(error) => error.fmt(f),
            Self::Full { offset } => write!(f, "the device took no byte at offset {offset}"),
            Self::CannotShrink { len, wanted } => {
                write!(f, "the device cannot be cut from {len} to {wanted} bytes")
            }
            Self::Busy => f.write_str("the device is in use"),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for SeekStoreError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Device(error) => error.source(),
            _ => None,
        }
    }
}

impl<E: embedded_io::Error + 'static> embedded_io::Error for SeekStoreError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Device(error) => error.kind(),
            Self::Full { .. } => ErrorKind::WriteZero,
            Self::CannotShrink { .. } => ErrorKind::Unsupported,
            Self::Busy => ErrorKind::Other,
        }
    }
}

/// Two futures of one store do not wait for each other: the second one fails with
/// [`SeekStoreError::Busy`].
#[twin(Read, Seek, ReadAt)]
#[allow(clippy::await_holding_refcell_ref, reason = "who comes meanwhile is told: Busy")]
impl<T: ErrorType<Error: 'static> + Read + Seek> ReadAt for SeekStore<T> {
    type Error = SeekStoreError<T::Error>;

    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        if buf.is_empty() {
            return Ok(0);
        }
        let mut device = self.0.try_borrow_mut().map_err(|_| SeekStoreError::Busy)?;
        let moved = device.seek(SeekFrom::Start(offset)).await;
        if moved.as_ref().ok() == Some(&offset) {
            return device.read(buf).await.map_err(SeekStoreError::Device);
        }
        let end = device.seek(SeekFrom::End(0)).await.map_err(SeekStoreError::Device)?;
        read_nothing(moved, offset, end)
    }

    async fn size(&self) -> Result<u64, Self::Error> {
        let mut device = self.0.try_borrow_mut().map_err(|_| SeekStoreError::Busy)?;
        device.seek(SeekFrom::End(0)).await.map_err(SeekStoreError::Device)
    }
}

#[twin(Read, Write, Seek, WriteAt, write_all, write_zeros, check_end)]
impl<T: ErrorType<Error: 'static> + Read + Write + Seek> WriteAt for SeekStore<T> {
    async fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Self::Error> {
        let device = self.0.get_mut();
        let end = device.seek(SeekFrom::End(0)).await.map_err(SeekStoreError::Device)?;
        if end < offset {
            write_zeros(device, end, offset).await?;
        }
        device.seek(SeekFrom::Start(offset)).await.map_err(SeekStoreError::Device)?;
        write_all(device, offset, bytes).await?;
        check_end(device, offset.saturating_add(usize_to_u64(bytes.len()))).await
    }

    async fn set_size(&mut self, wanted: u64) -> Result<(), Self::Error> {
        let device = self.0.get_mut();
        let len = device.seek(SeekFrom::End(0)).await.map_err(SeekStoreError::Device)?;
        if wanted < len {
            return Err(SeekStoreError::CannotShrink { len, wanted });
        }
        write_zeros(device, len, wanted).await?;
        check_end(device, wanted).await
    }

    async fn sync(&mut self) -> Result<(), Self::Error> {
        self.0.get_mut().flush().await.map_err(SeekStoreError::Device)
    }
}

/// The result of a read after a seek that did not reach `offset`. A device may refuse to seek past
/// its end, or stay at its end: then nothing can be read there.
fn read_nothing<E>(
    moved: Result<u64, E>,
    offset: u64,
    end: u64,
) -> Result<usize, SeekStoreError<E>> {
    match moved {
        Err(error) if offset < end => Err(SeekStoreError::Device(error)),
        _ => Ok(0),
    }
}

/// Zeros for a file from `from` up to `to`, as many as are left of a sector: a card writes whole
/// sectors, and would write one again for each piece.
fn zeros(from: u64, to: u64) -> &'static [u8] {
    const SECTOR: [u8; 512] = [0; 512];
    let left = SECTOR.len().saturating_sub(usize::try_from(from % 512).unwrap_or(0));
    let wanted = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
    SECTOR.get(..left.min(wanted)).unwrap_or_default()
}

/// Writes zeros from `from`, where the device's cursor is, up to `to`.
#[twin(Write)]
async fn write_zeros<T: Write>(
    device: &mut T,
    mut from: u64,
    to: u64,
) -> Result<(), SeekStoreError<T::Error>> {
    while from < to {
        let zeros = zeros(from, to);
        write_all(device, from, zeros).await?;
        from = from.saturating_add(usize_to_u64(zeros.len()));
    }
    Ok(())
}

/// Writes all bytes. `embedded_io::Write::write_all` panics when a device accepts no byte; this
/// function returns an error.
#[twin(Write)]
async fn write_all<T: Write>(
    device: &mut T,
    mut offset: u64,
    mut bytes: &[u8],
) -> Result<(), SeekStoreError<T::Error>> {
    while !bytes.is_empty() {
        let n = device.write(bytes).await.map_err(SeekStoreError::Device)?;
        bytes = bytes.get(n..).filter(|_| n != 0).ok_or(SeekStoreError::Full { offset })?;
        offset = offset.saturating_add(usize_to_u64(n));
    }
    Ok(())
}

/// Checks that the device has taken all bytes up to `end`. embedded-sdmmc says so of those after
/// 4 GiB, for which FAT32 has no place, and drops them.
#[twin(Seek)]
async fn check_end<T: Seek>(device: &mut T, end: u64) -> Result<(), SeekStoreError<T::Error>> {
    let offset = device.seek(SeekFrom::Current(0)).await.map_err(SeekStoreError::Device)?;
    if offset == end { Ok(()) } else { Err(SeekStoreError::Full { offset }) }
}
