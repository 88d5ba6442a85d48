//! The board's logs in memory, of samples that are the same on every machine: so must the bytes be.

use crate::frames::Frames;
use crate::sample::Sample;
use crate::sensors::{Room, Sensors};
use crate::table::Table;
use striae_core::store::{FixedSize, ReadAt, WriteAt};

/// So many that the index of GSD moves.
const FRAMES: u32 = 6;

/// So many that SIONlib's streams have more than one block.
const SAMPLES: u32 = 70;

/// A file of at most `N` bytes.
pub struct Ram<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Ram<N> {
    /// An empty file.
    pub const EMPTY: Self = Self { bytes: [0; N], len: 0 };

    fn file(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl<const N: usize> ReadAt for Ram<N> {
    type Error = FixedSize;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
        self.file().read_at(offset, buf)
    }

    fn size(&self) -> Result<u64, FixedSize> {
        self.file().size()
    }
}

impl<const N: usize> WriteAt for Ram<N> {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), FixedSize> {
        self.bytes.as_mut_slice().write_all_at(offset, bytes)?;
        self.len = self.len.max(offset as usize + bytes.len());
        Ok(())
    }

    fn set_size(&mut self, wanted: u64) -> Result<(), FixedSize> {
        let full = FixedSize { len: N, wanted };
        let len = usize::try_from(wanted).ok().filter(|&len| len <= N).ok_or(full)?;
        self.bytes[len.min(self.len)..].fill(0);
        self.len = len;
        Ok(())
    }

    fn sync(&mut self) -> Result<(), FixedSize> {
        Ok(())
    }
}

/// Writes each log into `ram`, and gives it away with its number: GSD, SIONlib, netCDF. The log is
/// opened again in the middle.
pub fn write_logs<const N: usize>(
    ram: &mut Ram<N>,
    mut give: impl FnMut(usize, &[u8]),
) -> Result<(), &'static str> {
    let halves = [SAMPLES / 2, SAMPLES];
    ram.set_size(0).map_err(|_| "memory")?;
    for half in [FRAMES / 2, FRAMES] {
        let mut log = Frames::start(&mut *ram, 64).map_err(|_| "GSD")?;
        while log.frames() < half {
            log.log(&Sample::take(log.frames())).map_err(|_| "a GSD frame")?;
        }
    }
    give(0, ram.file());
    ram.set_size(0).map_err(|_| "memory")?;
    for half in halves {
        let mut room = Room::EMPTY;
        let mut log = Sensors::start(&mut *ram, Ok, &mut room).map_err(|_| "SIONlib")?;
        while log.samples() < half {
            log.log(&Sample::take(log.samples())).map_err(|_| "a SIONlib record")?;
        }
    }
    give(1, ram.file());
    ram.set_size(0).map_err(|_| "memory")?;
    for half in halves {
        let mut log = Table::start(&mut *ram, Ok).map_err(|_| "netCDF")?;
        while log.records() < half {
            log.log(&Sample::take(log.records())).map_err(|_| "a netCDF record")?;
        }
    }
    give(2, ram.file());
    Ok(())
}
