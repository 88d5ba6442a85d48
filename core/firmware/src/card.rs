//! A card that loses its power: what a device's store does, in RAM.

use striae_core::store::{ReadAt, WriteAt};

/// Bytes of a sector.
pub const SECTOR: usize = 512;

/// Sectors of the card; it has this size and no other.
pub const SECTORS: usize = 46;

/// Bytes of the card.
pub const LEN: usize = SECTOR * SECTORS;

/// Why the card does not do what it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, defmt::Format)]
pub enum CardError {
    /// It has no power, from the cut on until [`Card::power_on`].
    NoPower,
    /// It has no byte at this offset, and cannot get one.
    Full {
        /// The offset.
        offset: u64,
    },
}

impl core::fmt::Display for CardError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoPower => f.write_str("the card has no power"),
            Self::Full { offset } => write!(f, "the card ends before offset {offset}"),
        }
    }
}

impl core::error::Error for CardError {}

impl embedded_io::Error for CardError {
    fn kind(&self) -> embedded_io::ErrorKind {
        match self {
            Self::NoPower => embedded_io::ErrorKind::BrokenPipe,
            Self::Full { .. } => embedded_io::ErrorKind::OutOfMemory,
        }
    }
}

/// A block store of 512-byte sectors behind a cache.
///
/// Writes go to the cache, which brings sectors to the memory when it likes to. Only a sync makes
/// it bring all. When the power goes, of each sector that is left in the cache all, nothing, or
/// some bytes at the front get to the memory.
pub struct Card {
    /// What is there without power.
    memory: [u8; LEN],
    /// What is read.
    cached: [u8; LEN],
    /// Sectors that may differ.
    dirty: u64,
    /// Writes and syncs until the power goes.
    fuel: u32,
    /// Writes and syncs since the power came.
    used: u32,
    /// Whether a sync does nothing.
    ignores_syncs: bool,
    chance: Chance,
}

impl Card {
    /// A card without power, to be erased first. All zeros, so that a static needs no flash.
    pub const fn new() -> Self {
        Self {
            memory: [0; LEN],
            cached: [0; LEN],
            dirty: 0,
            fuel: 0,
            used: 0,
            ignores_syncs: false,
            chance: Chance(0),
        }
    }

    /// Erases it, and makes chance begin anew.
    pub fn erase(&mut self, seed: u32) {
        self.memory.fill(0xFF);
        self.cached.fill(0xFF);
        self.dirty = 0;
        self.chance = Chance(seed.wrapping_mul(2).wrapping_add(1));
    }

    /// Erases the sector of the header, as when the power goes while it is written.
    pub fn erase_header(&mut self) {
        self.memory[..SECTOR].fill(0xFF);
        self.cached[..SECTOR].fill(0xFF);
    }

    /// Gives it power for so many writes and syncs; during the next one it goes.
    pub fn power_on(&mut self, fuel: u32) {
        for sector in 0..SECTORS {
            if self.dirty & 1 << sector != 0 {
                let start = sector * SECTOR;
                let range = start..start + self.chance.torn();
                self.memory[range.clone()].copy_from_slice(&self.cached[range]);
            }
        }
        self.cached = self.memory;
        (self.dirty, self.fuel, self.used) = (0, fuel, 0);
    }

    /// Whether it takes a sync for done that it has not done, as bad cards do.
    pub fn ignore_syncs(&mut self, yes: bool) {
        self.ignores_syncs = yes;
    }

    /// Writes and syncs since it got power.
    pub fn used(&self) -> u32 {
        self.used
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u32) -> u32 {
        self.chance.below(end)
    }

    /// What a reader gets to see.
    pub fn image(&self) -> &[u8; LEN] {
        &self.cached
    }

    fn write_back(&mut self, sector: usize) {
        let range = sector * SECTOR..(sector + 1) * SECTOR;
        self.memory[range.clone()].copy_from_slice(&self.cached[range]);
        self.dirty &= !(1 << sector);
    }

    /// Puts bytes that fit into the cache.
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.cached[at..at + bytes.len()].copy_from_slice(bytes);
        for sector in at / SECTOR..(at + bytes.len()).div_ceil(SECTOR) {
            self.dirty |= 1 << sector;
        }
    }
}

impl ReadAt for Card {
    type Error = CardError;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, CardError> {
        if self.used > self.fuel {
            return Err(CardError::NoPower);
        }
        // A slice is a store that cannot fail to be read.
        Ok(self.cached.as_slice().read_at(offset, buf).unwrap_or(0))
    }

    fn size(&self) -> Result<u64, CardError> {
        Ok(LEN as u64)
    }
}

impl WriteAt for Card {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), CardError> {
        let full = CardError::Full { offset };
        let at = usize::try_from(offset).map_err(|_| full)?;
        at.checked_add(bytes.len()).filter(|&end| end <= LEN).ok_or(full)?;
        if self.used >= self.fuel {
            if self.used == self.fuel {
                let done = self.chance.below(bytes.len() as u32 + 1);
                self.put(at, &bytes[..done as usize]);
            }
            self.used = self.fuel + 1;
            return Err(CardError::NoPower);
        }
        self.used += 1;
        self.put(at, bytes);
        if self.chance.below(4) == 0 {
            let sector = self.chance.below(SECTORS as u32) as usize;
            self.write_back(sector);
        }
        Ok(())
    }

    fn set_size(&mut self, len: u64) -> Result<(), CardError> {
        if len == LEN as u64 { Ok(()) } else { Err(CardError::Full { offset: len }) }
    }

    fn sync(&mut self) -> Result<(), CardError> {
        if self.used >= self.fuel {
            self.used = self.fuel + 1;
            return Err(CardError::NoPower);
        }
        self.used += 1;
        if !self.ignores_syncs {
            self.memory = self.cached;
            self.dirty = 0;
        }
        Ok(())
    }
}

/// Numbers that look random: xorshift.
struct Chance(u32);

impl Chance {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        (self.0 >> 8) % end
    }

    /// How many bytes of a sector get to the memory.
    fn torn(&mut self) -> usize {
        match self.below(3) {
            0 => 0,
            1 => SECTOR,
            _ => self.below(SECTOR as u32) as usize,
        }
    }
}

const _: () = assert!(SECTORS <= 64);
